// The frames as text: a tree that only has the lines that can be seen. It is the
// accessible form of the picture, and selects the same frame.

import { h, minutes, tookOf, cost, listed, amount, tokensOf, morph, whoOf } from "./words.js";
import { icon, sign, signOf, mark } from "./icons.js";

const lineHeight = 28;
const narrow = matchMedia("(max-width: 720px)"); // where goals take two lines
const printed = 2000; // lines on paper at most

const pen = document.createElement("canvas").getContext("2d");

// widthOf returns how wide a goal is in one line of a phone.
function widthOf(f) {
  if (f.measured !== f.goal) Object.assign(f, { measured: f.goal, width: pen.measureText(f.goal).width });
  return f.width;
}

const open = "status:in_progress,planned,blocked"; // the filter of what is not finished

// Which turns are gathered, as in flame tree: not the last ones below a root, and not one or two alone.
const lastTurns = 5;
const fewTurns = 3;

// A Tree draws into an element.
export class Tree {
  constructor(box, on) {
    this.on = on;
    this.folded = new Set();
    this.gathers = new Map(); // the lines that stand for several turns, by id
    this.gather = ""; // the one where the keys are; empty: they are at the selected frame
    this.lines = [];
    this.box = h("div", {
      id: "tree", class: "scroll", role: "tree", tabindex: 0, "aria-label": "Frames", onscroll: () => this.paint(),
      onkeydown: (e) => this.key(e), onclick: (e) => this.click(e), ondblclick: (e) => this.doubled(e),
    });
    this.space = h("div", { class: "space", role: "presentation" });
    this.box.append(this.space);
    this.note = h("p", { class: "note", hidden: true });
    this.kinds = ["All", "Open"].map((name) => h("button", { type: "button", onclick: () => on.filter(name === "Open" ? open : "") }));
    box.append(h("div", { class: "seg kinds", role: "group", "aria-label": "Frames in the list" }, this.kinds), this.note, this.box);
    this.typed = { text: "", at: 0 };
    this.wanted = ""; // the frame that the next lines show
  }

  // show lists what is wanted of the model, with the frames above it.
  show(model, view, matches) {
    Object.assign(this, { model, view });
    let wanted = null;
    if (matches) {
      wanted = new Set();
      for (const f of model.frames.values()) {
        if (!matches(f)) continue;
        // Above a frame that is wanted, all are already.
        for (let up = f; up && !wanted.has(up); up = model.frames.get(up.parent)) wanted.add(up);
      }
    }
    const roots = model.roots.filter((f) => view.archived || !f.archived).reverse();
    this.lines = [];
    const stack = roots.map((f, i) => ({ f, depth: 0, of: roots.length, at: i + 1 })).reverse();
    while (stack.length) {
      const line = stack.pop();
      if (wanted && !wanted.has(line.f)) continue;
      this.lines.push(line);
      if (this.folded.has(line.f.id)) continue;
      const children = wanted || line.f.turns ? line.f.children : this.gathered(line.f.children);
      for (let i = children.length - 1; i >= 0; i--) stack.push({ f: children[i], up: line.f, depth: line.depth + 1, of: children.length, at: i + 1 });
    }
    // Where goals take two lines, lines are of two heights.
    if (narrow.matches) pen.font = "15px " + getComputedStyle(this.box).fontFamily;
    const room = this.box.clientWidth - 116;
    let top = 0;
    for (const line of this.lines) {
      line.top = top;
      const left = room - 12 * Math.min(line.depth, 24) - (model.isLive(line.f) ? 62 : 0);
      line.tall = !narrow.matches ? lineHeight : widthOf(line.f) > left ? 65 : 44;
      top += line.tall;
    }
    this.tall = top;
    if (this.counted !== model.version) Object.assign(this, { counted: model.version, all: model.frames.size, open: [...model.frames.values()].filter((f) => !f.until && f.status !== "invalidated").length });
    this.kinds.forEach((button, i) => {
      const count = i ? this.open : this.all;
      if (button.textContent !== `${i ? "Open" : "All"} ${count}`) button.replaceChildren(i ? "Open " : "All ", h("span", { class: "n" }, String(count)));
      button.setAttribute("aria-pressed", String((view.q || "") === (i ? open : "")));
    });
    this.note.hidden = this.lines.length > 0 || !model.read;
    this.note.textContent = matches ? "No frame matches. Esc clears the search." : "No frames yet.";
    if (this.wanted && model.read) {
      this.scrollTo(this.wanted);
      this.wanted = "";
    }
    this.paint();
  }

