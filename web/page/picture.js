// The picture: a flame graph of frames by what they cost, or by the time in which they were worked on.

import { h, duration, tookOf, amount, cost, money, moment, dayOf, isDay, tokensOf, costOf, whoOf } from "./words.js";
import { icon, mark, signOf, namesOf } from "./icons.js";
import { byAmount } from "./layout.js";
import { byTime } from "./axis.js";

const pitch = 24; // pixels from a row to the next
const most = 6; // rows that are seen at once
const apart = 2; // pixels between bars

// measures are what the width of a frame can be, the one that says most first.
const measures = [["What it cost", (f) => costOf(f.total), money], ["What it used, in tokens", (f) => tokensOf(f.total), amount]];

// A Picture draws into an element.
export class Picture {
  constructor(box, on) {
    this.on = on;
    this.way = h("nav", { class: "way", "aria-label": "What is shown" });
    this.by = ["cost", "time"].map((by) => h("button", { type: "button", title: by[0], onclick: () => on.change({ by }) }, by === "cost" ? "Cost" : "Time"));
    this.legend = h("div", { class: "legend", "aria-hidden": "true" });
    this.axis = h("div", { class: "axis", "aria-hidden": "true" });
    this.bars = h("div", { class: "bars", "aria-hidden": "true" });
    this.scroll = h("div", { class: "flame", tabindex: "0", role: "group", "aria-label": "Bars of the frames", onscroll: () => this.paint() }, this.bars);
    box.append(h("div", { class: "pbar" }, this.way, this.legend, h("div", { class: "seg", role: "group", "aria-label": "Width by" }, this.by)), this.axis, this.scroll);
    this.drawn = new Map(); // bars by their frame, and of those that are too small by their place
    const at = (e) => e.target.closest("[data-id], .crowd");
    this.bars.addEventListener("click", (e) => {
      const id = at(e) && at(e).getAttribute("data-id");
      const f = this.model.frames.get(id);
      if (!f) return;
      if (id === this.view.under) on.zoom(f.parent || "");
      else on.pick(id, f.children.length > 0);
    });
    this.bars.addEventListener("pointermove", (e) => { const el = at(e); on.hover(el && this.told(el), e); });
    this.bars.addEventListener("pointerleave", (e) => on.hover(null, e));
  }

  // told returns what is shown of a bar that is pointed at.
  told(el) {
    const f = this.model.frames.get(el.getAttribute("data-id"));
    if (!f) return [`${el.getAttribute("data-count")} frames, too narrow to show here`, "zoom into the frame above"];
    const facts = [costOf(f.total) ? cost(f.total) : "", tokensOf(f.total) ? amount(tokensOf(f.total)) + " tokens" : "", f.from ? duration(tookOf(f, this.model.now())) : "", whoOf(f, this.model.titles)];
    return [f.goal, [namesOf(signOf(f, this.model)), ...facts].filter(Boolean).join(" · ")];
  }

  // show draws a view of the model. Frames that do not match are faded.
  show(model, view, matches) {
    Object.assign(this, { model, view, matches });
    const under = model.frames.get(view.under);
    const above = under ? model.above(under).reverse() : [];
    const roots = under ? [under] : model.roots.filter((f) => view.archived || !f.archived);
    const width = Math.max(this.bars.clientWidth, 100);
    const measure = view.by === "cost" && measures.find(([, amountOf]) => roots.some((f) => amountOf(f) > 0));
    const laid = measure ? byAmount(roots, measure[1], width) : byTime(roots, model.now(), model.gaps, width);
    for (const p of laid.places) p.row += above.length;
    Object.assign(this, { width, measure, places: [...above.map((frame, row) => ({ frame, row, x: 0, wide: width })), ...laid.places] });
    const rows = laid.rows + above.length;
    this.scroll.hidden = !laid.places.length;
    this.scroll.style.height = Math.min(rows, most) * pitch - apart + "px";
    this.bars.style.height = rows * pitch - apart + "px";
    this.chosen = new Set();
    const sel = model.frames.get(view.sel);
    if (sel) for (const f of [sel, ...model.above(sel)]) this.chosen.add(f.id);
    this.drawWay(under, above);
    this.drawAxis(laid.marks || []);
    const kinds = new Set(this.places.filter((p) => p.wide >= 1).map((p) => signOf(p.frame, model)));
    const key = ["completed", "in_progress", "live"].filter((kind) => kinds.has(kind));
    if (this.legend.getAttribute("data-key") !== key.join()) {
      this.legend.setAttribute("data-key", key.join());
      this.legend.replaceChildren(...key.map((kind) => h("span", {}, h("b", { class: "b-" + kind }), kind === "live" ? "at work" : namesOf(kind).toLowerCase())));
    }
    for (const button of this.by) button.setAttribute("aria-pressed", String(button.title === (measure ? "c" : "t")));
    this.paint();
  }

