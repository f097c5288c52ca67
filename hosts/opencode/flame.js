// Flame for OpenCode, written by `flame setup`: the MCP server, the slash commands
// and the hooks. The hooks send events to flame and carry out its answers; flame decides
// what an event means. This file has no dependencies, prints nothing and never fails its
// host.
import { spawn } from "node:child_process"
import { createHmac, randomUUID } from "node:crypto"
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { homedir, tmpdir } from "node:os"
import { basename, delimiter, dirname, join } from "node:path"

// What setup knows, which it writes into this line: a digest as the version, which shows the
// file that OpenCode has loaded; the names of flame's tools; the slash commands; the set of
// tools to offer; the patterns of answers that move between frames; and in an npm package, how the
// names of the packages with the program begin. The server offers
// prompts with the names of the commands; if it answers, OpenCode takes its text instead, so
// there is one command of each name either way.
const given = { version: "dev", tools: [], commands: {} }

// How long OpenCode waits, in ms, and how much this file keeps while flame does not
// answer.
const limits = {
  answer: 300, // for one answer, or for all answers that a hook needs
  hold: 2_000, // for the end of an earlier call of one of flame's tools
  key: 5_000, // for the first key of stamps, without which a call would work in a session of its server's
  silences: 3, // late answers in a row, after which OpenCode no longer waits
  pauses: [0, 0, 1_000, 5_000, 30_000], // before flame is started again, by the number of starts since the last answer
  open: 10_000, // events without an answer
  size: 64 << 20, // characters of all these events
  line: 4 << 20, // characters of an answer
  words: 4_000, // characters of a prompt or result that a request repeats
  said: 1_000, // the last characters of an agent's words in an answer
  change: 1 << 20, // characters of a change of files
  todos: 1_000, // items of a to-do list
  calls: 20, // the last calls of tools in a turn
  input: 200, // the first characters of the input of a call
  output: 300, // the last characters of the output of a call
}

// beside returns the path of flame in the npm packages that came with this file, or "".
const beside = () => {
  try {
    return given.parts ? createRequire(import.meta.url).resolve(`${given.parts}-${process.platform}-${process.arch}/flame`) : ""
  } catch {
    return "" // npm left it out
  }
}

// program returns the path of flame: the one that came with this file, else where setup puts it,
// else on PATH, or undefined.
const program = () =>
  [beside(), ...[join(homedir(), ".local", "bin"), ...(process.env.PATH ?? "").split(delimiter)].map((dir) => join(dir, "flame"))]
    .find((file) => existsSync(file))

// within resolves to the value of a promise, or to late after ms.
const within = (ms, promise, late) => {
  let timer
  const over = new Promise((resolve) => (timer = setTimeout(resolve, ms, late)))
  return Promise.race([promise, over]).finally(() => clearTimeout(timer))
}

// A Stream is the flame process that handles a plugin's events, one after the other. The
// process outlives this one until it has handled all events. If it ends before that, a
// Stream starts another one and sends it the events without an answer. By their numbers,
// flame recognizes events that it receives twice.
class Stream {
  source = randomUUID()
  told = 0 // number of the last event
  open = new Map() // by number, events without an answer
  size = 0 // of those, in characters
  sent = 0 // number of the last event that was sent to the current flame
  full = false // the pipe to it is full, until it is drained
  starts = 0 // since the last answer
  part = "" // of a line

  constructor(cwd) {
    this.cwd = cwd
  }

  // tell resolves to flame's answer to an event: {} for an empty one, and undefined if there
  // will be no answer. An event that passes is useless later.
  tell(event, { passes = false } = {}) {
    const flame = this.flame ? "" : program()
    if (!this.flame && !flame) return Promise.resolve({})
    if (passes && this.hangs()) return Promise.resolve()
    const n = ++this.told
    const line = JSON.stringify({ n, source: this.source, session: event.session, at: Date.now(), event }) + "\n"
    if (line.length > limits.size) return Promise.resolve() // flame accepts no such event
    const told = { line, passes, since: performance.now() }
    told.done = new Promise((answer) => (told.answer = answer))
    this.open.set(n, told)
    this.size += line.length
    this.shed()
    if (this.flame) this.send()
    else this.start(flame)
    return told.done
  }

  // hangs reports whether an answer is overdue for longer than OpenCode would wait.
  hangs() {
    const [oldest] = this.open.values()
    return oldest !== undefined && performance.now() - oldest.since > limits.answer * limits.silences
  }

  // shed drops events beyond the limits: first events that pass, then the oldest.
  shed() {
    for (const passing of [true, false]) {
      for (const [n, { passes }] of this.open) {
        if (this.size <= limits.size && this.open.size <= limits.open) return
        if (passes === passing) this.close(n)
      }
    }
  }

  // send sends flame the next events, but only as many as it reads: events in the pipe
  // cannot be dropped any more.
  send() {
    const { stdin } = this.flame
    for (const [n, { line }] of this.open) {
      if (this.full) return
      if (n <= this.sent) continue
      this.sent = n
      this.full = !stdin.write(line) // Bun, which OpenCode runs in, has no writableNeedDrain
    }
  }

