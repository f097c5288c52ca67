// Flame for OpenCode, written by `flame setup`: the MCP server, the slash commands
// and the hooks. The hooks tell flame of events and carry out its answers; what
// an event means is decided there. This file has no dependency, prints nothing
// and never fails its host.
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { homedir } from "node:os"
import { basename, delimiter, join } from "node:path"

// Setup writes a digest in place of it, which tells what OpenCode has loaded.
const version = "dev"

// How long OpenCode is kept waiting, in ms, and when flame is not asked at all.
const limits = {
  answer: 300, // for one answer, or for what a hook needs of flame in all
  hold: 2_000, // for the end of an earlier call of a tool of flame's
  silences: 3, // unanswered in a row: a hanging flame is left alone for
  pause: 30_000,
  bytes: 4 << 20, // of one answer
}

// The server offers prompts of the same names; where it answers, its text is
// taken instead, so there is one command of each name either way.
const commands = {
  "flame:push": {
    description: "Start a frame for a piece of work",
    template:
      "Call the tool flame_push with the line below as its goal, word for word. If there is none, name the next piece of work yourself. Then do that work in the new frame.\n\n$ARGUMENTS",
  },
  "flame:pop": {
    description: "End the current frame with a summary",
    template:
      "Call the tool flame_pop for the current frame. The line below may begin with its status (completed, failed or blocked; completed if none is given); the rest is the summary. If there is no summary, write it: what was done, what was decided, what is left open.\n\n$ARGUMENTS",
  },
  "flame:status": {
    description: "Show the frames of this project",
    template: "Call the tool flame_status and show its answer as it is.",
  },
}

// program is flame where setup puts it, else on PATH; undefined without one.
const program = () =>
  [join(homedir(), ".local", "bin"), ...(process.env.PATH ?? "").split(delimiter)]
    .map((dir) => join(dir, "flame"))
    .find((file) => existsSync(file))

// configure adds what the user has not configured: an entry for flame of their
// own, also one that switches it off, stays as it is. The server inherits the
// environment, and with it every FLAME_* setting, and the project as its folder.
const configure = (plugin, config) => {
  const servers = Object.entries(config.mcp ?? {})
  const own = servers.find(([name, server]) => name === "flame" || basename(String(server?.command?.[0])) === "flame")
  const flame = program()
  if (own) plugin.server = own[0]
  plugin.off = own?.[1]?.enabled === false
  if (own ? own[1]?.enabled === false : !flame) return
  if (!own) config.mcp = { ...config.mcp, flame: { type: "local", command: [flame, "serve"] } }
  config.command = { ...commands, ...config.command }
}

// exchange gives flame's answer to an event: {} for none, or for one that makes
// no sense, and undefined where flame did not end in time.
const exchange = (flame, cwd, event) =>
  new Promise((resolve) => {
    const child = spawn(flame, ["hook", "opencode"], { cwd, stdio: ["pipe", "pipe", "ignore"] })
    const chunks = []
    let bytes = 0
    const end = (answer) => {
      clearTimeout(timer)
      child.kill("SIGKILL")
      child.stdout.destroy() // a process that it left behind may hold it open
      resolve(answer)
    }
    const timer = setTimeout(end, limits.answer)
    child.on("error", () => end({}))
    child.on("close", () => end(parsed(Buffer.concat(chunks))))
    child.stdout.on("data", (chunk) => {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > limits.bytes) end({})
    })
    child.stdin.on("error", () => {}) // it need not read to the end
    child.stdin.end(JSON.stringify(event))
  })

const parsed = (text) => {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}