  // gathered returns frames with one in the place of several turns that left nothing behind, folded at first.
  gathered(frames) {
    if (!frames.some((f) => f.short)) return frames;
    const late = new Set(frames.filter((f) => f.turn).slice(-lastTurns));
    const all = [];
    for (let i = 0, end = 0; i < frames.length; i = end) {
      while (end < frames.length && frames[end].short && !frames[end].children.length && !late.has(frames[end])) end++;
      const turns = frames.slice(i, end);
      if (turns.length < fewTurns) all.push(...frames.slice(i, (end = Math.max(end, i + 1))));
      else all.push(this.turns("turns-" + turns[0].id, turns));
    }
    return all;
  }

  turns(id, turns) {
    if (!this.gathers.has(id)) this.folded.add(id);
    if (turns.some((f) => f.id === this.wanted)) this.folded.delete(id);
    const f = { id, turns, goal: `${turns.length} short turns`, status: "completed", children: turns, total: this.model.total(turns) };
    this.gathers.set(id, f);
    return f;
  }

  // paint draws the lines that can be seen.
  paint() {
    const first = this.whole ? 0 : Math.max(0, this.lineAt(this.box.scrollTop) - 5);
    const last = Math.min(this.lines.length, this.whole ? printed : this.lineAt(this.box.scrollTop + this.box.clientHeight) + 6);
    this.space.style.height = this.tall + "px";
    const chosen = this.chosen();
    const shown = [];
    for (let i = first; i < last; i++) shown.push(this.line(i, i === chosen, this.space.children[i - first]));
    const present = this.space.children;
    for (let i = 0; i < shown.length; i++) {
      if (!present[i]) this.space.append(shown[i]);
      else if (present[i].key !== shown[i].key && present[i].id !== shown[i].id) present[i].replaceWith(shown[i]);
      else if (present[i].key !== shown[i].key) {
        morph(present[i], shown[i]);
        present[i].key = shown[i].key;
      }
    }
    while (present.length > shown.length) present[present.length - 1].remove();
    if (chosen >= first && chosen < last) this.box.setAttribute("aria-activedescendant", "line-" + this.lines[chosen].f.id);
    else this.box.removeAttribute("aria-activedescendant");
  }

  // chosen returns the number of the line where the keys are.
  chosen() { return this.lines.findIndex((l) => l.f.id === (this.gather || this.view.sel)); }