  drained() {
    this.full = false
    this.send()
  }

  close(n, answer) {
    const told = this.open.get(n)
    if (!told) return
    this.open.delete(n)
    this.size -= told.line.length
    told.answer(answer)
  }

  // start starts flame and sends it the events without an answer. After several flames that
  // ended without an answer, it pauses first.
  start(flame) {
    if (this.flame || this.waits) return
    const pause = limits.pauses[Math.min(this.starts++, limits.pauses.length - 1)]
    const begin = () => {
      this.waits = undefined
      try {
        this.begin(flame)
      } catch {
        this.flame = undefined // the system starts no process; the next event tries again
      }
    }
    if (!pause) return begin()
    this.waits = setTimeout(begin, pause)
    this.waits.unref?.()
  }

  begin(flame) {
    const child = spawn(flame, ["hook", "opencode", "--stream"], { cwd: this.cwd, detached: true, stdio: ["pipe", "pipe", "ignore"] })
    const ended = () => this.flame === child && this.ended()
    this.flame = child
    this.part = ""
    this.sent = 0
    this.full = false
    for (const end of [child, child.stdin, child.stdout]) {
      end.on("error", ended)
      end.unref?.() // it must not keep the host alive
    }
    child.on("exit", ended)
    child.stdout.setEncoding("utf8").on("data", (text) => this.flame === child && this.heard(text)).on("end", ended)
    child.stdin.on("drain", () => this.flame === child && this.drained())
    this.send()
  }

  // ended continues after the end of flame: it drops the events that pass, and sends the
  // others to the next flame.
  ended() {
    const { stdin, stdout } = this.flame
    this.flame = undefined
    stdin.destroy()
    stdout.destroy()
    for (const [n, { passes }] of this.open) if (passes) this.close(n)
    const flame = program()
    if (flame && this.open.size) this.start(flame)
  }

  heard(text) {
    const lines = (this.part + text).split("\n")
    this.part = lines.pop()
    try {
      if (this.part.length > limits.line) throw new Error("this is not an answer")
      for (const { n, answer, late, error } of lines.map((line) => JSON.parse(line))) {
        if (this.open.has(n)) this.starts = 0
        this.close(n, late ? { late } : error ? undefined : Object(answer))
      }
      this.send()
    } catch {
      this.ended() // the program is not flame
    }
  }

  // idle resolves when there is an answer to every event so far.
  idle() {
    return Promise.all([...this.open.values()].map(({ done }) => done))
  }

  // end closes flame's input. Events without an answer go into a file for another flame: they
  // could be lost in the pipe when this process ends.
  end() {
    const lines = [...this.open.values()].filter(({ passes }) => !passes).map(({ line }) => line)
    const flame = program()
    try {
      if (lines.length && flame) this.leave(flame, lines)
    } catch {} // without a file or a process the events are lost
    this.open.clear()
    this.size = 0
    if (lines.length) this.flame?.stdin.destroy() // unread events could keep this process waiting
    else this.flame?.stdin.end()
  }

  leave(flame, lines) {
    const dir = mkdtempSync(join(tmpdir(), "flame-"))
    const file = join(dir, "events")
    try {
      writeFileSync(file, lines.join(""), { mode: 0o600 })
      const input = openSync(file)
      spawn(flame, ["hook", "opencode", "--stream"], { cwd: this.cwd, detached: true, stdio: [input, "ignore", "ignore"] })
        .on("error", () => {}).unref()
      closeSync(input)
    } finally {
      rmSync(dir, { recursive: true })
    }
  }
}

// The arguments of tools that describe a call best.
const aboutCall = ["command", "filePath", "path", "pattern", "description", "query", "url", "prompt"]

// A Session is the state of a running conversation; flame keeps the lasting state.
class Session {
  parent // id of the session that started it
  title // the last title sent to flame
  begun = 0 // when it was created, if the plugin saw that
  model // of the user's newest message
  busy = false
  background = false // a child whose end was not reported to its parent
  over = false // deleted
  compaction // "due" from its announcement on, "writing" from its request on
  said = "" // the agent's newest words in the turn
  failed = "" // why its newest answer did not end by itself: aborted, or the error
  calls = [] // of tools in the turn, in the form for flame
  window // tokens that its model accepts
  usage = [] // of answers of the model that was not sent to flame yet
  known = new Set() // ids of messages and parts that were handled
  heard = new Set() // prompts and children in its requests that flame has answered to
  tools = new Map() // ids of a message's tool parts
  children = new Map() // sessions that the tool task started, by its call
  turn = Promise.resolve() // resolves when the next call of one of flame's tools may begin
  turns = new Map() // functions that pass the turn on, by the call that has it
  edits = {} // flame's last answer about its requests, and the last message that flame knew
  sent // edition of the newest request; -1 if it is unknown
  editions = new Map() // of the requests that led to answers, by the answers' ids
  sizes = new Map() // of messages, in tokens
  terms = {} // prices and rules of its model
  compactionPlaced // called when a compaction is in the conversation