// within gives what a promise comes to, undefined if that takes longer than ms.
const within = (ms, promise) => {
  let timer
  const late = new Promise((resolve) => (timer = setTimeout(resolve, ms)))
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

// A Session is what the plugin must know of a conversation while it runs; what is
// to last, flame keeps.
class Session {
  parent // id of the session that started it
  title // that flame was told
  model // of the user's newest message
  busy = false
  begun = false // flame has answered to a request of it
  compaction // "due" from its announcement, "writing" from its request on
  said = "" // the agent's newest words in the turn
  usage = [] // of answers that flame was not told of
  summarize = false // once it is idle
  told = new Set() // ids of messages and parts that need not be told again
  tools = new Map() // ids of a message's tool parts
  children = new Map() // sessions that the tool task started, by its call
  calls = Promise.resolve() // of flame: they keep the order of the events
  turn = Promise.resolve() // of the next call of a tool of flame's
  turns = new Map() // what gives a turn away, by the call that has it

  constructor(id, ask) {
    Object.assign(this, { id, ask })
  }

  // tell gives flame's answer to an event. Where nobody waits for it any more,
  // flame is not asked.
  tell(event, fields, until = Infinity) {
    const call = async () => {
      if (Date.now() < until) return this.ask({ event, session: this.id, parent: this.parent, ...fields })
    }
    this.calls = this.calls.then(call).catch(() => {})
    return this.calls
  }

  // consult is tell where OpenCode waits.
  consult(event, fields) {
    return within(limits.answer, this.tell(event, fields, Date.now() + limits.answer))
  }

  // withUsage tells also what the agent's answers have cost, again where flame was
  // silent: it knows them by their ids.
  async withUsage(tell) {
    const usage = this.usage.splice(0)
    const answer = await tell(usage)
    if (!answer) this.usage.unshift(...usage)
    return answer
  }

  isNew(id) {
    return !this.told.has(id) && this.told.add(id)
  }

  ended(call) {
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
  off = false // the user switched that off

  constructor({ directory, client } = {}) {
    Object.assign(this, { directory, client })
  }

  session(id) {
    if (!this.sessions.has(id)) this.sessions.set(id, new Session(id, (event) => this.ask(event)))
    return this.sessions.get(id)
  }

  // ask gives flame's answer to an event, undefined where it is silent.
  async ask(event) {
    const flame = program()
    if (!flame || this.off) return {}
    if (Date.now() < this.pausedUntil) return
    const answer = await exchange(flame, this.directory, { ...event, plugin: version })
    this.silences = answer ? 0 : this.silences + 1
    if (this.silences >= limits.silences) this.pausedUntil = Date.now() + limits.pause
    return answer
  }

  // running gives the sessions below one that are at work.
  running(id) {
    const below = (s) => s?.parent && (s.parent === id || below(this.sessions.get(s.parent)))
    return [...this.sessions.values()].filter((s) => s.busy && below(s)).map((s) => s.id)
  }

  // isOurs knows flame's tools by what OpenCode calls them: server_tool.
  isOurs(tool) {
    return tool.startsWith(this.server.replace(/[^\w-]/g, "_") + "_") || /(^|_)flame_[a-z_]+$/.test(tool)
  }
}

// What flame is told of tools that ended well: files they wrote, or a child's result.
const written = ({ filePath }) => ({ files: [filePath] })
const patched = (args, { files }) => ({ files: files.map((file) => file.movePath ?? file.filePath) })
const results = {
  write: written,
  edit: written,
  multiedit: written,
  patch: patched,
  apply_patch: patched,
  // One in the background goes on; its end comes as a message (see prompted).
  task: (args, { sessionId, background }, { output }) => background || { child: sessionId, output },
}

const toolEnded = (plugin, { tool, sessionID, callID, args }, output) => {
  const s = plugin.session(sessionID)
  s.ended(callID)
  if (/(^|_)flame_summarize$/.test(tool) && !args.frameID) s.summarize = !args.summary
  const result = results[tool]?.(args, output?.metadata ?? {}, output)
  if (result?.files || result?.child) s.tell("tool.after", { tool, call: callID, ...result })
}

// OpenCode's words for a tool that the user stopped.
const aborted = /^(Tool execution aborted|Cancelled|Task cancelled)$/

const toolFailed = (s, { id, tool, callID, state: { error, metadata } }) => {
  if (!s.isNew(id)) return
  const fields = { tool, call: callID, child: s.children.get(callID), error }
  s.tell("tool.failed", { ...fields, aborted: metadata?.interrupted === true || aborted.test(error) })
}

const partUpdated = (plugin, { part }) => {
  if (part.type !== "tool") return
  const { status, metadata } = part.state
  const s = plugin.session(part.sessionID)
  if (!s.told.has(part.messageID)) s.tools.set(part.messageID, (s.tools.get(part.messageID) ?? new Set()).add(part.id))
  if (part.tool === "task" && metadata?.sessionId) {
    s.children.set(part.callID, metadata.sessionId)
    plugin.session(metadata.sessionId).parent ??= s.id // one that is resumed was not created
  }
  if (status === "completed" || status === "error") s.ended(part.callID)
  if (status === "error") toolFailed(s, part)
}

// answered keeps what an answer of the model has cost.
const answered = (plugin, { info }) => {
  const s = plugin.session(info.sessionID)
  if (info.role !== "assistant" || !info.time.completed || !s.isNew(info.id)) return
  const { input, output, reasoning, cache } = info.tokens
  s.usage.push({
    id: info.id, at: info.time.created, in: input, out: output + reasoning, cacheRead: cache.read, cacheWrite: cache.write,
    cost: info.cost, tools: s.tools.get(info.id)?.size ?? 0,
  })
  s.tools.delete(info.id)
}

const titled = (title) => (/^(New|Child) session - /.test(title) ? undefined : title)

const created = (plugin, { info }) => {
  const s = plugin.session(info.id)
  s.parent = info.parentID
  s.title = titled(info.title)
  s.tell("session.created", { title: s.title })
}

const updated = (plugin, { info }) => {
  const s = plugin.session(info.id)
  s.parent ??= info.parentID
  const title = titled(info.title)
  if (!title || title === s.title) return
  s.title = title
  s.tell("session.updated", { title })
}

const idle = (plugin, { sessionID }) => {
  const s = plugin.session(sessionID)
  s.withUsage((usage) => s.tell("session.idle", { text: s.said, running: plugin.running(s.id), usage }))
  if (!s.summarize || !s.model) return
  s.summarize = false
  // It takes as long as the model does.
  plugin.client?.session.summarize({ path: { id: s.id }, body: s.model }).catch(() => {})
}

const deleted = (plugin, { info }) => {
  const s = plugin.session(info.id)
  plugin.sessions.delete(s.id)
  s.tell("session.deleted")
}

const events = {
  "session.created": created,
  "session.updated": updated,
  "session.status": (plugin, { sessionID, status }) => (plugin.session(sessionID).busy = status.type !== "idle"),
  "session.idle": idle,
  "session.compacted": (plugin, { sessionID }) => plugin.session(sessionID).tell("session.compacted"),
  "session.deleted": deleted,
  "message.updated": answered,
  "message.part.updated": partUpdated,
}

// OpenCode's message for the end of a child in the background.
const childEnded = /^<task id="([^"]+)" state="(completed|error)">/

