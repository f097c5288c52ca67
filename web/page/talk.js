// The log of a frame as a conversation: a line for each round, and what was said and done in
// a round once it is opened. All of it is text that others wrote.

import { h, amount, moment, when, plural } from "./words.js";
import { icon } from "./icons.js";

// known returns what the server told about the frame of details, if it did.
export function known(d, name) { return d.told[name] && d.told[name].value; }

// wrong returns what to say if the server could not tell something.
export function wrong(d, name) {
  const trouble = d.told[name] && d.told[name].trouble;
  return trouble ? d.kept("wrong " + name, () => h("p", { class: "note" }, trouble.message, trouble.hint ? [h("br"), h("small", {}, trouble.hint)] : null)) : null;
}

// linked makes links of addresses in a text. They are opened without telling where from.
export function linked(text) {
  return String(text).split(/(https?:\/\/[^\s<>"'`]+[^\s<>"'`.,;:!?)\]])/u).map((part, i) =>
    (i % 2 ? h("a", { href: part, target: "_blank", rel: "noopener noreferrer", "data-key": "link " + part }, part) : part));
}

// log returns the conversation of the frame that details show, or the rounds in it that have the
// words of a search.
export function log(d) {
  const told = known(d, "log");
  const found = d.finding && known(d, "found");
  const count = d.finding ? (found ? `${found.rounds.length} of ${plural(found.total, "round")}` : "…") : told ? plural(told.total, "round") : "";
  const heading = d.kept("log title", () => h("h3", {}, "Conversation ", h("span", { class: "n" }, count)), count);
  if (wrong(d, "log")) return d.group("log", heading, wrong(d, "log"));
  if (!told) return d.asked.log ? d.group("log", heading, d.kept("log asked", () => h("p", { class: "note" }, "The log is read…"))) : null;
  const field = d.kept("log field", () => h("label", { class: "find" }, icon("search"), h("input", {
    type: "search", "aria-label": "Search in the conversation", placeholder: "Search, folded work too", maxlength: 200, oninput: (e) => d.find(e.target.value), onkeydown: (e) => d.unfind(e),
  })), true);
  const head = d.group("log head", heading, told.total ? field : null);
  if (d.finding) {
    return d.group("log", head, wrong(d, "found"), found && !found.rounds.length ? d.kept("log none", () => h("p", { class: "note" }, "No round has all these words.")) : null,
      found ? d.list("log found", found.rounds.map((r) => round(d, r))) : null);
  }
  const { rounds, from, total } = told;
  return d.group("log", head,
    total === 0 ? d.kept("log empty", () => h("p", { class: "note" }, "The transcript has nothing from the time of this frame.")) : null,
    from > 0 ? d.kept("log earlier", () => h("div", { class: "actions" },
      h("button", { type: "button", "data-key": "earlier", onclick: () => d.earlier(50) }, from > 50 ? `50 earlier of ${from}` : `${from} earlier`),
      from > 50 ? h("button", { type: "button", "data-key": "first", onclick: () => d.earlier(500) }, from > 500 ? "500 earlier" : "All") : null)) : null,
    d.list("log", rounds.map((r) => round(d, r))));
}

// round is one round: its head says in a line what happened.
function round(d, r) {
  const name = "round " + r.n;
  return d.kept(name, () => h("li", { class: r.role }, d.fold(name, head(r, d.now), () => content(d, r.n), { kind: "round" })), r, d.told[name]);
}

function head(r, now) {
  return h("span", { class: "rd" }, h("span", { class: "k" }, String(r.n + 1)), saying(r), h("span", { class: "at", title: r.host ? "written by the host" : "" }, r.at ? moment(r.at, now) : ""));
}

// saying is what was said in a round, and below it what was done.
function saying(r) {
  const calls = (r.calls || []).map((c) => `${c.tool} ${(c.input || "").slice(0, 80)}`.trim());
  if (r.more) calls.push(`${r.more} more`);
  const text = r.text || (calls.length ? "" : "(no text)");
  return h("span", { class: "tx" }, text ? h("bdi", { class: "one" }, text) : "", r.failed ? h("span", { class: "removed" }, `${plural(r.failed, "failed call")} `) : null, calls.length ? h("bdi", { class: "did" }, calls.join(" · ")) : "");
}

// now are the last messages of a frame in which an agent is at work: two, or more where there is room.
export function now(d) {
  const told = known(d, "log");
  const rounds = told ? told.rounds.filter((r) => r.role === "assistant").slice(d.box.clientWidth < 480 ? -2 : -10) : [];
  const agent = d.agent();
  if (!rounds.length && !(agent && agent.text)) return null;
  return d.group("now", d.kept("now title", () => h("h3", {}, "Now")),
    rounds.length ? d.list("now", rounds.map((r) => d.kept("now " + r.n, () => h("li", {}, h("span", { class: "rd" }, h("span", { class: "k" }), saying(r), r.at ? when(r.at, d.now) : "")), r)))
      : d.kept("last words", () => h("p", { class: "text" }, agent.text), agent.text));
}

// content is what was said and done in a round, as far as it was told.
function content(d, n) {
  const name = "round " + n;
  if (wrong(d, name)) return wrong(d, name);
  const told = known(d, name);
  if (!told) return h("p", { class: "note" }, "…");
  const outputs = new Map(); // of calls, by their ids
  told.messages.forEach((m, i) => m.parts.forEach((p, j) => { if (p.type === "tool_result" && p.callID) outputs.set(p.callID, { p, i, j }); }));
  const shown = new Set();
  const part = (p, i, j) => {
    const text = (of, at = [i, j]) => whole(d, n, of, at);
    if (p.type === "text") return text(p);
    if (p.type === "reasoning") return p.text ? d.fold(`thinking ${n} ${i} ${j}`, "thinking", () => text(p)) : null;
    if (p.type === "tool_call") {
      const out = outputs.get(p.callID);
      if (out) shown.add(out.p);
      return d.fold(`call ${n} ${i} ${j}`, [h("code", {}, p.tool), " ", brief(p.input), outcome(out)], () => h("div", {},
        text({ ...p, text: pretty(p.input) }), out ? text(out.p, [out.i, out.j]) : h("p", { class: "note" }, "There is no output.")), { kind: "call" });
    }
    if (p.type === "tool_result" && !shown.has(p)) return d.fold(`call ${n} ${i} ${j}`, ["output", outcome({ p })], () => text(p), { kind: "call" });
    return null;
  };
  return h("div", { class: "turn" }, ...told.messages.flatMap((m, i) => m.parts.map((p, j) => part(p, i, j))),
    told.more ? h("p", { class: "note" }, `and ${plural(told.more, "message")} more: the command flame log has them all`) : null);
}

function outcome(out) {
  if (!out) return "";
  if (out.p.failed) return h("span", { class: "removed" }, " failed: " + first(out.p.text));
  return h("span", { class: "note" }, " → " + (first(out.p.text) || "no output"));
}

function first(text) { return (text || "").trim().split("\n")[0].slice(0, 100); }

// whole is a part of a message, and a button for the rest of a long one.
function whole(d, n, p, [i, j]) {
  const isProse = p.type === "text" || p.type === "reasoning";
  const text = isProse ? h("p", { class: "text", dir: "auto" }, linked(p.text || "")) : h("pre", { dir: "auto", tabindex: 0 }, p.text || "");
  if (!p.length) return text;
  const key = `part ${n} ${i} ${j}`;
  const size = amount(p.length);
  return h("div", {}, text, d.asked[key]
    ? h("p", { class: "note" }, known(d, key) ? `This is the begin of ${size} characters.` : "…", wrong(d, key))
    : h("button", { type: "button", "data-key": key, onclick: () => d.part(n, i, j) }, `Show all ${size} characters`));
}

function brief(input) {
  if (!input || typeof input !== "object") return "";
  const found = Object.values(input).find((v) => typeof v === "string");
  return found ? found.split("\n")[0].slice(0, 80) : "";
}

// pretty writes the input of a call: a text alone as it is.
function pretty(input) {
  const values = input && typeof input === "object" ? Object.values(input) : [input];
  return values.length === 1 && typeof values[0] === "string" ? values[0] : JSON.stringify(input, null, 2);
}

// history returns the events of the frame, asked for once it is opened.
export function history(d) {
  if (d.on.isReport) return null;
  const content = () => {
    if (wrong(d, "history")) return wrong(d, "history");
    const told = known(d, "history");
    if (!told) return h("p", { class: "note" }, "…");
    return h("div", {}, told.all ? null : h("p", { class: "note" }, `The last ${told.events.length} events; the command flame events has all.`),
      told.events.length ? h("ol", { class: "events" }, told.events.map((e) => h("li", {}, h("time", { title: `event ${e.seq}` }, moment(e.at, d.now)), " ", h("bdi", {}, e.text), e.agent ? h("small", {}, " " + e.agent) : null)))
        : h("p", { class: "note" }, "Nothing is known of it: old events are deleted."));
  };
  return d.kept("history", () => d.fold("history", "History", content), d.told.history, d.isOpen("history"));
}