  drawWay(under, above) {
    const steps = under ? [...above, under] : [];
    const caption = this.measure ? this.measure[0] : "When it was worked on";
    const key = caption + steps.map((f) => f.id + f.goal).join();
    if (this.shownWay === key) return;
    this.shownWay = key;
    if (!under) return this.way.replaceChildren(h("span", {}, caption));
    this.way.replaceChildren(h("button", { type: "button", onclick: () => this.on.zoom("") }, this.model.root.split("/").pop() || "all frames"),
      ...steps.flatMap((f) => [icon("closed"), h("button", { type: "button", "aria-current": f === under ? "true" : null, onclick: () => this.on.zoom(f.id) }, f.goal.slice(0, 100) || f.id)]));
  }

  drawAxis(marks) {
    this.axis.hidden = !marks.length;
    let told = 0;
    const taken = marks.filter((m) => m.until > 0).map((m) => ({ ...m, text: isDay(m.from, m.until) ? duration(m.until - m.from) : dayOf(m.until) })); // pauses come first
    for (const m of marks.filter((m) => !(m.until > 0))) taken.push({ ...m, text: moment(m.at, told && isDay(told, m.at) ? m.at : this.model.now()), at: (told = m.at) });
    const placed = [];
    for (const m of taken) {
      const x = Math.round(m.x);
      const until = x + m.text.length * 6.6 + 10;
      if (until <= this.width && !placed.some((p) => x < p.until && p.x < until)) placed.push({ x, until, m, text: m.text });
      else if (m.until > 0) placed.push({ x, until: x + 1, m, text: "" });
    }
    const shown = placed.map(({ x, m, text }) => h("span", { class: m.until > 0 ? "cut" : "tick", "data-x": x }, text));
    for (const el of shown) el.style.left = el.getAttribute("data-x") + "px";
    if (this.axis.childNodes.length !== shown.length || shown.some((el, i) => !el.isEqualNode(this.axis.childNodes[i]))) this.axis.replaceChildren(...shown);
  }

  // paint draws the bars that can be seen, those under a pixel as one grey block.
  paint() {
    if (!this.places) return;
    const first = Math.floor(this.scroll.scrollTop / pitch);
    const seen = new Map();
    let crowd = null;
    for (const p of this.places) {
      if (p.row < first || p.row > first + most) continue;
      if (p.wide >= 1 + apart || p.frame.id === this.view.sel) {
        seen.set(p.frame.id, p);
        continue;
      }
      if (crowd && crowd.row === p.row && p.x <= crowd.x + crowd.wide + apart + 1) {
        crowd.wide = Math.max(crowd.wide, p.x + p.wide - crowd.x);
        crowd.count++;
        crowd.bad = crowd.bad || p.frame.status === "failed";
      } else seen.set(`crowd ${p.row} ${seen.size}`, (crowd = { row: p.row, x: p.x, wide: Math.max(p.wide, 1 + apart), count: 1, bad: p.frame.status === "failed", only: p.frame }));
    }
    for (const [key, el] of this.drawn) if (!seen.has(key)) { el.remove(); this.drawn.delete(key); }
    for (const [key, p] of seen) {
      let el = this.drawn.get(key);
      if (!el) {
        this.drawn.set(key, (el = h("div", {})));
        this.bars.append(el);
      }
      this.bar(el, p);
    }
  }

  bar(el, { frame, only, row, x, wide, count, bad }) {
    const f = frame || (count === 1 && only);
    const room = Math.max(wide - apart, 1);
    const name = f ? signOf(f, this.model) : "crowd";
    const fades = f && ((this.chosen.size && !this.chosen.has(f.id)) || (this.matches && !this.matches(f))) && !(["failed", "blocked"].includes(name) && !this.matches);
    const text = f ? this.measure && room > 150 ? this.measure[2](this.measure[1](f)) : "" : String(count);
    const conflict = f && this.model.conflicted && this.model.conflicted.has(f.id);
    const size = room < 16 ? 0 : room < 40 ? 1 : room < 150 ? 2 : 3;
    const key = [f && f.id, f && f.goal, name, fades, size, text, bad, conflict, f && f.host, f && f.id === this.view.sel].join("\u0001");
    const part = (pixels) => `${Math.round((100000 * pixels) / this.width) / 1000}%`; // so that paper of another width shows the same
    el.style.cssText = `left:${part(x)};width:${part(room)};top:${row * pitch}px`;
    if (el.key === key) return;
    el.key = key;
    el.className = f ? `bar b-${name}${fades ? " fades" : ""}${f.id === this.view.sel ? " on" : ""}` : `crowd${bad ? " b-failed" : ""}`;
    if (!f) {
      el.setAttribute("data-count", text);
      return el.replaceChildren();
    }
    el.setAttribute("data-id", f.id);
    const has = ["live", "failed", "blocked"].includes(name) || conflict;
    el.replaceChildren(...[
      has && size > 0 && icon(conflict ? "conflict" : name), size > 1 && h("span", { class: "bl" }, f.goal.slice(0, 300)),
      size > 2 && text && h("span", { class: "bc" }, text), size > 2 && mark(f.host, this.model.titles)].filter(Boolean));
    el.classList.toggle("only", Boolean(has) && size === 1);
    el.classList.toggle("bare", size === 0);
  }
}