  constructor(id, ask) {
    Object.assign(this, { id, ask })
  }

  // tell resolves to flame's answer to an event, or undefined.
  tell(event, fields, how) {
    if (this.over) return Promise.resolve()
    return this.ask({ event, session: this.id, parent: this.parent, ...fields }, how)
  }

  // tellOf is tell for an event that requests show too, and notes by a key that flame answered.
  async tellOf(key, event, fields) {
    if (await this.tell(event, fields)) this.heard.add(key)
  }

  // withUsage also sends the usage of the model's answers. Without an answer from flame, the
  // next call sends it again: flame knows these answers by their ids.
  async withUsage(tell) {
    const usage = this.usage.splice(0)
    const answer = await tell(usage)
    if (!answer) this.usage.unshift(...usage)
    return answer
  }

  // noteCall keeps a call of a tool until the end of the turn.
  noteCall(tool, args, { ok, exit, output }) {
    const input = aboutCall.map((name) => args?.[name]).find((value) => typeof value === "string" && value) ?? JSON.stringify(args ?? {})
    const call = { tool, input: input.slice(0, limits.input), ok: ok && !exit, output: String(output ?? "").slice(-limits.output) }
    this.calls = [...this.calls, Number.isInteger(exit) ? { ...call, exit } : call].slice(-limits.calls)
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
  silences = 0 // late answers in a row
  server = "flame" // name of flame's MCP server
  off = false // the user has switched that server off
  shipped = false // that server is the project's, not the user's
  key // for the proofs of stamps, of this process alone; undefined until flame has told it

  constructor({ directory, worktree, client } = {}) {
    Object.assign(this, { directory, worktree, client, stream: new Stream(directory) })
  }

  session(id) {
    if (!this.sessions.has(id)) this.sessions.set(id, new Session(id, (event, how) => this.ask(event, how)))
    return this.sessions.get(id)
  }

  // ask resolves to flame's answer to an event, or undefined.
  async ask(event, how) {
    if (this.off) return {}
    try {
      const answer = await this.stream.tell({ ...event, plugin: given.version }, how)
      if (answer) this.silences = 0
      return answer
    } catch {} // for most answers there is no caller that waits and would catch it
  }

  // inTime resolves to the value of a promise that OpenCode waits for, or undefined if that
  // takes too long. After several late answers OpenCode no longer waits until flame answers.
  async inTime(promise) {
    const late = {}
    const result = await within(this.silences < limits.silences ? limits.answer : 0, promise, late)
    if (result !== late) return result
    this.silences++
  }

  // running returns the sessions below one that are still at work.
  running(id) {
    const below = (s) => s?.parent && (s.parent === id || below(this.sessions.get(s.parent)))
    return [...this.sessions.values()].filter((s) => (s.busy || s.background) && below(s)).map((s) => s.id)
  }

  // isOurs recognizes flame's tools by their names in OpenCode, server_tool. It compares the
  // whole name, as the name of another server may begin like flame's.
  isOurs(tool) {
    return this.ownName(tool) !== undefined
  }

  // ownName returns flame's name of one of its tools, or undefined.
  ownName(tool) {
    const prefix = `${this.server.replace(/[^\w-]/g, "_")}_`
    const name = tool.slice(prefix.length)
    return !this.shipped && tool.startsWith(prefix) && given.tools.includes(name) ? name : undefined
  }
}

// configure adds flame's server unless the user has configured it: the user's own entry for
// flame, even one that switches it off, stays as it is. The server inherits the environment,
// with every FLAME_* setting, and the project as its folder. Unless the user has chosen its
// tools, it offers few: OpenCode sends all of them with each request.
const configure = (plugin, config) => {
  const servers = Object.entries(config.mcp ?? {})
  const own = servers.find(([name, server]) => name === "flame" || basename(String(server?.command?.[0])) === "flame")
  const flame = program()
  plugin.config = config
  if (own) plugin.server = own[0]
  plugin.shipped = Boolean(own) && comesWithProject(plugin, own[0])
  plugin.off = own?.[1]?.enabled === false
  if (own ? plugin.off : !flame) return
  const environment = { FLAME_TOOLS: process.env.FLAME_TOOLS || given.profile }
  if (!own) config.mcp = { ...config.mcp, flame: { type: "local", command: [flame, "serve"], environment } }
  config.command = { ...given.commands, ...config.command }
}

// comesWithProject reports whether a configuration in the project may name a server: flame vouches
// for no call of a server that it did not get from the user.
const comesWithProject = ({ directory, worktree }, name) => {
  const named = (file) => {
    try {
      const text = readFileSync(file, "utf8")
      return text.includes(JSON.stringify(name)) || text.includes("\\u") // an escape may hide it
    } catch {
      return false
    }
  }
  for (let dir = directory; dir && dir !== homedir(); dir = dirname(dir)) {
    for (const folder of [dir, join(dir, ".opencode")]) {
      if (named(join(folder, "opencode.json")) || named(join(folder, "opencode.jsonc"))) return true
    }
    if (dir === worktree || dir === dirname(dir)) break
  }
  return false
}

// The message that reports the end of a background child to its parent.
const childEnded = /^<task id="([^"]+)" state="(completed|error)">/