const prompted = (plugin, { sessionID }, { message, parts }) => {
  const s = plugin.session(sessionID)
  s.model = message.model
  s.said = ""
  const texts = parts.filter((part) => part.type === "text")
  for (const { text } of texts.filter((part) => part.synthetic)) {
    const [, child, state] = childEnded.exec(text) ?? []
    if (state === "completed") s.tell("tool.after", { tool: "task", child, output: text })
    if (state === "error") s.tell("tool.failed", { tool: "task", child, error: text })
  }
  const own = texts.filter((part) => !part.synthetic && !part.ignored)
  if (own.length) s.tell("chat.message", { message: message.id, text: own.map((part) => part.text).join("\n"), agent: message.agent })
}

// stamp says whose call it is. The calls of one message come at once; each has
// its turn when the one before has ended.
const stamp = async (plugin, { tool, sessionID, callID }, output) => {
  if (!plugin.isOurs(tool)) return
  const { agent_id, ...args } = output.args ?? {}
  output.args = Object.assign(output.args ?? {}, args, { session_id: sessionID })
  delete output.args.agent_id
  const s = plugin.session(sessionID)
  const turn = s.turn
  s.turn = new Promise((end) => s.turns.set(callID, end))
  await within(limits.hold, turn)
}

const compacting = async (plugin, { sessionID }, output) => {
  const s = plugin.session(sessionID)
  s.compaction = "due"
  const answer = await s.consult("session.compacting")
  output.context.push(...(answer?.context ?? []))
  if (answer?.prompt) output.prompt = answer.prompt
}

const heard = (plugin, { sessionID, messageID }, { text }) => {
  const s = plugin.session(sessionID)
  if (s.compaction === "writing") s.tell("text.complete", { message: messageID, text, summary: true })
  else s.said = text
}

