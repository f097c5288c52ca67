// Flame for OpenCode, written by `flame setup`: the MCP server, the slash commands
// and the hooks. The hooks tell flame of events and carry out its answers; what
// an event means is decided there. This file has no dependency, prints nothing
// and never fails its host.
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { homedir } from "node:os"
import { basename, delimiter, join } from "node:path"
import { promisify } from "node:util"

// Setup writes a digest in place of it, which tells what OpenCode has loaded.
const version = "dev"

// The names of flame's tools, which setup writes in place of none.
const ownTools = []

// How long OpenCode is kept waiting, in ms, and when flame is not asked at all.
const limits = {
  answer: 300, // for one answer, or for what a hook needs of flame in all
  hold: 2_000, // for the end of an earlier call of a tool of flame's
  silences: 3, // unanswered in a row: a hanging flame is left alone for
  pause: 30_000,
  bytes: 4 << 20, // of one answer
}

// The slash commands, which setup writes in place of none. The server offers prompts
// of the same names; where it answers, its text is taken instead, so there is one
// command of each name either way.
const commands = {}

// program is flame where setup puts it, else on PATH; undefined without one.
const program = () =>
  [join(homedir(), ".local", "bin"), ...(process.env.PATH ?? "").split(delimiter)]
    .map((dir) => join(dir, "flame"))
    .find((file) => existsSync(file))

// exchange gives flame's answer to an event: {} for none, or for one that makes
// no sense, and undefined where flame had to be stopped.
const exchange = async (flame, cwd, event) => {
  const options = { cwd, timeout: limits.answer, killSignal: "SIGKILL", maxBuffer: limits.bytes }
  try {
    const answer = promisify(execFile)(flame, ["hook", "opencode"], options)
    answer.child.stdin.on("error", () => {}) // it need not read to the end
    answer.child.stdin.end(JSON.stringify(event))
    return Object(JSON.parse((await answer).stdout))
  } catch (error) {
    return error.killed ? undefined : {}
  }
}

// within gives what a promise comes to, undefined if that takes longer than ms.
const within = (ms, promise) => {
  let timer
  const late = new Promise((resolve) => (timer = setTimeout(resolve, ms)))
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

// A Session is what must be known of a conversation while it runs; what is to
// last, flame keeps.
class Session {
  parent // id of the session that started it
  title // that flame was told
  model // of the user's newest message
  busy = false
  background = false // a child whose end its parent has not heard of
  over = false // deleted
  begun = false // flame has answered to a request of it
  compaction // "due" from its announcement, "writing" from its request on
  said = "" // the agent's newest words in the turn
  usage = [] // of answers of the model that flame was not told of
  known = new Set() // ids of messages and parts that are dealt with
  tools = new Map() // ids of a message's tool parts
  children = new Map() // sessions that the tool task started, by its call
  calls = Promise.resolve() // of flame: they keep the order of the events
  turn = Promise.resolve() // of the next call of a tool of flame's
  turns = new Map() // what passes the turn on, by the call that has it
  compactionPlaced // called when one stands in the conversation

  constructor(id, ask) {
    Object.assign(this, { id, ask })
  }

  // tell gives flame's answer to an event. Where nobody waits for it any more,
  // flame is not asked.
  tell(event, fields, until = Infinity) {
    const call = () => this.ask({ event, session: this.id, parent: this.parent, ...fields })
    if (!this.over) this.calls = this.calls.then(() => Date.now() < until && call()).catch(() => {})
    return this.calls
  }

  // consult is tell where OpenCode waits.
  consult(event, fields) {
    return within(limits.answer, this.tell(event, fields, Date.now() + limits.answer))
  }

  // withUsage tells what answers of the model have cost, too; once more where flame
  // was silent, as it knows them by their ids.
  async withUsage(tell) {
    const usage = this.usage.splice(0)
    const answer = await tell(usage)
    if (!answer) this.usage.unshift(...usage)
    return answer
  }

  isNew(id) {
    return !this.known.has(id) && this.known.add(id)
  }

  passTurn(call) {
    this.turns.get(call)?.()
    this.turns.delete(call)
  }
}

// A Plugin is this file at work in one project.
class Plugin {
  sessions = new Map()
  silences = 0
  pausedUntil = 0
  server = "flame" // name of flame's MCP server
  off = false // as the user has switched that server off

  constructor({ directory, client } = {}) {
    Object.assign(this, { directory, client })
  }

  session(id) {
    if (!this.sessions.has(id)) this.sessions.set(id, new Session(id, (event) => this.ask(event)))
    return this.sessions.get(id)
  }

  // ask gives flame's answer to an event, undefined where flame is silent.
  async ask(event) {
    const flame = program()
    if (!flame || this.off) return {}
    if (Date.now() < this.pausedUntil) return
    const answer = await exchange(flame, this.directory, { ...event, plugin: version })
    this.silences = answer ? 0 : this.silences + 1
    if (this.silences >= limits.silences) this.pausedUntil = Date.now() + limits.pause
    return answer
  }

  // running gives the sessions below one that are still at work.
  running(id) {
    const below = (s) => s?.parent && (s.parent === id || below(this.sessions.get(s.parent)))
    return [...this.sessions.values()].filter((s) => (s.busy || s.background) && below(s)).map((s) => s.id)
  }

  // isOurs knows flame's tools by their names in OpenCode, server_tool: all of it must
  // fit, as another server's name may begin as flame's does.
  isOurs(tool) {
    const prefix = `${this.server.replace(/[^\w-]/g, "_")}_`
    return tool.startsWith(prefix) && ownTools.includes(tool.slice(prefix.length))
  }
}

// configure adds what the user has not configured: an entry for flame of their
// own, also one that switches it off, stays as it is. The server inherits the
// environment, and with it every FLAME_* setting, and the project as its folder.
const configure = (plugin, config) => {
  const servers = Object.entries(config.mcp ?? {})
  const own = servers.find(([name, server]) => name === "flame" || basename(String(server?.command?.[0])) === "flame")
  const flame = program()
  plugin.config = config
  if (own) plugin.server = own[0]
  plugin.off = own?.[1]?.enabled === false
  if (own ? plugin.off : !flame) return
  if (!own) config.mcp = { ...config.mcp, flame: { type: "local", command: [flame, "serve"] } }
  config.command = { ...commands, ...config.command }
}

// A background child's end comes to its parent as a message.
const childEnded = /^<task id="([^"]+)" state="(completed|error)">/

