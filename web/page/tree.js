// The frames as text: a tree that only has the lines that can be seen. It is the
// accessible form of the picture, and selects the same frame.

import { h, duration, tookOf, amount, cost, tokensOf, hueOf, whoOf, statusNames, morph } from "./words.js";
import { icon } from "./icons.js";

const lineHeight = 28;
const printed = 2000; // lines on paper at most

// A Tree draws into an element.
export class Tree {
  constructor(box, on) {
    this.on = on;
    this.folded = new Set();
    this.lines = [];
    this.box = h("div", {
      id: "tree", class: "scroll", role: "tree", tabindex: 0, "aria-label": "Frames", onscroll: () => this.paint(),
      onkeydown: (e) => this.key(e), onclick: (e) => this.click(e), ondblclick: (e) => this.doubled(e),
    });
    this.space = h("div", { class: "space", role: "presentation" });
    this.box.append(this.space);
    this.note = h("p", { class: "note", hidden: true });
    box.append(this.columns(), this.note, this.box);
    this.typed = { text: "", at: 0 };
    this.wanted = ""; // the frame that the next lines show
  }

  columns() {
    return h("div", { class: "line columns", "aria-hidden": "true" },
      h("span", { class: "goal" }, "frame"), h("span", { class: "who" }, "who"), h("span", {}, "time"), h("span", {}, "cost"), h("span", { class: "tokens" }, "tokens"));
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
    const under = view.under && model.frames.get(view.under);
    const roots = under ? [under] : model.roots.filter((f) => view.archived || !f.archived).reverse();
    this.lines = [];
    const stack = roots.map((f, i) => ({ f, depth: 0, of: roots.length, at: i + 1 })).reverse();
    while (stack.length) {
      const line = stack.pop();
      if (wanted && !wanted.has(line.f)) continue;
      this.lines.push(line);
      if (this.folded.has(line.f.id)) continue;
      const children = line.f.children;
      for (let i = children.length - 1; i >= 0; i--) stack.push({ f: children[i], depth: line.depth + 1, of: children.length, at: i + 1 });
    }
    this.note.hidden = this.lines.length > 0 || !model.read;
    this.note.textContent = matches ? "No frame matches. Esc clears the search and the filters." : "No frames yet.";
    if (this.wanted && model.read) {
      this.scrollTo(this.wanted);
      this.wanted = "";
    }
    this.paint();
  }

  // paint draws the lines that can be seen.
  paint() {
    const first = this.whole ? 0 : Math.max(0, Math.floor(this.box.scrollTop / lineHeight) - 5);
    const last = Math.min(this.lines.length, this.whole ? printed : first + Math.ceil(this.box.clientHeight / lineHeight) + 10);
    this.space.style.height = this.lines.length * lineHeight + "px";
    const chosen = this.lines.findIndex((l) => l.f.id === this.view.sel);
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
    const { f, depth, of, at } = this.lines[i];
    const time = f.from ? duration(tookOf(f, this.model.now())) : "";
    const who = whoOf(f);
    const opens = f.children.length > 0;
    const folded = this.folded.has(f.id);
    const total = `${cost(f.total)}|${amount(tokensOf(f.total))}`;
    const key = [i, f.id, depth, of, at, f.goal, f.status, who, time, total, opens, folded, chosen, f.archived].join("\u0001");
    if (old && old.key === key) return old;
    const el = h("div", {
      class: `line s-${f.status}${chosen ? " chosen" : ""}${f.archived ? " archived" : ""}`, role: "treeitem", id: "line-" + f.id, "data-id": f.id,
      "aria-level": depth + 1, "aria-setsize": of, "aria-posinset": at, "aria-selected": chosen ? "true" : "false",
      "aria-expanded": opens ? String(!folded) : undefined,
    },
      h("span", { class: "goal" },
        h("span", { class: "fold", "aria-hidden": "true" }, opens ? (folded ? "▸" : "▾") : ""), h("span", { class: `glyph s-${f.status}`, "aria-hidden": "true" }, icon(f.status)),
        " ", h("bdi", {}, f.goal || f.id), h("span", { class: "aloud" }, `, ${statusNames[f.status]}, `)),
      h("span", { class: "who" }, who ? h("i", { class: `dot h${hueOf(who)}` }) : "", who),
      h("span", {}, time),
      h("span", { title: `self ${cost(f.self)}` }, h("span", { class: "aloud" }, ", "), cost(f.total)),
      h("span", { class: "tokens", title: `self ${amount(tokensOf(f.self))}` }, amount(tokensOf(f.total)), h("span", { class: "aloud" }, " tokens")));
    el.style.top = i * lineHeight + "px";
    el.firstChild.style.paddingInlineStart = Math.min(depth, 24) * 14 + "px";
    el.key = key;
    return el;
  }

  // reveal has the next lines show a frame: unfolded, and scrolled to.
  reveal(id) {
    this.wanted = id;
    const f = this.model && this.model.frames.get(id);
    if (f) this.model.above(f).forEach((up) => this.folded.delete(up.id));
  }

  scrollTo(id) {
    const i = this.lines.findIndex((l) => l.f.id === id);
    if (i < 0) return;
    const top = i * lineHeight;
    this.space.style.height = this.lines.length * lineHeight + "px";
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + lineHeight > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + lineHeight - this.box.clientHeight;
  }

  click(event) {
    const el = event.target.closest("[data-id]");
    if (!el) return;
    const id = el.getAttribute("data-id");
    if (event.target.classList.contains("fold")) this.toggle(id);
    this.on.select(id);
  }

  doubled(event) {
    const el = event.target.closest("[data-id]");
    if (el && !event.target.classList.contains("fold")) this.on.zoom(el.getAttribute("data-id"));
  }

  toggle(id, fold = !this.folded.has(id)) {
    if (fold) this.folded.add(id);
    else this.folded.delete(id);
    this.on.changed();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const i = this.lines.findIndex((l) => l.f.id === this.view.sel);
    const line = this.lines[i];
    const page = Math.max(1, Math.floor(this.box.clientHeight / lineHeight) - 1);
    const go = (to) => {
      const next = this.lines[Math.max(0, Math.min(this.lines.length - 1, to))];
      if (next) this.on.select(next.f.id);
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
        else if (line.depth) this.on.select(line.f.parent);
      },
      Enter: () => { if (line) this.on.open(line.f.id); },
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
        this.on.select(line.f.id);
        return true;
      }
    }
    return true;
  }
}