// attend is called for requests of agents and of compactions, never of titles; a
// compaction's is the one right after its announcement.
const attend = async (plugin, input, { messages }) => {
  if (!messages.length) return
  messages.forEach((message, i) => (messages[i] = unstamped(plugin, message)))
  const s = plugin.session(messages[0].info.sessionID)
  s.compaction = s.compaction === "due" ? "writing" : undefined
  const compacting = s.compaction === "writing"
  const request = { first: !s.begun && !compacting, compacting, messages: messages.map(skeleton) }
  const answer = await s.withUsage((usage) => s.consult("messages.transform", { ...request, usage }))
  if (!answer) return
  s.begun ||= !compacting
  messages.splice(0, messages.length, ...edited(messages, answer))
}

// unstamped hides from the model what stamp added: it would learn to write it.
const unstamped = (plugin, message) => ({
  ...message,
  parts: message.parts.map((part) => {
    if (part.type !== "tool" || !plugin.isOurs(part.tool)) return part
    const { session_id, agent_id, ...input } = part.state.input ?? {}
    return { ...part, state: { ...part.state, input } }
  }),
})

// skeleton is what flame must know of a message to decide whether it is sent.
const skeleton = ({ info, parts }) => {
  const tools = parts.filter((part) => part.type === "tool")
  const texts = info.role === "assistant" ? parts.filter((part) => part.type === "text") : []
  return {
    id: info.id, role: info.role, time: info.time.created, summary: info.summary === true,
    open: tools.some(({ state }) => state.status !== "completed" && state.status !== "error"),
    moves: tools.filter(({ state }) => state.status === "completed").flatMap(moves),
    tail: texts.map((part) => part.text).join("\n").slice(-500),
  }
}

// moves gives the way that a call led, and the frame: the first one its answer names.
const moves = ({ tool, state: { output } }) => {
  const [, , way] = /(^|_)flame_(push|activate|pop)$/.exec(tool) ?? []
  const text = typeof output === "string" ? output : (output?.content ?? []).map((part) => part.text).join("\n")
  const [frame] = /\b(frame|plan)-[a-z0-9]{8}\b/.exec(text) ?? []
  return way && frame ? [{ kind: way === "pop" ? "leave" : "enter", frame }] : []
}

// edited gives the messages as flame would have them sent. What it adds is said by
// the user, as far as the model can tell.
const edited = (messages, { drop = [], before = [], append = [] }) => {
  let user
  return messages.flatMap((message) => {
    const { info, parts } = message
    if (info.role === "user") user = info
    if (drop.includes(info.id)) return []
    const texts = (list, at) =>
      list.filter((item) => item.message === info.id).map(({ text }, i) => ({
        id: `prt_flame_${at}_${info.id}_${i}`, messageID: info.id, sessionID: info.sessionID, type: "text", text, synthetic: true,
      }))
    const ahead = texts(before, "before")
    const behind = texts(append, "after")
    if (info.role === "user") return [{ info, parts: [...ahead, ...parts, ...behind] }]
    const note = ahead.length && user ? [{ info: { ...user, id: `msg_flame_${info.id}` }, parts: ahead }] : []
    return [...note, { info, parts: [...parts, ...behind] }]
  })
}

// disposed is the end of the process, of which all its sessions take part.
const disposed = async (plugin) => {
  const sessions = [...plugin.sessions.keys()]
  await within(limits.answer, Promise.all([...plugin.sessions.values()].map((s) => s.calls)))
  if (sessions.length) await plugin.ask({ event: "dispose", sessions })
}

// hooks are all that flame listens to; each must pass through guarded.
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

// guarded keeps a fault of ours from the host: a hook that throws ends its turn.
const guarded = (hook) => async (...args) => {
  try {
    return await hook(...args)
  } catch {}
}

const off = () => /^(1|t|true)$/i.test(process.env.FLAME_OFF ?? "")

export const Flame = async (input) => {
  const plugin = new Plugin(input)
  const bound = Object.entries(off() ? {} : hooks).map(([name, hook]) => [name, guarded((...args) => hook(plugin, ...args))])
  return { config: guarded((config) => configure(plugin, config)), ...Object.fromEntries(bound) }
}