// agentOf returns the agent of OpenCode that a message is for, and its permissions in the
// configuration, which includes agents from files. Other plugins may have added agents since
// the configuration was read.
const agentOf = (plugin, { agent }) => {
  const known = plugin.config?.agent?.[agent]
  return { agent, permission: known && (known.permission ?? {}) }
}

const prompted = (plugin, { sessionID }, { message, parts }) => {
  const s = plugin.session(sessionID)
  const texts = parts.filter((part) => part.type === "text" && !part.ignored)
  Object.assign(s, { model: message.model, said: "", failed: "", calls: [] })
  for (const { text } of texts.filter((part) => part.synthetic)) {
    const [, child, state] = childEnded.exec(text) ?? []
    if (!child) continue
    plugin.session(child).background = false
    if (state === "completed") s.tellOf(child, "tool.after", { tool: "task", child, output: text })
    else s.tellOf(child, "tool.failed", { tool: "task", child, error: text })
  }
  const own = wordsOf(parts)
  if (own) s.tellOf(message.id, "chat.message", { message: message.id, ...agentOf(plugin, message), text: own })
}

// wordsOf returns the user's own words in a message; empty for a message of the host.
const wordsOf = (parts) => parts.filter((part) => part.type === "text" && !part.ignored && !part.synthetic).map((part) => part.text).join("\n")

// The arguments in which flame's tools take their caller. The model's own values go.
const reserved = ["session_id", "agent_id", "flame_proof"]

// stamp adds the caller to a call of one of flame's tools, and in a child its parent, with a proof
// that no model can make. Without the key for that, the call names no caller. The calls of one
// message begin at the same time; each waits until the one before it has ended, and until flame has
// handled all earlier events: it answers in their order.
const stamp = async (plugin, { tool, sessionID, callID }, { args }) => {
  const name = plugin.ownName(tool)
  if (!name) return
  const s = plugin.session(sessionID)
  for (const arg of reserved) delete args[arg]
  const told = s.tell("stamp.key", {}, { passes: true })
  const answer = plugin.key ? plugin.inTime(told) : within(limits.key, told)
  const turn = s.turn
  s.turn = new Promise((end) => s.turns.set(callID, end))
  await within(limits.hold, turn)
  plugin.key = (await answer)?.key ?? plugin.key
  if (plugin.key) Object.assign(args, proven(plugin.key, s.parent ?? sessionID, s.parent ? sessionID : "", name))
}

// proven returns the reserved arguments for a caller of a tool. OpenCode sends the server no id of
// the call, so a random one makes the proof hold for one call alone.
const proven = (key, session, agent, tool) => {
  const unique = `host-${randomUUID()}`
  const code = createHmac("sha256", Buffer.from(key, "base64url"))
  for (const text of ["flame stamp 1", session, agent, tool, unique]) code.update(`${Buffer.byteLength(text)}:${text}`)
  return { session_id: session, ...(agent && { agent_id: agent }), flame_proof: `${unique}.${code.digest("base64url")}` }
}

// The data for flame of a tool that succeeded: files that it wrote, or a child's result.
const written = (args, metadata) => ({ files: [args.filePath], ...changed(args, metadata) })
const patched = (args, metadata) => ({ files: metadata.files.map((file) => file.movePath ?? file.filePath), ...changed(args, metadata) })

// changed returns the changes of the files, unless they are too long.
const changed = ({ filePath, content }, { filediff, diff, exists, files, results }) => {
  const patch = filediff?.patch ? { filediff: { patch: filediff.patch } } : files ? { files } : { diff, results }
  const did = { input: { filePath, content }, metadata: { ...patch, exists } }
  return JSON.stringify(did).length > limits.change ? {} : { did }
}
const results = {
  write: written, edit: written, multiedit: written, patch: patched, apply_patch: patched,
  task: (args, { sessionId }, { output }) => ({ child: sessionId, output }),
  todowrite: ({ todos }, metadata, output, s) => ({ did: { input: { todos: todos.slice(0, limits.todos).map(todo) } }, at: Date.now(), text: s.said }),
}

// todo returns an item of the to-do list, cut to what flame shows of it.
const todo = ({ content, status }) => ({ content: content.slice(0, limits.input), status })

const toolEnded = async (plugin, { tool, sessionID, callID, args }, output) => {
  const s = plugin.session(sessionID)
  s.passTurn(callID)
  const metadata = output?.metadata ?? {}
  if (!plugin.isOurs(tool)) s.noteCall(tool, args, { ok: true, exit: metadata.exit, output: output?.output })
  if (tool === "task" && metadata.background) plugin.session(metadata.sessionId).background = true
  else if (results[tool] && output) s.tellOf(metadata.sessionId, "tool.after", { tool, call: callID, ...results[tool](args, metadata, output, s) })
  const [called, given] = tool.endsWith("_flame_more") ? [`_${args.tool}`, args.arguments] : [tool, args]
  if (plugin.isOurs(tool) && called.endsWith("_flame_summarize") && given && !given.summary && !given.frameID) await summarize(plugin, s)
}

