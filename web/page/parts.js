// What the details of a frame consist of. Each part is made of what the details know, and
// what is in a fold is made of what they know when it is opened.

import { h, duration, amount, money, moment, tokensOf, costOf, glyphs, statusNames, plural } from "./words.js";
import { isRunning } from "./model.js";

// partsOf returns the elements that show what details know of their frame, null among them.
export function partsOf(d) {
  const f = d.of;
  return [
    d.kept("goal", () => h("h2", {}, h("span", { class: `glyph s-${f.status}` }, glyphs[f.status]), " ", h("bdi", {}, f.goal || f.id))),
    facts(d, f), d.kept("actions", () => actions(d, f)), d.kept("usage", () => usage(f)), ...texts(d), agent(d), files(d), log(d), context(d)];
}

// known returns what the server told, if it did.
function known(d, name) { return d.told[name] && d.told[name].value; }

// wrong returns what to say if the server could not tell something.
function wrong(d, name) {
  const trouble = d.told[name] && d.told[name].trouble;
  return trouble ? d.kept("wrong " + name, () => h("p", { class: "note" }, trouble.message, trouble.hint ? [h("br"), h("small", {}, trouble.hint)] : null)) : null;
}

function line(name, ...value) { return value.some((v) => v || v === 0) ? [h("dt", {}, name), h("dd", {}, ...value)] : []; }

function facts(d, f) {
  const frame = known(d, "frame");
  const session = d.model.sessions.find((x) => x.current === f.id);
  const models = (known(d, "log") && known(d, "log").models) || (d.agent() && d.agent().model ? [d.agent().model] : []);
  const goesOn = f.from && !f.until;
  const lasted = duration((f.until || d.now) - f.from);
  const shown = d.box.querySelector(".lasted");
  if (goesOn && shown && shown.textContent !== lasted) shown.textContent = lasted;
  return d.kept("facts", () => h("dl", { class: "facts" },
    line("id", h("code", {}, f.id)),
    line("status", statusNames[f.status] + (frame && frame.invalidationReason ? ": " + frame.invalidationReason : "") + (f.archived ? ", archived" : "")),
    line("who", [f.agent, f.host, models.join(", ")].filter(Boolean).join(", "), session ? (session.state === "idle" ? " – waits for a person" : " – works here now") : ""),
    line("machine", f.machine),
    line("session", f.session ? h("code", {}, f.session) : ""),
    f.from ? line("time", moment(f.from), goesOn ? ", for " : ` – ${moment(f.until)}, `, h("span", { class: "lasted" }, lasted)) : line("time", "not begun"),
    line("done means", frame && frame.successCriteria),
    line("confidence", frame && frame.confidence !== undefined ? Math.round(frame.confidence * 100) + " %" : "")));
}

function actions(d, f) {
  const button = (what, text, does, kind) => h("button", { type: "button", class: kind, "data-key": "do " + what, onclick: does }, text);
  const zoom = button("zoom", "Zoom in", () => d.on.zoom(f.id));
  if (d.on.isReport) return h("div", { class: "actions" }, zoom);
  const act = (what, text, may = true) => (may ? button(what, text, () => d.on.act(what, d.of)) : null);
  const agent = d.agent();
  const conflicts = agent ? d.model.conflicts.filter((c) => c.sides.some((side) => side.subagent_id === agent.id)) : [];
  const settle = (id) => d.on.act("settle", d.model.conflicts.find((c) => c.id === id));
  return h("div", { class: "actions" },
    act("activate", "Activate", f.status !== "invalidated"),
    act("pop", "End", !f.machine && (f.status === "in_progress" || f.status === "blocked")),
    act("goal", "Change the goal", !f.machine && f.status !== "invalidated"),
    act("invalidate", "Invalidate", f.status !== "invalidated"),
    act("cancel", "Cancel the agent", Boolean(agent && !agent.native && !agent.machine && isRunning(agent))),
    conflicts.map((c) => button(c.id, "Settle the conflict", () => settle(c.id), "urgent")), zoom);
}

