// Everything about the selected frame: what is asked about it, and what of it is drawn anew.

import { h, freshen } from "./words.js";
import { partsOf } from "./parts.js";

const rest = 1000; // ms from one round of questions to the next, at least
const share = 20; // times as long as an answer took, its question rests: a log may be long
const mostRounds = 500; // of a log that are shown while it grows

// Details draw into an element. They ask the server for what rows do not have.
export class Details {
  constructor(box, on) {
    Object.assign(this, { box, on });
    this.leave();
    setInterval(() => { if (this.of && !document.hidden) freshen(this.box, this.model.now()); }, 5000);
  }

  // leave forgets the frame that was shown, and all that was asked about it.
  leave() {
    this.of = null;
    if (this.gone) this.gone.abort();
    this.gone = new AbortController(); // what is asked about a frame that is shown no more is not waited for
    clearTimeout(this.later);
    this.rests = {}; // by question: until when it is not asked again
    this.wants = {}; // by list: how many of it are shown
    this.told = {}; // by question: {value}, or the {trouble} with it
    this.asked = {}; // by question: what it was asked about
    this.round = null; // the questions that are asked now
    this.opened = new Set(); // folds, and "closed" ones that are open at first
    this.finding = ""; // what is searched for in the log
    this.elements = new Map(); // by name: what is shown, and what it is made of
  }

  // show shows the selected frame, and asks about what changed of it.
  show(model, view) {
    Object.assign(this, { model, view, now: model.now() });
    const f = model.frames.get(view.sel);
    if (!f) {
      this.leave();
      arrange(this.box, []);
      return;
    }
    if (!this.of || this.of.id !== f.id) {
      this.leave();
      this.box.scrollTop = 0;
    }
    this.of = f;
    this.box.setAttribute("data-frame", f.id);
    this.draw();
    this.ask();
  }

  // agent returns the agent of the frame, if it has one.
  agent() { return this.model.agents.get(this.of.agentID); }

  // questions returns what to ask, and what of the project each answer depends on.
  questions() {
    const f = this.of;
    const id = f.id;
    const agent = this.agent();
    const row = [this.model.reads, f.updated, f.status, JSON.stringify(f.self)].join();
    const work = row + JSON.stringify(agent || "");
    if (this.on.isReport) return [{ name: "frame", query: { id }, about: id }];
    return [
      { name: "frame", query: { id }, about: row },
      { name: "files", query: { id }, about: work },
      f.from && !f.machine && { name: "log", query: { id, ...this.piece() }, about: work },
      this.finding && { name: "found", path: "log", query: { id, q: this.finding, count: mostRounds }, about: work + this.finding },
      agent && !agent.native && { name: "agent", query: { id: agent.id }, about: work },
      this.isOpen("context") && { name: "context", query: { id }, about: this.model.version },
      this.isOpen("history") && { name: "history", query: { id }, about: work },
      ...this.rounds().map(({ n, about }) => ({ name: "round " + n, path: "round", query: { id, round: n }, about })),
    ].filter(Boolean);
  }

  // rounds returns the rounds of the log that are open, and what of each is known: the last
  // one may grow.
  rounds() {
    const known = ["log", "found"].flatMap((name) => (this.told[name] && this.told[name].value && this.told[name].value.rounds) || []);
    const open = [...this.opened].map((key) => /^round (\d+)$/.exec(key)).filter(Boolean).map((found) => Number(found[1]));
    return open.map((n) => [n, known.find((r) => r.n === n)]).filter(([, r]) => r).map(([n, r]) => ({ n, about: JSON.stringify(r) }));
  }

  // piece returns which rounds of the log to ask for: the last ones at first, then the last
  // one that is known, which may have grown, and those after it.
  piece() {
    const log = this.told.log && this.told.log.value;
    return log ? { from: Math.max(log.from + log.rounds.length - 1, 0), count: mostRounds } : {};
  }

  // ask asks what is not known yet, in one round of questions at a time: what changes
  // often is asked about as often as there are answers.
  async ask() {
    if (this.round || !this.of) return;
    const due = this.questions().filter((q) => this.asked[q.name] !== q.about);
    const now = performance.now();
    const ready = due.filter((q) => !(this.rests[q.name] > now));
    if (!ready.length) {
      clearTimeout(this.later);
      if (due.length) this.later = setTimeout(() => this.ask(), Math.min(...due.map((q) => this.rests[q.name])) - now + 1);
      return;
    }
    const round = (this.round = {});
    await Promise.all([...ready.map((q) => this.put(q)), new Promise((resolve) => setTimeout(resolve, rest))]);
    if (round !== this.round) return;
    this.round = null;
    this.ask();
  }

  // put asks one question, and shows the answer if it is still about what is shown.
  async put({ name, path = name, query, about }) {
    const { told } = this;
    const begun = performance.now();
    this.asked[name] = about;
    let answer;
    try {
      answer = { value: await this.on.ask(path, query, this.gone.signal) };
    } catch (trouble) {
      answer = { trouble };
    }
    if (told !== this.told || (name === "found" && query.q !== this.finding)) return;
    const now = performance.now();
    this.rests[name] = now + share * (now - begun);
    if (name === "log" && answer.value) answer.value = joined(told.log && told.log.value, answer.value);
    told[name] = answer;
    this.draw();
  }