// summarize has OpenCode compact the conversation before the turn continues. Once the session
// is idle it would be too late: "opencode run" ends then. This hook cannot wait for the summary,
// which waits for this hook. It only waits until the summary is next, as a request before it would
// miss it.
const summarize = (plugin, s) => {
  const placed = new Promise((resolve) => (s.compactionPlaced = resolve))
  plugin.client.session.summarize({ path: { id: s.id }, body: { ...s.model, auto: true } }).catch(() => {})
  return within(limits.answer, placed)
}

// OpenCode's words before the reason for which the user refused a call, and for a tool that the user
// stopped.
const refused = /^The user rejected permission to use this specific tool call with the following feedback: ([^]+)/
const aborted = /^(Tool execution aborted|Cancelled|Task cancelled)$/

const partUpdated = (plugin, { part }) => {
  const s = plugin.session(part.sessionID)
  if (part.type === "compaction") s.compactionPlaced?.()
  if (part.type !== "tool") return
  const { status, metadata, error } = part.state
  if (!s.known.has(part.messageID)) s.tools.set(part.messageID, (s.tools.get(part.messageID) ?? new Set()).add(part.id))
  if (part.tool === "task" && metadata?.sessionId) {
    s.children.set(part.callID, metadata.sessionId)
    plugin.session(metadata.sessionId).parent ??= s.id // a child that resumes was not created
  }
  if (status === "completed" || status === "error") s.passTurn(part.callID)
  if (status !== "error" || !s.isNew(part.id)) return
  if (!plugin.isOurs(part.tool)) s.noteCall(part.tool, part.state.input, { ok: false, output: error })
  const child = s.children.get(part.callID)
  s.tellOf(child, "tool.failed", { tool: part.tool, child, error, aborted: aborted.test(error) })
}

// answered keeps the usage of an answer of the model.
const answered = (plugin, { info }) => {
  const s = plugin.session(info.sessionID)
  if (info.role !== "assistant" || !info.time.completed || !s.isNew(info.id)) return
  if (info.time.created < s.begun) return // a fork begins with copies of another session's answers
  s.failed = !info.error ? "" : info.error.name === "MessageAbortedError" ? "aborted" : String(info.error.data?.message ?? info.error.name)
  if (info.error?.name === "MessageAbortedError") s.background = false // OpenCode does not report this end to the parent
  const { input, output, reasoning, cache } = info.tokens
  s.usage.push({
    id: info.id, at: info.time.created, in: input, out: output + reasoning, cacheRead: cache.read, cacheWrite: cache.write,
    cost: info.cost, tools: s.tools.get(info.id)?.size ?? 0, edition: s.editions.get(info.id) ?? s.sent,
  })
  s.tools.delete(info.id)
}

// about reports a new session, or a new title of a session. Without a title, OpenCode calls it
// "New session - " and the time.
const about = (event) => (plugin, { info }) => {
  const s = plugin.session(info.id)
  s.begun = info.time?.created ?? 0
  const title = /^(New|Child) session - /.test(info.title) ? undefined : info.title
  s.parent ??= info.parentID
  if (event === "session.updated" && (!title || title === s.title)) return
  s.title = title
  s.tell(event, { title })
}

// idle reports the end of a turn, with the data by which flame judges it.
const idle = (plugin, { sessionID }) => {
  const s = plugin.session(sessionID)
  const turn = { text: s.said, running: plugin.running(s.id), window: s.window, model: s.model?.modelID, ...(s.calls.length && { calls: s.calls }) }
  s.calls = []
  const stopped = s.failed && { aborted: true, ...(s.failed !== "aborted" && { error: s.failed.slice(0, limits.words) }) }
  s.withUsage((usage) => s.tell("session.idle", { ...turn, usage, ...stopped }))
}

// deleted closes a session: OpenCode sends its other final events only after that.
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
  const { context = [], prompt } = (await plugin.inTime(s.tell("session.compacting"))) || {}
  output.context.push(...context)
  if (prompt) output.prompt = prompt
}

const heard = (plugin, { sessionID, messageID }, { text }) => {
  const s = plugin.session(sessionID)
  if (s.compaction === "writing") s.tell("text.complete", { message: messageID, text })
  else s.said = text
}

// termed keeps the prices of the model, and the rules of its API for requests.
const termed = (plugin, { sessionID, agent, model }, { options }) => {
  if (/^(title|summary|compaction)$/.test(agent?.name ?? agent)) return // they have models of their own
  const { input, cache } = model?.cost ?? {}
  plugin.session(sessionID).window = model?.limit?.context || undefined
  plugin.session(sessionID).terms = {
    ...(input && cache && { prices: { read: cache.read / input, write: cache.write / input } }),
    ...(options?.thinking?.type === "enabled" && { leads: true }),
  }
}

