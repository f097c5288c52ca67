// What the details of a frame consist of. Each part is made of what the details know, and
// what is in a fold is made of what they know when it is opened.

import { h, when, duration, tookOf, amount, cost, listed, costOf, money, moment, tokensOf, percent, plural, whoOf } from "./words.js";
import { icon, mark, sign, signOf, namesOf } from "./icons.js";
import { menuOf } from "./head.js";
import { isRunning } from "./model.js";
import { log, history, now, known, wrong, linked } from "./talk.js";

const longGoal = 700; // letters from which on a goal is folded
const atOnce = 8; // frames of a list, until a person wants more

// partsOf returns the elements that show what details know of their frame, null among them:
// first what it left, then how it came about.
export function partsOf(d) {
  const f = d.of;
  const name = signOf(f, d.model);
  return [
    top(d, f), goal(d, f), state(d, f, name), figures(d, f), urgent(d, f), name === "live" ? now(d) : null, d.group("pair", ...outcome(d, f)), answer(d), below(d, f), files(d),
    criteria(d), log(d), d.group("rest", d.kept("facts", () => d.fold("facts", "More about it", () => facts(d, d.of)), JSON.stringify([f, d.agent()]), d.told.frame, d.told.agent, d.told.log), history(d), context(d))];
}

// top is the way to the frame, and what can be done with it.
function top(d, f) {
  const above = d.model.above(f).reverse();
  return d.kept("top", () => h("div", { class: "dtop" },
    h("nav", { class: "crumbs", "aria-label": "Frames above" }, above.slice(-4).flatMap((x, i) => [i ? icon("closed") : "", h("button", { type: "button", "data-key": "to " + x.id, onclick: () => d.on.select(x.id) }, x.goal || x.id)])),
    h("button", { type: "button", class: "ib", "data-key": "link", "aria-label": "Copy a link", title: "Copy a link", onclick: () => d.on.copy(location.href) }, icon("link")),
    ...menuOf("acts", "Actions", "more", actions(d)), h("button", { type: "button", class: "ib", "data-key": "close", "aria-label": "Close", title: "Close (Esc)", onclick: d.on.close }, icon("close"))),
  above.map((x) => x.id + x.goal).join(), f.id, f.status, f.machine, JSON.stringify(d.agent() && [d.agent().state, d.agent().id]));
}

function actions(d) {
  const f = d.of;
  const zoom = { text: "Zoom in the picture", key: "z", does: () => d.on.zoom(f.id) };
  const id = { text: "Copy its id", does: () => d.on.copy(f.id) };
  if (d.on.isReport) return [zoom, id];
  const agent = d.agent();
  const act = (what, text, may = true) => may && { text, does: () => d.on.act(what, d.of), props: { "data-key": "do " + what } };
  const may = f.status !== "invalidated";
  return [
    act("activate", "Activate", may), act("pop", "End", !f.machine && (f.status === "in_progress" || f.status === "blocked")), act("goal", "Change the goal", !f.machine && may),
    act("invalidate", "Set aside", may), act("cancel", "Cancel the agent", Boolean(agent && !agent.native && !agent.machine && isRunning(agent))),
    zoom, id, !/\p{C}/u.test(f.id) && { text: "Copy flame show …", does: () => d.on.copy(`flame show ${argument(f.id)} --diff`) }].filter(Boolean);
}