// agentOf says which of OpenCode's agents a message is for, and what that one may do
// by the configuration, which holds those of files too. Plugins may have added others
// to it since it was read.
const agentOf = (plugin, { agent }) => {
  const known = plugin.config?.agent?.[agent]
  return { agent, permission: known && (known.permission ?? {}) }
}

const prompted = (plugin, { sessionID }, { message, parts }) => {
  const s = plugin.session(sessionID)
  const texts = parts.filter((part) => part.type === "text" && !part.ignored)
  Object.assign(s, { model: message.model, said: "" })
  for (const { text } of texts.filter((part) => part.synthetic)) {
    const [, child, state] = childEnded.exec(text) ?? []
    if (!child) continue
    plugin.session(child).background = false
    if (state === "completed") s.tell("tool.after", { tool: "task", child, output: text })
    else s.tell("tool.failed", { tool: "task", child, error: text })
  }
  const own = texts.filter((part) => !part.synthetic).map((part) => part.text)
  if (own.length) s.tell("chat.message", { message: message.id, ...agentOf(plugin, message), text: own.join("\n") })
}

// stamp says whose call it is. The calls of one message come at once; each has
// its turn when the one before has ended.
const stamp = async (plugin, { tool, sessionID, callID }, { args }) => {
  if (!plugin.isOurs(tool)) return
  args.session_id = sessionID
  delete args.agent_id
  const s = plugin.session(sessionID)
  const turn = s.turn
  s.turn = new Promise((end) => s.turns.set(callID, end))
  await within(limits.hold, turn)
}

// What flame is told of a tool that ended well: files that it wrote, a child's result.
const written = ({ filePath }) => ({ files: [filePath] })
const patched = (args, { files }) => ({ files: files.map((file) => file.movePath ?? file.filePath) })
const results = {
  write: written, edit: written, multiedit: written, patch: patched, apply_patch: patched,
  task: (args, { sessionId }, { output }) => ({ child: sessionId, output }),
}

const toolEnded = async (plugin, { tool, sessionID, callID, args }, output) => {
  const s = plugin.session(sessionID)
  s.passTurn(callID)
  const metadata = output?.metadata ?? {}
  if (tool === "task" && metadata.background) plugin.session(metadata.sessionId).background = true
  else if (results[tool] && output) s.tell("tool.after", { tool, ...results[tool](args, metadata, output) })
  if (plugin.isOurs(tool) && tool.endsWith("_flame_summarize") && !args.summary && !args.frameID) await summarize(plugin, s)
}