// attend handles requests of agents and of compactions; OpenCode does not call it for titles.
// The request of a compaction is the first after its announcement.
const attend = async (plugin, input, { messages }) => {
  if (!messages.length) return
  const s = plugin.session(messages[0].info.sessionID)
  const { sent } = s
  s.sent = -1 // if this fails, OpenCode sends the messages as they are
  const history = named(messages.map((message) => unstamped(plugin, message)))
  s.compaction = s.compaction === "due" ? "writing" : undefined
  for (const { info } of history) if (info.role === "assistant" && !s.editions.has(info.id)) s.editions.set(info.id, sent)
  const { words, tasks } = untold(plugin, s, history)
  const quoted = answeredByUser(history)
  const request = {
    compacting: Boolean(s.compaction), ...s.terms, messages: history.map((message) => skeleton(plugin, s, message, quoted.has(message.name))),
    ...(words.length && { words }), ...(tasks.length && { tasks }),
  }
  const answered = async (usage) => {
    const answer = await s.tell("messages.transform", { ...request, usage }, { passes: true })
    if (!answer) return
    if (!answer.late) s.edits = { ...answer, last: history.at(-1).name }
    for (const key of [...words.map((w) => w.message), ...tasks.filter((t) => t.state).map((t) => t.child)]) s.heard.add(key)
    return answer
  }
  await plugin.inTime(s.withUsage(answered)) // without an answer the last one applies
  messages.splice(0, messages.length, ...edited(s, history))
}

// named gives messages names that are the same in a branch of the conversation: OpenCode
// copies their times and gives them new ids.
const named = (messages) => {
  const names = new Set()
  return messages.map(({ info, parts }) => {
    let name = info.role[0] + info.time.created
    while (names.has(name)) name += "+"
    names.add(name)
    return { name, info, parts }
  })
}

// untold returns the parts of a conversation that flame may not know: the first and the last
// prompt of a session of the user, and the children that the tool task started.
const untold = (plugin, s, messages) => {
  const prompts = s.parent ? [] : messages.filter(({ info, parts }) => info.role === "user" && wordsOf(parts))
  const words = [...new Set([prompts[0], prompts.at(-1)])].filter((message) => message && !s.heard.has(message.info.id))
  const tasks = messages.flatMap(({ parts }) => parts).filter((part) => part.tool === "task" && part.state.metadata?.sessionId).map(taskOf)
  return {
    words: words.map(({ info, parts }) => ({ message: info.id, ...agentOf(plugin, info), text: wordsOf(parts).slice(0, limits.words) })),
    tasks: tasks.filter(({ child }) => !s.heard.has(child)),
  }
}

// taskOf returns a child in a request of its parent; it has no state while it works.
const taskOf = ({ state: { status, input, metadata, output, error } }) => {
  const task = { child: metadata.sessionId, title: `${input?.description} (@${input?.subagent_type} subagent)` }
  if (status === "completed" && !metadata.background) return { ...task, state: status, output: String(output) }
  if (status === "error") return { ...task, state: aborted.test(error) ? "aborted" : status, error }
  return task
}

// unstamped returns a message without the arguments that stamp added: the model would learn to
// write them. It does not change the message, which may be the host's own.
const unstamped = (plugin, { info, parts }) => {
  const plain = (part) => {
    if (part.type !== "tool" || !plugin.isOurs(part.tool)) return part
    const { session_id, agent_id, flame_proof, ...input } = part.state.input
    return { ...part, state: { ...part.state, input } }
  }
  return { info, parts: parts.map(plain) }
}

// answeredByUser returns the names of the answers before a message of the user: flame may quote
// their words.
const answeredByUser = (history) => {
  const names = new Set()
  let last
  for (const { name, info, parts } of history) {
    if (info.role === "user") names.add(last)
    else if (parts.some((part) => part.type === "text" && part.text?.trim())) last = name
  }
  return names
}

// skeleton returns the data of a message by which flame decides how to send it.
const skeleton = (plugin, s, { name, info, parts }, quoted) => {
  const tools = parts.filter((part) => part.type === "tool")
  const pops = tools.some(({ tool }) => plugin.isOurs(tool) && /_flame_pop$/.test(tool))
  const stayed = info.role === "assistant" && !s.edits.drop?.includes(name) // flame makes facts of what leaves
  const texts = quoted || pops || stayed ? parts.filter((part) => part.type === "text") : []
  const [said, stays] = dialogs(plugin, tools)
  return {
    name, role: info.role, time: info.time.created, edition: s.editions.get(info.id), summary: info.summary === true,
    ...(said && { said }),
    open: stays || (!info.time.completed && tools.some(({ state }) => state.status !== "completed" && state.status !== "error")),
    ...(info.role === "user" && parts.length && parts.every((part) => part.type === "text" && part.synthetic) && { host: true }),
    moves: tools.flatMap((part, i) => (part.state.status === "completed" && plugin.isOurs(part.tool) ? moves(part, i === 0) : [])),
    tail: texts.map((part) => part.text).join("\n").slice(-limits.said).replace(/^[\udc00-\udfff]/, ""),
    tokens: tokens(s, info, parts),
    ...(stayed && deeds(tools)),
    ...((s.edits.calls || pops) && { calls: tools.filter(({ tool, state }) => state.status === "completed" && tool !== asks && !plugin.isOurs(tool)).map(called) }),
  }
}