// argument writes a text so that a shell reads it as one word.
function argument(text) { return /^[\w.:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`; }

// goal is the heading: the whole goal, a very long one folded.
function goal(d, f) {
  const frame = known(d, "frame");
  const text = (frame && frame.goal) || f.goal || f.id;
  const folds = text.length > longGoal && !d.wants.goal;
  return d.kept("goal", () => h("div", { class: folds ? "title folds" : "title" }, h("h2", { dir: "auto" }, folds ? text.slice(0, longGoal) + "…" : text),
    folds ? h("button", { type: "button", class: "more", "data-key": "whole goal", onclick: () => d.want("goal", 1) }, `All ${amount(text.length)} letters`) : null), text, folds);
}

// state says in a line how it stands.
function state(d, f, name) {
  const session = d.model.sessions.find((x) => x.current === f.id);
  const who = whoOf(f, d.model.titles);
  const times = f.until ? ["ended ", when(f.until, d.now)] : f.from ? [`since ${moment(f.from, d.now)}`] : [];
  const facts = [who && h("span", { class: "who" }, mark(f.host, d.model.titles), who), times.length && h("span", {}, times),
    f.until ? h("span", { class: "exact" }, `${moment(f.from, d.now)} to ${moment(f.until, d.now)}`) : "", session && session.state === "idle" ? "waits for your prompt" : "", f.archived ? "archived" : ""].filter(Boolean);
  return d.kept("state", () => h("p", { class: "meta" }, h("span", { class: "pill st-" + name }, icon(name), namesOf(name)), facts.map((fact, i) => [i ? h("i", {}, "·") : "", fact])));
}

// figures are what it came to, with what is its own. What is nothing is not named.
function figures(d, f) {
  const agent = d.agent();
  const frame = known(d, "frame");
  const told = known(d, "log");
  const own = (of, tell) => (of(f.self) && of(f.self) < of(f.total) * 0.999 ? `${tell(f.self)} own` : "");
  const left = frame && frame.folded && frame.folded.tokens;
  const parts = [["in", "tokensIn"], ["out", "tokensOut"], ["read from the cache", "cacheRead"], ["written to it", "cacheWritten"]].filter(([, key]) => f.total[key]).map(([text, key]) => `${amount(f.total[key])} ${text}`).join(", ");
  const all = [
    ["Cost", listed(f.total) && cost(f.total), own(costOf, cost)], ["Tokens", tokensOf(f.total) ? amount(tokensOf(f.total)) : "", own(tokensOf, (u) => amount(tokensOf(u))), parts],
    ["Time", f.from ? duration(tookOf(f, d.now)) : ""], ["Rounds", told && told.total ? String(told.total) : ""], ["Calls", f.total.toolCalls ? amount(f.total.toolCalls) : ""],
    ["Left out by folding", left ? amount(left) : "", left ? "of each request since" : ""], ["Budget", agent && agent.budget ? percent(agent.budget) : ""],
  ].filter(([, value]) => value);
  return all.length ? d.kept("figures", () => h("dl", { class: "figs" }, all.map(([what, value, note, title]) => h("div", { title }, h("dt", {}, what), h("dd", {}, value, note ? h("small", {}, note) : ""))))) : null;
}

// urgent leads to the conflict below the frame.
function urgent(d, f) {
  const conflict = d.model.conflicts.find((c) => c.frame === f.id || c.sides.some((side) => side.subagent_id === f.agentID));
  if (!conflict || d.on.isReport) return null;
  return d.kept("urgent", () => h("p", {}, h("button", { type: "button", class: "act need", "data-key": conflict.convergence, onclick: () => d.on.settle(conflict.convergence) }, icon("conflict"), "Settle what agents disagree on")), conflict.id);
}

const outcomes = { failed: "Why it failed", blocked: "Waits for a person", invalidated: "What it came to" };

// outcome is what the frame left: its summary beside its decisions, then artifacts and results.
function outcome(d, f) {
  const frame = known(d, "frame");
  if (!frame) return [wrong(d, "frame") || d.kept("asked", () => h("p", { class: "note" }, "…"))];
  const part = (name, title, value, make) => (value && value.length ? d.kept(name, () => h("section", { class: name }, h("h3", {}, title, Array.isArray(value) ? h("span", { class: "n" }, ` ${value.length}`) : ""), make(value)), frame, title) : null);
  const text = (value) => h("p", { class: "text", dir: "auto" }, linked(value));
  const list = (values) => h("ul", { class: "ds" }, values.map((t) => h("li", { dir: "auto" }, icon("decision"), h("div", {}, linked(t)))));
  const copied = (values) => h("ul", { class: "ds" }, values.map((t) => h("li", {}, h("code", {}, linked(t)), copier(d, t, "the artifact"))));
  const unblock = f.status === "blocked" && !d.on.isReport ? h("button", { type: "button", class: "act", "data-key": "unblock", onclick: () => d.on.act("activate", d.of) }, "Unblock") : null;
  return [
    part("outcome", outcomes[f.status] || "Outcome", frame.summary || (unblock && "It says no more."), (value) => h("div", {}, text(value), unblock)),
    part("decisions", "Decisions", frame.decisions, list), part("invalid", "Set aside because", frame.invalidationReason, text), part("done", "What was done below it", frame.composedSummary, text),
    part("artifacts", "Artifacts", frame.artifacts, copied),
    frame.plan ? d.kept("plan", () => d.fold("plan", "The plan that the user approved", () => text(known(d, "frame").plan)), frame) : null,
    frame.results ? d.kept("results", () => d.fold("results", "Results", () => text(known(d, "frame").results)), frame) : null,
    frame.closing ? d.kept("closing", () => d.fold("closing", "To continue from it", () => text(known(d, "frame").closing)), frame) : null,
  ];
}

// copier is a button that copies a text.
function copier(d, text, what) {
  return h("button", { type: "button", class: "more", "data-key": "copy " + text, "aria-label": `Copy ${what}`, title: `Copy ${what}`, onclick: () => d.on.copy(text) }, "copy");
}

function criteria(d) {
  const frame = known(d, "frame");
  if (!frame || !frame.successCriteria) return null;
  return d.kept("criteria", () => h("section", {}, h("h3", {}, "Done means"), h("p", { class: "text", dir: "auto" }, linked(frame.successCriteria))), frame.successCriteria);
}

// below lists the frames below it.
function below(d, f) {
  if (!f.children.length) return null;
  const most = d.wants.below || atOnce;
  const shown = f.children.slice(0, most);
  const left = f.children.length - shown.length;
  const line = (x) => h("li", {}, h("a", { href: "#" + new URLSearchParams({ ...(d.view.project && { project: d.view.project }), sel: x.id }), "data-key": "to " + x.id, onclick: (e) => go(e, d, x) },
    sign(signOf(x, d.model)), h("bdi", { class: "t" }, x.goal || x.id)), h("span", { class: "m" }, listed(x.total)));
  return d.kept("below", () => h("section", { class: "below" }, h("h3", {}, "Below it ", h("span", { class: "n" }, String(f.children.length))), h("ul", {}, shown.map(line)),
    left ? h("button", { type: "button", class: "more", "data-key": "more below", onclick: () => d.want("below", most + 100) }, left > 100 ? `100 more of ${left}` : `${left} more`) : null));
}

// go selects a frame. Its address can be copied; a click does not load the page anew.
function go(event, d, x) {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  d.on.select(x.id);
}

// answer is what the agent of the frame was asked and said.
function answer(d) {
  const agent = d.agent();
  const run = agent && known(d, "agent");
  const text = (value) => h("p", { class: "text", dir: "auto" }, linked(value));
  if (!run || !(run.prompt || run.text)) return null;
  return d.group("answer",
    run.prompt ? d.kept("task", () => d.fold("task", "Task", () => text(known(d, "agent").prompt)), run.prompt) : null,
    run.text && !isRunning(agent) ? d.kept("output", () => d.fold("output", run.partial ? "Output so far" : "Answer", () => text(known(d, "agent").text)), run.text, run.partial) : null);
}

function line(name, ...value) { return value.some((v) => v || v === 0) ? [h("dt", {}, name), h("dd", {}, ...value)] : []; }

// facts are what else is known of the frame and its agent.
function facts(d, f) {
  const frame = known(d, "frame");
  const agent = d.agent() || {};
  const run = known(d, "agent");
  const models = (known(d, "log") && known(d, "log").models) || (agent.model ? [agent.model] : []);
  const jumped = f.from && f.until && f.until < f.from ? "it ends before it begins: a clock jumped" : f.from > d.now + 60000 ? "it begins in the future: a clock jumped" : "";
  return h("dl", { class: "facts" },
    line("frame", h("code", {}, f.id)), line("times", jumped && h("span", { class: "wrong" }, jumped)), line("no work since", f.still && !f.until ? moment(f.still, d.now) : ""), line("models", models.join(", ")), line("machine", f.machine),
    line("session", f.session ? h("code", {}, f.session) : ""), line("confidence", frame && frame.confidence !== undefined ? percent(frame.confidence) : ""),
    line("agent", agent.native ? "" : agent.id), line("state", agent.state ? agent.state + (agent.reason ? ": " + agent.reason : "") : ""), line("mode", agent.mode), line("tools", toolsOf(run)), line("limits", limitsOf(run)),
    line("turns", agent.turns), line("retries", agent.retries), line("last tool", agent.state && isRunning(agent) ? agent.tool : ""));
}

// limits tell what an agent may come to before it is stopped.
const limits = {
  startNs: (ns) => `${duration(ns / 1e6)} to its first line`, idleNs: (ns) => `${duration(ns / 1e6)} without a line`, wallNs: (ns) => `${duration(ns / 1e6)} in all`,
  tokens: (n) => `${amount(n)} tokens`, costUSD: money, retries: (n) => plural(n, "retry"),
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
    d.kept("files title", () => h("h3", {}, "Files ", h("span", { class: "n" }, String(files.length)))), note ? d.kept("files note", () => h("p", { class: "note" }, note)) : null,
    files.map((file, i) => d.kept("file " + file.path, () => d.fold("file " + file.path,
      [h("code", {}, file.path), file.added ? h("span", { class: "added" }, " +" + file.added) : "", file.removed ? h("span", { class: "removed" }, " −" + file.removed) : "", file.kind === "modified" ? "" : h("small", {}, " " + file.kind)],
      () => diff(now(file.path) || file), { opened: i === 0, kind: "file" }), file.patch, file.added, file.removed, file.kind, file.cut)));
}

function diff(file) {
  const box = h("pre", { class: "diff", tabindex: 0 });
  let [was, is] = [0, 0];
  for (const text of (file.patch || "").replace(/\n$/u, "").split("\n")) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(text);
    if (hunk) [was, is] = [Number(hunk[1]), Number(hunk[2])];
    const kind = text.startsWith("@@") ? "hunk" : text.startsWith("+") ? "added" : text.startsWith("-") ? "removed" : "";
    const n = kind === "hunk" || !(was + is) ? "" : kind === "removed" ? was++ : is++;
    if (n !== "" && kind === "") was++;
    box.append(h("span", { class: kind, "data-n": String(n) }, text.replaceAll("\t", "    ") + "\n"));
  }
  if (file.cut) box.append(h("span", { class: "hunk" }, "… the rest was too long to be kept"));
  if (!file.patch) box.replaceChildren("the patch was not kept");
  return box;
}

function context(d) {
  if (d.on.isReport) return null;
  const content = () => wrong(d, "context") || h(known(d, "context") ? "pre" : "p", { tabindex: known(d, "context") ? 0 : null }, known(d, "context") ? known(d, "context").text : "…");
  return d.kept("context", () => d.fold("context", "Context that it is told", content), d.told.context, d.isOpen("context"));
}