// summarize has OpenCode compact the conversation before the turn goes on. When
// it is idle would be too late: "opencode run" ends then. The summary itself cannot
// be waited for, as it waits for this hook; only that it is next, since a request
// that overtook it would miss it.
const summarize = (plugin, s) => {
  const placed = new Promise((resolve) => (s.compactionPlaced = resolve))
  plugin.client.session.summarize({ path: { id: s.id }, body: { ...s.model, auto: true } }).catch(() => {})
  return within(limits.answer, placed)
}

// OpenCode's words for a tool that the user stopped.
const aborted = /^(Tool execution aborted|Cancelled|Task cancelled)$/

const partUpdated = (plugin, { part }) => {
  const s = plugin.session(part.sessionID)
  if (part.type === "compaction") s.compactionPlaced?.()
  if (part.type !== "tool") return
  const { status, metadata, error } = part.state
  if (!s.known.has(part.messageID)) s.tools.set(part.messageID, (s.tools.get(part.messageID) ?? new Set()).add(part.id))
  if (part.tool === "task" && metadata?.sessionId) {
    s.children.set(part.callID, metadata.sessionId)
    plugin.session(metadata.sessionId).parent ??= s.id // one that goes on was not created
  }
  if (status === "completed" || status === "error") s.passTurn(part.callID)
  if (status !== "error" || !s.isNew(part.id)) return
  s.tell("tool.failed", { tool: part.tool, child: s.children.get(part.callID), error, aborted: aborted.test(error) })
}

// answered keeps what an answer of the model has cost.
const answered = (plugin, { info }) => {
  const s = plugin.session(info.sessionID)
  if (info.role !== "assistant" || !info.time.completed || !s.isNew(info.id)) return
  if (info.error?.name === "MessageAbortedError") s.background = false // its parent is not told
  const { input, output, reasoning, cache } = info.tokens
  s.usage.push({
    id: info.id, at: info.time.created, in: input, out: output + reasoning, cacheRead: cache.read, cacheWrite: cache.write,
    cost: info.cost, tools: s.tools.get(info.id)?.size ?? 0,
  })
  s.tools.delete(info.id)
}

// about tells of a session that was made, or whose title changed. One that has
// none yet is called "New session - " and the time.
const about = (event) => (plugin, { info }) => {
  const s = plugin.session(info.id)
  const title = /^(New|Child) session - /.test(info.title) ? undefined : info.title
  s.parent ??= info.parentID
  if (event === "session.updated" && (!title || title === s.title)) return
  s.title = title
  s.tell(event, { title })
}

const idle = (plugin, { sessionID }) => {
  const s = plugin.session(sessionID)
  s.withUsage((usage) => s.tell("session.idle", { text: s.said, running: plugin.running(s.id), usage }))
}

// deleted closes a session: OpenCode tells of its other ends only after that.
const deleted = (plugin, { info }) => {
  const s = plugin.session(info.id)
  s.tell("session.deleted")
  s.over = true
}

const events = {
  "session.created": about("session.created"),
  "session.updated": about("session.updated"),
  "session.status": (plugin, { sessionID, status }) => (plugin.session(sessionID).busy = status.type !== "idle"),
  "session.idle": idle,
  "session.compacted": (plugin, { sessionID }) => plugin.session(sessionID).tell("session.compacted"),
  "session.deleted": deleted,
  "message.updated": answered,
  "message.part.updated": partUpdated,
}

const compacting = async (plugin, { sessionID }, output) => {
  const s = plugin.session(sessionID)
  s.compaction = "due"
  const { context = [], prompt } = (await s.consult("session.compacting")) || {}
  output.context.push(...context)
  if (prompt) output.prompt = prompt
}

const heard = (plugin, { sessionID, messageID }, { text }) => {
  const s = plugin.session(sessionID)
  if (s.compaction === "writing") s.tell("text.complete", { message: messageID, text })
  else s.said = text
}

