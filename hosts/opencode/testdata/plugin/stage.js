const { Flame } = await import(process.argv[1])
const asked = [] // of the host itself
const client = { session: { summarize: async (request) => asked.push(request) } }
const load = () => Flame({ directory: process.argv[2], client })
const hooks = await load()
const event = (type, properties) => hooks.event({ event: { type, properties } })
const session = (type, id, info) => event("session." + type, { sessionID: id, info: { id, title: "Work", ...info } })
const below = (id, parentID) => session("updated", id, { parentID, title: "New session - 2026" })
const status = (sessionID, type) => event("session.status", { sessionID, status: { type } })
const said = (sessionID, text, messageID = "m") => hooks["experimental.text.complete"]({ sessionID, messageID }, { text })
const text = (text, more) => ({ type: "text", text, ...more })
const tool = (tool, status, state, id = "p") => ({ type: "tool", id, tool, callID: "c-" + id, sessionID: "s", messageID: "m",
	state: { status, input: {}, ...state } })
const part = (part) => event("message.part.updated", { sessionID: part.sessionID, part })
const prompt = (sessionID, ...parts) => hooks["chat.message"]({ sessionID }, { message: { id: "u", model: { providerID: "a", modelID: "b" } }, parts })
const before = async (tool, callID, args) => { await hooks["tool.execute.before"]({ tool, sessionID: "s", callID }, { args }); return args }
const after = (tool, callID, args, output) => hooks["tool.execute.after"]({ tool, sessionID: "s", callID, args }, output)
const message = (id, role, parts, info) => ({ info: { id, role, sessionID: "s", time: { created: Number(id.slice(1)) }, ...info }, parts })
const thought = (text) => ({ type: "reasoning", text, metadata: { anthropic: { signature: "x" } } })
const answer = (id, info) => event("message.updated", { info: { id, role: "assistant", sessionID: "s", time: { created: 5, completed: 9 },
	tokens: { input: 1, output: 2, reasoning: 3, cache: { read: 4, write: 5 } }, cost: 0.5, ...info } })
const request = async (...messages) => { await hooks["experimental.chat.messages.transform"]({}, { messages }); return messages }
const shown = (sent) => sent.flatMap(({ parts }) => parts.map((p) => p.text ?? p.state.output)).join(" ")