function usage(f) {
  const row = (name, of) => h("tr", {}, h("th", { scope: "row" }, name), [f.self, f.total].map((u) => h("td", {}, of(u))));
  return h("table", { class: "usage" },
    h("thead", {}, h("tr", {}, h("td"), h("th", { scope: "col" }, "self"), h("th", { scope: "col" }, "total"))),
    h("tbody", {},
      row("tokens in", (u) => amount(u.tokensIn)), row("tokens out", (u) => amount(u.tokensOut)),
      row("read from the cache", (u) => amount(u.cacheRead)), row("written to it", (u) => amount(u.cacheWritten)),
      row("cost", (u) => money(costOf(u))), row("tool calls", (u) => amount(u.toolCalls))));
}

function texts(d) {
  const frame = known(d, "frame");
  if (!frame) return [wrong(d, "frame") || d.kept("asked", () => h("p", { class: "note" }, "…"))];
  const part = (name, value, make) => (value && value.length ? d.kept(name, () => h("section", {}, h("h3", {}, name), make(value)), frame) : null);
  const text = (value) => h("p", { class: "text" }, linked(value));
  const list = (values) => h("ul", {}, values.map((t) => h("li", {}, linked(t))));
  return [
    part("Summary", frame.summary, text), part("What was done below it", frame.composed, text),
    frame.closing ? d.kept("closing", () => d.fold("closing", "To go on from it", () => text(known(d, "frame").closing)), frame) : null,
    part("Decisions", frame.decisions, list), part("Artifacts", frame.artifacts, list),
    frame.results ? d.kept("results", () => d.fold("results", "Results", () => text(known(d, "frame").results)), frame) : null,
    frame.leftOut ? d.kept("folded", () => h("p", { class: "note" }, `Folded: ${amount(frame.leftOut)} tokens less in each request since.`)) : null,
  ];
}

function agent(d) {
  const agent = d.agent();
  if (!agent) return null;
  const run = known(d, "agent");
  const text = (value) => h("p", { class: "text" }, linked(value));
  return d.group("agent",
    d.kept("agent title", () => h("h3", {}, agent.native ? "Native subagent" : "Agent")),
    d.kept("agent facts", () => h("dl", { class: "facts" },
      line("agent", [agent.type, agent.native ? "" : agent.id].filter(Boolean).join(", ")), line("state", agent.state + (agent.reason ? ": " + agent.reason : "")),
      line("model", agent.model), line("mode", agent.mode), line("tools", toolsOf(run)), line("limits", limitsOf(run)),
      line("turns", agent.turns), line("retries", agent.retries), line("last tool", isRunning(agent) ? agent.tool : ""),
      line("used", `${amount(tokensOf(agent.used))} tokens, ${money(costOf(agent.used))}`))),
    run && run.prompt ? d.kept("task", () => d.fold("task", "Task", () => text(known(d, "agent").prompt)), run.prompt) : null,
    run && run.text ? d.kept("output", () => d.fold("output", run.partial ? "Output so far" : "Answer", () => text(known(d, "agent").text), { opened: true }), run.text, run.partial)
      : agent.text ? d.kept("last words", () => text(agent.text)) : null,
    wrong(d, "agent"));
}

// limits tell what an agent may come to before it is stopped.
const limits = {
  startNs: (ns) => `${duration(ns / 1e6)} to its first line`, idleNs: (ns) => `${duration(ns / 1e6)} without a line`, wallNs: (ns) => `${duration(ns / 1e6)} in all`,
  tokens: (n) => `${amount(n)} tokens`, costUSD: money, retries: (n) => `${n} ${n === 1 ? "retry" : "retries"}`,
  sameCalls: (n) => `${plural(n, "equal call")} in a row`, stale: (n) => `${plural(n, "answer")} without news`, output: (n) => `${amount(n)} bytes of output`,
};

function limitsOf(run) {
  return Object.entries((run && run.limits) || {}).filter(([name, v]) => v && limits[name]).map(([name, v]) => limits[name](v)).join(", ");
}

function toolsOf(run) {
  const tools = run && run.tools;
  if (!tools) return "";
  return (tools.limited ? (tools.allowed || []).join(", ") || "none" : "all") + (tools.denied ? ", but not " + tools.denied.join(", ") : "");
}