// attend is called for requests of agents and of compactions, never of titles. A
// compaction's is the one right after its announcement.
const attend = async (plugin, input, { messages }) => {
  if (!messages.length) return
  messages.splice(0, messages.length, ...messages.map((message) => unstamped(plugin, message)))
  const s = plugin.session(messages[0].info.sessionID)
  s.compaction = s.compaction === "due" ? "writing" : undefined
  const request = { first: !s.begun && !s.compaction, compacting: Boolean(s.compaction), messages: messages.map((message) => skeleton(plugin, message)) }
  const answer = await s.withUsage((usage) => s.consult("messages.transform", { ...request, usage }))
  if (!answer) return
  s.begun ||= !request.compacting
  messages.splice(0, messages.length, ...edited(messages, answer))
}

// unstamped hides from the model what stamp added: it would learn to write it.
// The message itself may be the host's own.
const unstamped = (plugin, { info, parts }) => {
  const plain = (part) => {
    if (part.type !== "tool" || !plugin.isOurs(part.tool)) return part
    const { session_id, agent_id, ...input } = part.state.input
    return { ...part, state: { ...part.state, input } }
  }
  return { info, parts: parts.map(plain) }
}

// skeleton is what flame must know of a message to decide whether it is sent.
const skeleton = (plugin, { info, parts }) => {
  const tools = parts.filter((part) => part.type === "tool")
  const texts = parts.filter((part) => part.type === "text" && info.role === "assistant")
  return {
    id: info.id, role: info.role, time: info.time.created, summary: info.summary === true,
    open: tools.some(({ state }) => state.status !== "completed" && state.status !== "error"),
    moves: tools.filter(({ tool, state }) => state.status === "completed" && plugin.isOurs(tool)).flatMap(moves),
    tail: texts.map((part) => part.text).join("\n").slice(-500).replace(/^[\udc00-\udfff]/, ""),
  }
}

// moves gives the way that a call of flame's led, and the frame: the first that its result names.
const moves = ({ tool, state: { output } }) => {
  const [, way] = /_flame_(push|activate|pop)$/.exec(tool) ?? []
  const [frame] = /\b(frame|plan)-[a-z0-9]{8}\b/.exec(output) ?? []
  return way && frame ? [{ kind: way === "pop" ? "leave" : "enter", frame }] : []
}

// edited gives the messages as flame would have them sent. To the model, what it
// adds is said by the user.
const edited = (messages, { drop = [], before = [], append = [] }) => {
  let user
  return messages.flatMap(({ info, parts }) => {
    if (drop.includes(info.id)) return []
    const added = (texts, where) => texts.filter(({ message }) => message === info.id).map(({ text }, i) => ({
      id: `prt_flame_${where}_${i}_${info.id}`, messageID: info.id, sessionID: info.sessionID, type: "text", text, synthetic: true,
    }))
    const isUser = info.role === "user"
    const ahead = added(before, "before")
    const whole = { info, parts: [...(isUser ? ahead : []), ...parts, ...added(append, "after")] }
    if (isUser) user = info
    return isUser || !ahead.length || !user ? [whole] : [{ info: { ...user, id: `msg_flame_${info.id}` }, parts: ahead }, whole]
  })
}

// disposed is the end of the process, and so of all its sessions.
const disposed = async (plugin) => {
  const sessions = [...plugin.sessions.values()].filter((s) => !s.over)
  await within(limits.answer, Promise.all(sessions.map((s) => s.calls)))
  if (sessions.length) await plugin.ask({ event: "dispose", sessions: sessions.map((s) => s.id) })
}

// hooks are all that flame listens to, beside the configuration.
const hooks = {
  event: (plugin, { event }) => events[event.type]?.(plugin, event.properties),
  "chat.message": prompted,
  "tool.execute.before": stamp,
  "tool.execute.after": toolEnded,
  "experimental.session.compacting": compacting,
  "experimental.chat.messages.transform": attend,
  "experimental.text.complete": heard,
  dispose: disposed,
}

// OpenCode loads this file of the user's and that of the project; for each folder
// the one that it loaded last acts.
const acting = (globalThis[Symbol.for("flame.opencode")] ??= new Map())

export const Flame = async (input) => {
  const plugin = new Plugin(input)
  acting.set(plugin.directory, plugin)
  // A fault of ours must not reach the host: a hook that throws ends its turn.
  const guarded = (name, hook) => async (...args) => {
    try {
      if (name === "config" || acting.get(plugin.directory) === plugin) await hook(plugin, ...args)
    } catch {}
  }
  const off = /^(1|t|true)$/i.test(process.env.FLAME_OFF)
  const all = Object.entries({ config: configure, ...(off ? {} : hooks) })
  return Object.fromEntries(all.map(([name, hook]) => [name, guarded(name, hook)]))
}
