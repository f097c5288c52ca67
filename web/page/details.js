// Everything about the selected frame: what is asked about it, and what of it is drawn anew.

import { h } from "./words.js";
import { partsOf } from "./parts.js";

const rest = 1000; // ms from one round of questions to the next, at least

// Details draw into an element. They ask the server for what rows do not have.
export class Details {
  constructor(box, on) {
    Object.assign(this, { box, on });
    this.leave();
  }

  // leave forgets the frame that was shown, and all that was asked about it.
  leave() {
    this.of = null;
    this.told = {}; // by question: {value}, or the {trouble} with it
    this.asked = {}; // by question: what it was asked about
    this.round = null; // the questions that are asked now
    this.opened = new Set(); // folds, and "closed" ones that are open at first
    this.elements = new Map(); // by name: what is shown, and what it is made of
  }

  // show shows the selected frame, and asks about what changed of it.
  show(model, view) {
    Object.assign(this, { model, now: model.now() });
    const f = model.frames.get(view.sel);
    if (!f) {
      this.leave();
      const text = model.frames.size ? "Select a frame to see all about it. ? shows the keys." : "";
      arrange(this.box, [this.kept("note", () => h("p", { class: "note" }, text))]);
      return;
    }
    if (!this.of || this.of.id !== f.id) {
      this.leave();
      this.box.scrollTop = 0;
    }
    this.of = f;
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
      agent && !agent.native && { name: "agent", query: { id: agent.id }, about: work },
      this.isOpen("context") && { name: "context", query: { id }, about: this.model.version },
    ].filter(Boolean);
  }

  // piece returns which messages of the log to ask for: the last one that is shown, which
  // may have grown, and those after it if all are wanted.
  piece() {
    const { messages, total } = (this.told.log && this.told.log.value) || { messages: [], total: 0 };
    const from = Math.max(messages.length - 1, 0);
    const follows = this.opened.has("whole log") && messages.length >= total;
    return { from, count: follows ? 500 : Math.max(2 - from, 1) };
  }

  // ask asks what is not known yet, in one round of questions at a time: what changes
  // often is asked about as often as there are answers.
  async ask() {
    if (this.round || !this.of) return;
    const due = this.questions().filter((q) => this.asked[q.name] !== q.about);
    if (!due.length) return;
    const round = (this.round = {});
    await Promise.all([...due.map((q) => this.put(q)), new Promise((resolve) => setTimeout(resolve, rest))]);
    if (round !== this.round) return;
    this.round = null;
    this.ask();
  }

  // put asks one question, and shows the answer if it is still about what is shown.
  async put({ name, query, about }) {
    const { told } = this;
    this.asked[name] = about;
    let answer;
    try {
      answer = { value: await this.on.ask(name, query) };
    } catch (trouble) {
      answer = { trouble };
    }
    if (told !== this.told) return;
    if (name === "log" && answer.value) answer.value = joined(told.log && told.log.value, answer.value);
    told[name] = answer;
    this.draw();
  }

  // more asks for more of the log.
  more(count) {
    const log = this.told.log.value;
    if (log.total - log.messages.length <= count) this.opened.add("whole log");
    this.put({ name: "log", query: { id: this.of.id, from: log.messages.length, count }, about: this.asked.log });
  }

  // draw draws what is different. The focus stays where it was, or on what is there now.
  draw() {
    const held = this.box.contains(document.activeElement) ? document.activeElement : null;
    const top = this.box.scrollTop;
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
  group(name, ...elements) { return arrange(this.kept("group " + name, () => h("section"), name), elements.flat().filter(Boolean)); }

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

// joined returns a log with a piece of it that came. Messages that are the same stay what
// they were.
function joined(log, piece) {
  const messages = (log ? log.messages : []).slice(0, piece.total);
  piece.messages.forEach((m, i) => {
    const at = piece.from + i;
    if (at <= messages.length && JSON.stringify(messages[at]) !== JSON.stringify(m)) messages[at] = m;
  });
  return { ...piece, messages };
}