  // earlier asks for so many rounds before those that are shown.
  earlier(count) {
    const { from } = this.told.log.value;
    const first = Math.max(from - count, 0);
    this.put({ name: "log", query: { id: this.of.id, from: first, count: from - first }, about: this.asked.log });
  }

  // part asks for the whole of a long part of a message.
  async part(n, message, part) {
    const { told } = this;
    const name = "round " + n;
    const key = `part ${n} ${message} ${part}`;
    const redrawn = () => { told[name] = { ...told[name] }; this.draw(); };
    const asking = this.put({ name: key, path: "part", query: { id: this.of.id, round: n, message, part }, about: true });
    redrawn();
    await asking;
    if (told !== this.told) return;
    const whole = told[key].value;
    if (whole) told[name] = { value: withPart(told[name].value, message, part, whole) };
    redrawn();
  }

  // find searches in the log; what was found before is not shown any more.
  find(text) {
    this.finding = text.trim();
    delete this.told.found;
    this.draw();
    clearTimeout(this.typing);
    this.typing = setTimeout(() => { this.round = null; this.rests.found = 0; this.ask(); }, 200);
  }

  unfind(event) {
    if (event.key !== "Escape" || !this.finding) return;
    event.stopPropagation();
    event.target.value = "";
    this.find("");
  }

  // want shows more of a list.
  want(name, count) {
    this.wants[name] = count;
    this.draw();
  }

  // draw draws what is different. The focus stays where it was, or on what is there now.
  draw() {
    const held = this.box.contains(document.activeElement) ? document.activeElement : null;
    const top = this.box.scrollTop;
    freshen(this.box, this.now); // so that what is made anew is the same
    arrange(this.box, partsOf(this).filter(Boolean));
    this.box.scrollTop = top;
    if (held && !this.box.contains(held)) this.focus(held.getAttribute("data-key"));
  }

  // focus puts the focus on what has a key; where that is gone, on the details.
  focus(key) {
    const keyed = [...this.box.querySelectorAll("[data-key]")].find((el) => el.getAttribute("data-key") === key);
    (keyed || this.box).focus({ preventScroll: true });
  }

  // kept returns an element that is made of some values. It is the one that is shown if
  // that says the same, so that what a reader selected or opened in it stays.
  kept(name, make, ...of) {
    const old = this.elements.get(name);
    if (old && of.length && of.every((value, i) => value === old.of[i])) return old.el;
    const made = make();
    const el = old && old.el.isEqualNode(made) ? old.el : made;
    this.elements.set(name, { el, of });
    return el;
  }

  // group returns a section that holds elements, and list a list.
  group(name, ...elements) { return arrange(this.kept("group " + name, () => h("section", { class: "g-" + name.replace(" ", "-") }), name), elements.flat().filter(Boolean)); }

  list(kind, elements) { return arrange(this.kept("list " + kind, () => h("ol", { class: kind }), kind), elements); }

  // fold is a part that is opened on demand; its content is made then.
  fold(key, title, content, { opened = false, kind } = {}) {
    const el = h("details", { open: this.isOpen(key, opened), class: kind }, h("summary", { "data-key": "fold " + key }, title));
    if (el.open) el.append(content());
    el.addEventListener("toggle", () => {
      if (el.open === this.isOpen(key, opened)) return;
      this.opened.delete((el.open ? "closed " : "") + key);
      this.opened.add((el.open ? "" : "closed ") + key);
      if (!el.open) return el.lastChild.remove();
      el.append(content());
      this.round = null; // what it shows is asked for at once
      this.ask();
    });
    return el;
  }

  isOpen(key, opened = false) { return this.opened.has(key) || (opened && !this.opened.has("closed " + key)); }
}

// arrange has an element hold others, and does not touch those that it holds already.
function arrange(box, elements) {
  const wanted = new Set(elements);
  for (const el of [...box.childNodes]) if (!wanted.has(el)) el.remove();
  let next = box.firstChild;
  for (const el of elements) {
    if (el === next) next = next.nextSibling;
    else box.insertBefore(el, next);
  }
  return box;
}

// joined returns a log with a piece of it that came: before what is known, or from its last
// round on. Rounds that are the same stay what they were.
function joined(log, piece) {
  if (!log || piece.total < log.from + log.rounds.length - 1) return piece;
  if (piece.from < log.from) return { ...piece, rounds: [...piece.rounds.slice(0, log.from - piece.from), ...log.rounds] };
  const rounds = [...log.rounds];
  piece.rounds.forEach((r, i) => {
    const at = piece.from - log.from + i;
    if (at <= rounds.length && JSON.stringify(rounds[at]) !== JSON.stringify(r)) rounds[at] = r;
  });
  const over = piece.rounds.length > 1 ? Math.max(rounds.length - 4 * mostRounds, 0) : 0; // a page may be open for days
  return { ...piece, from: log.from + over, rounds: rounds.slice(over) };
}

// withPart returns a round in which a part of a message is whole.
function withPart(round, message, part, whole) {
  const messages = round.messages.map((m, i) => (i !== message ? m : { ...m, parts: m.parts.map((p, j) => (j !== part ? p : whole)) }));
  return { ...round, messages };
}