// asks is OpenCode's own tool that asks the user.
const asks = "question"

// dialogs returns the user's words in the results of tools: answers to questions, and reasons of
// refusals. It also says whether they stay there: a tool of a server may write what it likes.
const dialogs = (plugin, tools) => {
  const servers = Object.keys(plugin.config?.mcp ?? {}).map((name) => `${name.replace(/[^\w-]/g, "_")}_`)
  const said = tools.map(({ tool, state: { status, input, output, error } }) => {
    if (tool === asks && status === "completed") return String(output)
    const [, reason] = (status === "error" && refused.exec(error)) || []
    return reason && { reason, of: tool, text: `Refused: ${tool} ${JSON.stringify(input ?? {}).slice(0, limits.input)}\n${reason}` }
  }).filter(Boolean)
  const foreign = ({ of }) => of && servers.some((server) => of.startsWith(server))
  return [said.filter((words) => !foreign(words)).map((words) => words.text ?? words).join("\n").slice(0, limits.words), said.some(foreign)]
}

// deeds returns the commands that calls ran, with the line that says why one failed, the files that
// calls read or changed, and what subagents answered.
const deeds = (tools) => {
  const why = ({ status, output, error, metadata }) => {
    if (status !== "error" && !metadata?.exit) return ""
    const text = String(output ?? error ?? "")
    const ends = text.length > 2 * limits.words ? text.slice(0, limits.words) + "\n" + text.slice(-limits.words) : text
    const lines = ends.split("\n").map((line) => line.trim()).filter(Boolean)
    const blames = /error|fail|fatal|panic|exception|not found|cannot|denied|undefined|no such|unexpected/i
    return (lines.find((line) => blames.test(line)) ?? lines.at(-1) ?? "failed").slice(0, limits.input)
  }
  const ended = tools.filter(({ state }) => state.status === "completed" || state.status === "error")
  const commands = ended.filter(({ tool, state }) => tool === "bash" && state.input?.command)
    .map(({ state }) => ({ line: String(state.input.command).trim().slice(0, limits.input), why: why(state) }))
  const of = (...names) => ended.filter(({ tool, state }) => names.includes(tool) && state.status === "completed")
  const paths = (...names) => of(...names).map(({ state }) => String(state.input?.filePath ?? ""))
  const [files, reads] = [paths("edit", "write"), paths("read")]
  const told = of("task").map(({ state }) => String(state.output).slice(0, limits.words))
  return { ...(commands.length && { commands }), ...(files.length && { files }), ...(reads.length && { reads }), ...(told.length && { told }) }
}

// called returns a call whose output may be cut. Its key contains the whole input, as the same
// file may be read again in another range.
const called = ({ callID, tool, state: { input, output } }) => {
  const { description, ...asked } = input ?? {}
  const key = `${tool} ${JSON.stringify(asked)}`
  return { id: callID, key: tool === "task" ? "" : key.length > limits.words ? callID : key, tokens: Math.ceil(String(output).length / 4) }
}

// tokens estimates the size of a message, only once after the message is complete.
const tokens = (s, info, parts) => {
  const length = ({ type, text = "", state }) => (type === "reasoning" ? 0 : text.length) + (state ? JSON.stringify(state.input ?? "").length + String(state.output ?? state.error).length : 0)
  const size = s.sizes.get(info.id) ?? Math.ceil(parts.reduce((sum, part) => sum + length(part), 0) / 4)
  if (info.role === "user" || info.time.completed) s.sizes.set(info.id, size)
  return size
}

// moves returns the frames that a call of flame's tools entered and left: the frame at the
// beginning of its result, and the next frame after a pop. A pop that waits for a summary has
// not left its frame yet.
const moves = ({ tool, callID, state: { output } }, first) => {
  const [, way] = /_flame_(push|activate|pop)$/.exec(tool) ?? []
  if (!way) return []
  const found = (pattern, flags) => new RegExp(pattern, flags).exec(output)?.[1]
  const frame = found(way === "pop" ? given.moves.ends : given.moves.starts)
  if (!frame) return []
  if (way !== "pop") return [{ kind: "enter", frame, first }]
  const next = found(given.moves.goesOn, "m")
  const rest = output.replace(new RegExp(given.moves.began, "m"), "")
  return [{ kind: "leave", frame, first, ...(rest !== output && { call: callID, rest }) }, ...(next ? [{ kind: "enter", frame: next }] : [])]
}