function files(d) {
  const { files = [], more, dropped, trouble } = known(d, "files") || {};
  if (!files || !files.length) return null;
  const note = [more ? `${more} more changes of files are only counted` : "", dropped ? `${dropped} older patches were dropped for room` : "", trouble].filter(Boolean).join("; ");
  const now = (path) => known(d, "files").files.find((file) => file.path === path);
  return d.group("files",
    d.kept("files title", () => h("h3", {}, `Files: ${files.length}`)), note ? d.kept("files note", () => h("p", { class: "note" }, note)) : null,
    files.map((file) => d.kept("file " + file.path, () => d.fold("file " + file.path,
      [h("code", {}, file.path), " ", h("span", { class: "added" }, "+" + file.added), " ", h("span", { class: "removed" }, "-" + file.removed), file.kind === "modified" ? "" : " " + file.kind],
      () => diff(now(file.path) || file)), file.patch, file.added, file.removed, file.kind, file.cut)));
}

function diff(file) {
  const box = h("pre", { class: "diff" });
  for (const line of (file.patch || "").split("\n")) {
    const kind = line.startsWith("@@") ? "hunk" : line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "";
    box.append(h("span", { class: kind }, line + "\n"));
  }
  if (file.cut) box.append(h("span", { class: "hunk" }, "… the rest was too long to be kept"));
  if (!file.patch) box.append("the patch was not kept");
  return box;
}

function log(d) {
  if (wrong(d, "log")) return d.group("log", d.kept("log title", () => h("h3", {}, "Log")), wrong(d, "log"));
  if (!known(d, "log")) return null;
  const { messages, total } = known(d, "log");
  const left = total - messages.length;
  return d.group("log",
    d.kept("log title", () => h("h3", {}, `Log: ${plural(total, "message")}`)),
    d.list("log", messages.map((m, i) => d.kept("message " + i, () => message(d, m, i), m))),
    left > 0 ? d.kept("log more", () => h("div", { class: "actions" },
      left > 8 ? h("button", { type: "button", "data-key": "more", onclick: () => d.more(8) }, "8 more") : null,
      h("button", { type: "button", "data-key": "all", onclick: () => d.more(500) }, left > 500 ? "500 more" : `All ${total}`))) : null);
}

// message shows one message of a log: what was said, and the calls with their outcomes
// folded.
function message(d, m, number) {
  const parts = (m.parts || []).map((p, i) => {
    const fold = (title, content, kind) => d.fold(`message ${number} ${i}`, title, content, { kind });
    if (p.type === "text") return h("p", { class: "text" }, linked(p.text));
    if (p.type === "reasoning") return p.text ? fold("thinking", () => h("p", { class: "text" }, p.text)) : null;
    if (p.type === "tool_call") return fold(["calls ", h("code", {}, p.tool), " ", brief(p.input)], () => h("pre", {}, pretty(p.input)), "call");
    if (p.type === "tool_result") return fold([p.failed ? "failed: " : "result: ", (p.text || "").trim().split("\n")[0].slice(0, 100)], () => h("pre", {}, p.text || ""), "call");
    return null;
  });
  return h("li", { class: m.role }, h("b", {}, m.role), m.time ? h("time", {}, " " + moment(m.time)) : "", ...parts);
}

function brief(input) {
  if (!input || typeof input !== "object") return "";
  const first = Object.values(input).find((v) => typeof v === "string");
  return first ? first.split("\n")[0].slice(0, 80) : "";
}

function pretty(input) { return typeof input === "string" ? input : JSON.stringify(input, null, 2); }

function context(d) {
  if (d.on.isReport) return null;
  const content = () => wrong(d, "context") || h(known(d, "context") ? "pre" : "p", {}, known(d, "context") ? known(d, "context").text : "…");
  return d.kept("context", () => d.fold("context", "Context that it is told", content), d.told.context, d.isOpen("context"));
}

// linked makes links of addresses in a text. They are opened without telling where from.
function linked(text) {
  return String(text).split(/(https?:\/\/[^\s<>"'`]+[^\s<>"'`.,;:!?)\]])/u).map((part, i) =>
    (i % 2 ? h("a", { href: part, target: "_blank", rel: "noopener noreferrer", "data-key": "link " + part }, part) : part));
}
