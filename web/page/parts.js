// What the details of a frame consist of. Each part is made of what the details know, and
// what is in a fold is made of what they know when it is opened.

import { h, when, duration, tookOf, amount, cost, money, moment, tokensOf, glyphs, statusNames, plural } from "./words.js";
import { isRunning } from "./model.js";
import { known, wrong, linked } from "./told.js";
import { around, shell, copier } from "./around.js";
import { log, history } from "./talk.js";

// partsOf returns the elements that show what details know of their frame, null among them:
// first what it left, then its figures, then how it came about.
export function partsOf(d) {
  const f = d.of;
  return [
    ...goal(d, f), state(d, f), d.kept("actions", () => actions(d, f)),
    ...texts(d), answer(d), files(d), criteria(d),
    d.kept("figures", () => h("h3", {}, "Figures")), d.kept("usage", () => usage(f)), facts(d, f), agent(d),
    log(d), history(d), around(d, f), shell(d, f), context(d)];
}

// goal is the heading. Rows have only the begin of a long goal; the whole is in a fold.
function goal(d, f) {
  const frame = known(d, "frame");
  const isLong = f.goal.endsWith("…") && frame && frame.goal.length > f.goal.length;
  return [
    d.kept("goal", () => h("h2", {}, h("span", { class: `glyph s-${f.status}` }, glyphs[f.status]), " ", h("bdi", {}, f.goal || f.id))),
    isLong ? d.kept("whole goal", () => d.fold("whole goal", "The whole goal", () => h("p", { class: "text", dir: "auto" }, known(d, "frame").goal)), frame.goal) : null];
}

// state says in a line how it stands.
function state(d, f) {
  const session = d.model.sessions.find((x) => x.current === f.id);
  const goesOn = f.from && !f.until;
  const lasted = duration(tookOf(f, d.now));
  const shown = d.box.querySelector(".lasted");
  if (goesOn && shown && shown.textContent !== lasted) shown.textContent = lasted;
  const now = session ? (session.state === "idle" ? " · a session waits here for a person" : " · a session works here now") : "";
  return d.kept("state", () => h("p", { class: "state" },
    h("b", {}, statusNames[f.status]), f.archived ? ", archived" : "", " ",
    f.from ? [goesOn ? "for " : [when(f.until, d.now), ", took "], h("span", { class: "lasted" }, lasted), goesOn && f.still ? [", no work since ", when(f.still, d.now)] : ""].flat() : f.status === "planned" ? "" : "not begun", f.agent || f.host ? " · " + [f.agent, f.host].filter(Boolean).join(", ") : "", now, h("br"), h("code", {}, f.id), " ", copier(d, f.id, "the id")));
}

function line(name, ...value) { return value.some((v) => v || v === 0) ? [h("dt", {}, name), h("dd", {}, ...value)] : []; }

function facts(d, f) {
  const frame = known(d, "frame");
  const models = (known(d, "log") && known(d, "log").models) || (d.agent() && d.agent().model ? [d.agent().model] : []);
  const jumped = f.from && f.until && f.until < f.from ? "it ends before it begins: a clock jumped" : f.from > d.now + 60000 ? "it begins in the future: a clock jumped" : "";
  return d.kept("facts", () => h("dl", { class: "facts" },
    line("time", f.from ? h("span", { class: "exact" }, moment(f.from, 86400000), f.until ? ` – ${moment(f.until, 86400000)}` : "") : "not begun", jumped ? h("span", { class: "wrong" }, " " + jumped) : ""),
    line("models", models.join(", ")),
    line("machine", f.machine),
    line("session", f.session ? h("code", {}, f.session) : ""),
    line("invalidated", frame && frame.invalidationReason),
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
      row("cost", cost), row("tool calls", (u) => amount(u.toolCalls))));
}

function texts(d) {
  const frame = known(d, "frame");
  if (!frame) return [wrong(d, "frame") || d.kept("asked", () => h("p", { class: "note" }, "…"))];
  const part = (name, value, make) => (value && value.length ? d.kept(name, () => h("section", {}, h("h3", {}, name), make(value)), frame) : null);
  const text = (value) => h("p", { class: "text", dir: "auto" }, linked(value));
  const list = (values) => h("ul", {}, values.map((t) => h("li", { dir: "auto" }, linked(t))));
  const copied = (values) => h("ul", { class: "plain" }, values.map((t) => h("li", {}, h("code", {}, linked(t)), " ", copier(d, t, "the artifact"))));
  return [
    part("Summary", frame.summary, text), part("What was done below it", frame.composedSummary, text),
    frame.closing ? d.kept("closing", () => d.fold("closing", "To continue from it", () => text(known(d, "frame").closing)), frame) : null,
    part("Decisions", frame.decisions, list), part("Artifacts", frame.artifacts, copied),
    frame.results ? d.kept("results", () => d.fold("results", "Results", () => text(known(d, "frame").results)), frame) : null,
    frame.folded ? d.kept("folded", () => h("p", { class: "note" }, `Folded: ${amount(frame.folded.tokens)} tokens less in each request since.`)) : null,
  ];
}

function criteria(d) {
  const frame = known(d, "frame");
  if (!frame || !frame.successCriteria) return null;
  return d.kept("criteria", () => h("section", {}, h("h3", {}, "Done means"), h("p", { class: "text", dir: "auto" }, linked(frame.successCriteria))), frame.successCriteria);
}

// answer is what the agent of the frame was asked and said.
function answer(d) {
  const agent = d.agent();
  const run = agent && known(d, "agent");
  const text = (value) => h("p", { class: "text", dir: "auto" }, linked(value));
  if (!agent || !(run && (run.prompt || run.text)) && !agent.text) return null;
  return d.group("answer",
    run && run.prompt ? d.kept("task", () => d.fold("task", "Task", () => text(known(d, "agent").prompt)), run.prompt) : null,
    run && run.text ? d.kept("output", () => d.fold("output", run.partial ? "Output so far" : "Answer", () => text(known(d, "agent").text), { opened: true }), run.text, run.partial)
      : agent.text ? d.kept("last words", () => text(agent.text)) : null);
}

function agent(d) {
  const agent = d.agent();
  if (!agent) return null;
  const run = known(d, "agent");
  return d.group("agent",
    d.kept("agent title", () => h("h3", {}, agent.native ? "Native subagent" : "Agent")),
    d.kept("agent facts", () => h("dl", { class: "facts" },
      line("agent", [agent.type, agent.native ? "" : agent.id].filter(Boolean).join(", ")), line("state", agent.state + (agent.reason ? ": " + agent.reason : "")),
      line("model", agent.model), line("mode", agent.mode), line("tools", toolsOf(run)), line("limits", limitsOf(run)),
      line("turns", agent.turns), line("retries", agent.retries), line("last tool", isRunning(agent) ? agent.tool : ""),
      line("used", `${amount(tokensOf(agent.used))} tokens, ${cost(agent.used)}`))),
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

function context(d) {
  if (d.on.isReport) return null;
  const content = () => wrong(d, "context") || h(known(d, "context") ? "pre" : "p", {}, known(d, "context") ? known(d, "context").text : "…");
  return d.kept("context", () => d.fold("context", "Context that it is told", content), d.told.context, d.isOpen("context"));
}