// edited returns the messages after flame's edits. The model reads added texts as words of the
// user.
const edited = (s, history) => {
  const { edition = 0, drop = [], before = [], after = [], stale = [], cuts = [], last } = s.edits
  const known = history.findIndex(({ name }) => name === last)
  const isNew = (i) => last && i > known && s.editions.get(history[i].info.id) !== edition // to flame, and from another edition
  const [dropped, past, lines] = [new Set(drop), new Set(stale), new Map(cuts.map(({ message, call, text }) => [message + call, text]))]
  const reminded = remindedOf(history)
  s.sent = last && known < 0 ? -1 : edition // if messages were removed, some edits may no longer apply
  let user
  return history.flatMap((message, i) => {
    const { name, info } = message
    const added = (texts, place) => texts.filter((text) => text.message === name).map(({ text }, n) => ({
      id: `prt_flame_${place}${n}_${info.id}`, messageID: info.id, sessionID: info.sessionID, type: "text", text, synthetic: true,
    }))
    const [ahead, behind] = [added(before, "before_"), added(after, "after_")]
    const apart = (parts, place) => (parts.length && user ? [{ info: { ...user, id: `msg_flame_${place}${info.id}` }, parts }] : [])
    if (dropped.has(name)) return apart(behind, "after_")
    if (info.role === "user") {
      user = info
      return [{ info, parts: [...ahead, ...message.parts, ...behind] }]
    }
    if (isNew(i)) s.sent = -1 // flame does not know this answer
    const isStale = !s.terms.leads && (past.has(name) || reminded.has(name) || isNew(i))
    const said = lines.has(name) ? message.parts.filter((part) => part.type !== "text") : message.parts
    const fresh = isStale ? unthought(said) : said
    const parts = lines.size ? fresh.map((part) => cut(part, part.callID && lines.get(name + part.callID))).filter(Boolean) : fresh
    return [...apart(ahead, ""), ...(parts.length ? [{ info, parts }] : []), ...apart(behind, "after_")]
  })
}

// remindedOf returns the names of the answers that followed a reminder of the host, which has
// removed it since: it puts the reminders of its agent plan, and of the change to build, only
// into the newest message of the user.
const remindedOf = (history) => {
  const newest = history.findLastIndex(({ info }) => info.role === "user")
  const names = new Set()
  let [user, planned] = [undefined, false]
  for (const { name, info } of history.slice(0, Math.max(0, newest))) {
    if (info.role === "user") user = info.agent === "plan" || (info.agent === "build" && planned)
    else if (user) names.add(name)
    planned ||= info.role === "assistant" && (info.agent ?? info.mode) === "plan"
  }
  return names
}

// cut returns a part with its output replaced by a line, if there is such a line, and nothing if the
// line is empty.
const cut = (part, line) => {
  if (line === "") return
  if (line === undefined || part.type !== "tool" || part.state.status !== "completed") return part
  const { attachments, ...state } = part.state
  return { ...part, state: { ...state, output: line } }
}

// unthought returns an answer without the thinking that depends on earlier messages; nothing if
// the answer has no other content.
const unthought = (parts) => {
  const left = parts.filter((part) => part.type !== "reasoning" || !part.metadata?.anthropic)
  return left.some((part) => part.type === "tool" || part.type === "reasoning" || part.text) ? left : []
}

// disposed handles the end of the process, which ends all its sessions.
const disposed = async (plugin) => {
  const sessions = [...plugin.sessions.values()].filter((s) => !s.over)
  if (sessions.length) plugin.ask({ event: "dispose", sessions: sessions.map((s) => s.id) })
  await within(limits.answer, plugin.stream.idle())
  plugin.stream.end()
}

// hooks are the hooks of OpenCode that flame uses, besides config.
const hooks = {
  event: (plugin, { event }) => events[event.type]?.(plugin, event.properties),
  "chat.message": prompted,
  "tool.execute.before": stamp,
  "tool.execute.after": toolEnded,
  "chat.params": termed,
  "experimental.session.compacting": compacting,
  "experimental.chat.messages.transform": attend,
  "experimental.text.complete": heard,
  dispose: disposed,
}

// OpenCode loads both the user's and the project's copy of this file; for each folder only the
// copy that it loaded last acts.
const acting = (globalThis[Symbol.for("flame.opencode")] ??= new Map())

export const Flame = async (input) => {
  const plugin = new Plugin(input)
  acting.get(plugin.directory)?.stream.end()
  acting.set(plugin.directory, plugin)
  // An error of flame's must not reach the host: a hook that throws ends the turn.
  const guarded = (name, hook) => async (...args) => {
    try {
      if (name === "config" || acting.get(plugin.directory) === plugin) await hook(plugin, ...args)
    } catch {}
  }
  const off = /^(1|t|true)$/i.test(process.env.FLAME_OFF)
  const all = Object.entries({ config: configure, ...(off ? {} : hooks) })
  return Object.fromEntries(all.map(([name, hook]) => [name, guarded(name, hook)]))
}