  // lineAt returns the number of the line at a height.
  lineAt(y) {
    let low = 0;
    let high = Math.max(this.lines.length - 1, 0);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.lines[middle].top <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  // print has all lines drawn for paper, or only those that can be seen again.
  print(whole) {
    if (!this.view) return;
    this.whole = whole;
    this.paint();
    if (whole && this.lines.length > printed) {
      this.note.textContent = `The first ${printed} of ${this.lines.length} frames. A filter, or flame report FRAME, prints others.`;
      this.note.hidden = false;
    }
  }

  line(i, chosen, old) {
    const { f, depth, of, at, top, tall } = this.lines[i];
    const { model } = this;
    const name = signOf(f, model);
    const opens = f.children.length > 0;
    const folded = this.folded.has(f.id);
    const took = name === "live" && f.from ? minutes(tookOf(f, model.now())) : "";
    const spent = listed(f.total);
    const torn = model.conflicted.has(f.id);
    const key = [top, tall, f.id, depth, of, at, f.goal, name, f.host, f.agent, took, spent, opens, folded, chosen, f.archived, torn].join("\u0001");
    if (old && old.key === key) return old;
    const own = tokensOf(f.total) ? [`${cost(f.total)}, ${cost(f.self)} own`, `${amount(tokensOf(f.total))} tokens`, whoOf(f, model.titles)].filter(Boolean).join(" · ") : whoOf(f, model.titles);
    const guides = h("span", { class: "guides" });
    guides.style.width = `calc(${Math.min(depth, 24)} * var(--step))`;
    const el = h("div", {
      class: `line s-${name}${chosen ? " chosen" : ""}${f.archived ? " archived" : ""}${tall > 50 ? " two" : ""}`, role: "treeitem", id: "line-" + f.id, "data-id": f.id,
      "aria-level": depth + 1, "aria-setsize": of, "aria-posinset": at, "aria-selected": chosen ? "true" : "false", title: own,
      "aria-expanded": opens ? String(!folded) : undefined,
    },
      guides, h("span", { class: "fold", "aria-hidden": "true" }, opens ? icon(folded ? "closed" : "open") : ""), sign(name), h("bdi", { class: "goal" }, f.goal || f.id),
      torn ? h("span", { class: "torn", title: "agents disagree" }, icon("conflict"), h("span", { class: "aloud" }, ", agents disagree")) : "",
      took ? h("span", { class: "took" }, h("span", { class: "aloud" }, ", for "), took) : "", mark(f.host, model.titles), h("span", { class: "cost" }, spent));
    el.style.top = top + "px";
    el.style.height = tall + "px";
    el.key = key;
    return el;
  }

  // reveal has the next lines show a frame: unfolded, and scrolled to.
  reveal(id) {
    this.wanted = id;
    this.gather = "";
    const f = this.model && this.model.frames.get(id);
    if (f) this.model.above(f).forEach((up) => this.folded.delete(up.id));
  }

  scrollTo(id) {
    const i = this.lines.findIndex((l) => l.f.id === id);
    if (i < 0) return;
    const { top, tall } = this.lines[i];
    this.space.style.height = this.tall + "px";
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + tall > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + tall - this.box.clientHeight;
  }

  click(event) {
    const el = event.target.closest("[data-id]");
    if (!el) return;
    const id = el.getAttribute("data-id");
    if (event.target.closest(".fold") && el.hasAttribute("aria-expanded") || this.gathers.has(id)) this.toggle(id);
    else this.choose(id);
  }

  doubled(event) {
    const el = event.target.closest("[data-id]");
    const id = el && el.getAttribute("data-id");
    if (id && !event.target.closest(".fold") && !this.gathers.has(id)) this.on.zoom(id);
  }

  // choose moves the keys to a line, and selects its frame if it has one.
  choose(id) {
    this.gather = this.gathers.has(id) ? id : "";
    if (!this.gather) return this.on.select(id);
    this.scrollTo(id);
    this.paint();
  }

  toggle(id, fold = !this.folded.has(id)) {
    if (fold) this.folded.add(id);
    else this.folded.delete(id);
    this.on.changed();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const i = this.chosen();
    const line = this.lines[i];
    const page = Math.max(1, Math.floor(this.box.clientHeight / lineHeight) - 1);
    const go = (to) => {
      const next = this.lines[Math.max(0, Math.min(this.lines.length - 1, to))];
      if (next) this.choose(next.f.id);
    };
    const keys = {
      ArrowDown: () => go(i + 1),
      ArrowUp: () => go(Math.max(i, 1) - 1),
      PageDown: () => go(i + page),
      PageUp: () => go(Math.max(i - page, 0)),
      Home: () => go(0),
      End: () => go(this.lines.length - 1),
      ArrowRight: () => { if (line && line.f.children.length) this.folded.has(line.f.id) ? this.toggle(line.f.id, false) : go(i + 1); },
      ArrowLeft: () => {
        if (!line) return;
        if (line.f.children.length && !this.folded.has(line.f.id)) this.toggle(line.f.id, true);
        else if (line.up) this.choose(line.up.id);
      },
      Enter: () => { if (line) line.f.turns ? this.toggle(line.f.id) : this.on.open(line.f.id); },
    };
    if (keys[event.key]) {
      this.typed.at = -Infinity;
      keys[event.key]();
    } else if (event.key.length !== 1 || !/\p{L}|\p{N}/u.test(event.key) || !this.typeAhead(event.key, i)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  // typeAhead goes to the next frame whose goal begins with what is typed. One letter by
  // itself may be a key of the page: it is typed after another, or in capitals.
  typeAhead(letter, i) {
    const now = performance.now();
    const goes = now - this.typed.at < 800;
    if (!goes && letter === letter.toLowerCase() && this.on.isKey(letter)) return false;
    this.typed = { text: (goes ? this.typed.text : "") + letter.toLowerCase(), at: now };
    for (let n = 0; n < this.lines.length; n++) {
      const line = this.lines[(Math.max(i, 0) + n + (this.typed.text.length === 1 ? 1 : 0)) % this.lines.length];
      if (line.f.goal.toLowerCase().startsWith(this.typed.text)) {
        this.choose(line.f.id);
        return true;
      }
    }
    return true;
  }
}
