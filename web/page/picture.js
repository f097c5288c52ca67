// The picture: frames by clock, by tokens or by cost, and the agents on the same axis.

import { h, s, duration, amount, money, moment, tokensOf, costOf, hueOf, whoOf, whoseOf, glyphs, statusNames } from "./words.js";
import { byClock, byAmount, scaleOf, ticksOf } from "./layout.js";
import { isRunning, sinceOf } from "./model.js";

const rowHeight = 22;
const axisHeight = 24;
const font = 12; // height of the letters in boxes, in pixels
const smallest = 1; // boxes below this many pixels are left out

// defs are the patterns by which statuses show without colour.
function defs() {
  const pattern = (id, ...lines) => s("pattern", { id, width: 8, height: 8, patternUnits: "userSpaceOnUse" }, ...lines);
  const line = (d) => s("path", { d, class: "hatch" });
  return s("defs", {},
    pattern("p-failed", line("M0 8 8 0M-2 2 2 -2M6 10 10 6"), line("M0 0 8 8M6 -2 10 2M-2 6 2 10")),
    pattern("p-blocked", line("M0 8 8 0M-2 2 2 -2M6 10 10 6")),
    pattern("p-invalidated", line("M0 4H8")));
}

// A Pool keeps elements of one kind, so that a draw changes only what is different.
class Pool {
  constructor(parent, make) { Object.assign(this, { parent, make, all: [], used: 0 }); }
  begin() { this.used = 0; }
  next() {
    if (this.used === this.all.length) {
      const made = this.make();
      this.all.push(made);
      this.parent.append(made.el);
    }
    const item = this.all[this.used++];
    set(item.el, "visibility", "visible");
    return item;
  }
  end() {
    for (let i = this.used; i < this.all.length; i++) set(this.all[i].el, "visibility", "hidden");
    if (this.all.length > 64 + 2 * this.used) this.all.splice(64 + 2 * this.used).forEach((item) => item.el.remove());
  }
}

function set(el, name, value) {
  const text = String(value);
  if (el.getAttribute(name) !== text) el.setAttribute(name, text);
}

function say(el, text) { if (el.textContent !== text) el.textContent = text; }

const pen = document.createElement("canvas").getContext("2d");
pen.font = font + "px system-ui, sans-serif"; // as the style has it
const widths = new Map(); // by text, in pixels

// widthOf returns how wide a text is drawn.
function widthOf(text) {
  let width = widths.get(text);
  if (width === undefined) {
    if (widths.size > 5000) widths.clear();
    widths.set(text, (width = pen.measureText(text).width));
  }
  return width;
}

// fitted returns as much of a text as there is room for; nothing where that says nothing.
function fitted(text, room) {
  if (room < 2 * font) return "";
  if (widthOf(text) <= room) return text;
  const letters = [...text.slice(0, 400)];
  let low = 0;
  let high = letters.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.measureText(letters.slice(0, middle).join("") + "…").width <= room) low = middle;
    else high = middle - 1;
  }
  return low < 4 ? "" : letters.slice(0, low).join("") + "…";
}

// A Picture draws into two elements.
export class Picture {
  constructor(box, band, on) {
    this.on = on;
    this.scroll = h("div", { class: "scroll", tabindex: -1 });
    this.svg = s("svg", { "aria-hidden": "true", class: "picture" }, defs());
    this.axis = s("g", { class: "axis" });
    this.boxes = s("g");
    this.svg.append(this.boxes, this.axis);
    this.way = h("nav", { class: "way", "aria-label": "Zoomed into" });
    this.scroll.append(this.svg);
    box.append(this.way, this.scroll);
    this.frames = new Pool(this.boxes, makeBox);
    this.marks = new Pool(this.axis, () => { const el = s("g", {}, s("path"), s("text")); return { el, path: el.firstChild, text: el.lastChild }; });
    this.band = band;
    this.lanes = h("div", { class: "lanes scroll" });
    this.agentsSVG = s("svg", { "aria-hidden": "true", class: "picture" });
    this.lanes.append(this.agentsSVG);
    this.agents = new Pool(this.agentsSVG, makeLane);
    this.heading = h("h2");
    band.append(this.heading, this.lanes);
    this.scroll.addEventListener("scroll", () => this.paint());
    this.listen(this.svg, "frame");
    this.listen(this.agentsSVG, "agent");
  }

  listen(svg, kind) {
    const at = (event) => event.target.closest && event.target.closest("[data-id]");
    svg.addEventListener("click", (e) => { const el = at(e); if (el) this.on.select(kind, el.getAttribute("data-id")); });
    svg.addEventListener("dblclick", (e) => { const el = at(e); if (el && kind === "frame") this.on.zoom(el.getAttribute("data-id")); });
    svg.addEventListener("pointermove", (e) => { const el = at(e); this.on.hover(el ? this.told(kind, el.getAttribute("data-id")) : null, e); });
    svg.addEventListener("pointerleave", (e) => this.on.hover(null, e));
  }

  // told returns what is shown of a frame or agent that is pointed at.
  told(kind, id) {
    if (kind === "agent") {
      const a = this.model.agents.get(id);
      if (!a) return null;
      const until = a.ended || this.model.now();
      return [whoseOf(a), a.description, `${a.state}${a.tool && isRunning(a) ? ", " + a.tool : ""}, ${duration(until - a.asked)}, ${amount(tokensOf(a.used))} tokens, ${money(costOf(a.used))}`];
    }
    const f = this.model.frames.get(id);
    if (!f) return null;
    const part = (u) => `${amount(tokensOf(u))} tokens, ${money(costOf(u))}, ${u.toolCalls || 0} tool calls`;
    const time = f.from ? duration((f.until || this.model.now()) - f.from) : "not begun";
    return [f.goal, `${glyphs[f.status]} ${statusNames[f.status]}, ${time}${f.agent ? ", " + f.agent : ""}${f.host ? ", " + f.host : ""}${f.machine ? ", @" + f.machine : ""}`, "self: " + part(f.self), "total: " + part(f.total)];
  }

  // show draws a view of the model.
  show(model, view, matches) {
    this.model = model;
    this.view = view;
    this.matches = matches;
    const under = view.under && model.frames.get(view.under);
    const roots = under ? [under] : model.roots.filter((f) => view.archived || !f.archived);
    this.now = model.now();
    if (view.by === "clock") {
      const placed = byClock(roots, this.now);
      Object.assign(this, placed, { from: Infinity, until: -Infinity });
      for (const p of this.places) {
        this.from = Math.min(this.from, p.from);
        this.until = Math.max(this.until, p.until);
      }
      this.from = Math.max(this.from, sinceOf(view, this.now));
      this.gaps = model.gaps;
    } else {
      Object.assign(this, byAmount(roots, view.by === "cost" ? (f) => costOf(f.self) : (f) => tokensOf(f.self)), { from: 0, gaps: [] });
      this.until = this.total;
    }
    this.drawWay(under);
    this.paint();
    this.drawAgents();
  }

  drawWay(under) {
    const steps = under ? [...this.model.above(under).reverse(), under] : [];
    this.way.hidden = steps.length === 0;
    if (!steps.length) return;
    const key = steps.map((f) => f.id + f.goal).join();
    if (this.shownWay === key) return;
    this.shownWay = key;
    this.way.replaceChildren(
      h("button", { type: "button", onclick: () => this.on.zoom("") }, "all frames"),
      ...steps.flatMap((f) => [" › ", h("button", { type: "button", onclick: () => this.on.zoom(f.id), "aria-current": f === under }, fitted(f.goal, 260) || f.id)]));
  }

  // paint draws the boxes that can be seen.
  paint() {
    if (!this.places) return;
    const width = Math.max(this.scroll.clientWidth, 100);
    set(this.svg, "width", width);
    set(this.svg, "height", axisHeight + this.rows * rowHeight + 2);
    const empty = !(this.until > this.from);
    this.scale = scaleOf(empty ? 0 : this.from, empty ? 1 : this.until, this.gaps, width - 2);
    const first = Math.floor((this.scroll.scrollTop - axisHeight) / rowHeight) - 1;
    const last = first + Math.ceil(this.scroll.clientHeight / rowHeight) + 3;
    this.frames.begin();
    for (const p of this.places) {
      if (p.row < first || p.row > last || p.until < this.from) continue;
      const x = this.scale(Math.max(p.from, this.from)) + 1;
      const w = this.scale(p.until) + 1 - x;
      const chosen = p.id === this.view.sel;
      if (w < smallest && !chosen) continue;
      drawBox(this.frames.next(), p, x, Math.max(w, 1), this, chosen);
    }
    this.frames.end();
    this.drawAxis(width, empty);
  }

  drawAxis(width, empty) {
    this.marks.begin();
    const mark = (x, text, d, kind) => {
      const item = this.marks.next();
      set(item.el, "class", kind);
      set(item.path, "d", d);
      set(item.text, "x", x + 3);
      set(item.text, "y", 15);
      say(item.text, text);
    };
    if (!empty && this.view.by === "clock") {
      const offset = new Date(this.now).getTimezoneOffset() * 60000;
      const { ticks, step } = ticksOf(this.from, this.until, this.scale, offset);
      const tall = axisHeight + this.rows * rowHeight;
      const taken = []; // by texts, from and until; those of gaps come first
      const free = (x, text) => {
        const until = x + widthOf(text) + 6;
        if (until > width || x < 0 || taken.some((t) => x < t.until && t.from < until)) return "";
        taken.push({ from: x, until });
        return text;
      };
      const gaps = () => this.scale.gaps.forEach((g) => {
        const x = g.x + g.width / 2;
        const text = duration(g.until - g.from);
        const at = Math.max(0, Math.min(x - widthOf(text) / 2, width - widthOf(text) - 8));
        mark(at, free(at, text), `M${x} ${axisHeight - 4}V${tall}M${x - 4} ${axisHeight - 6}l4 4l4 -4`, "gap");
      });
      const times = () => ticks.forEach((t) => {
        const x = this.scale(t);
        mark(x, free(x, moment(t, step * 8)), `M${x.toFixed(1)} 0V${axisHeight}`, "tick");
      });
      // Where there is little room for texts, what time it was says more.
      (width < 600 ? [times, gaps] : [gaps, times]).forEach((draw) => draw());
    } else if (!empty) {
      const tell = this.view.by === "cost" ? money : amount;
      mark(0, `${tell(this.until)}${this.view.by === "cost" ? "" : " tokens"} in all; what no child covers is a frame's own part`, "", "tick");
    }
    this.marks.end();
  }

  // drawAgents draws the agents below the picture, those that run first.
  drawAgents() {
    const all = [...this.model.agents.values()].filter((a) => this.isShown(a));
    all.sort((x, y) => isRunning(y) - isRunning(x) || y.asked - x.asked || (x.id < y.id ? -1 : 1));
    const running = all.filter(isRunning).length;
    this.band.hidden = all.length === 0;
    say(this.heading, `Agents: ${running} running, ${all.length} in all`);
    if (!all.length) return;
    const most = all.slice(0, 200);
    const width = Math.max(this.lanes.clientWidth, 100);
    let { from, until, scale } = this;
    if (this.view.by !== "clock" || !(until > from)) {
      from = Math.min(...most.map((a) => a.asked));
      until = Math.max(...most.map((a) => a.ended || this.now), from + 1);
      scale = scaleOf(from, until, this.model.gaps, width - 2);
    }
    set(this.agentsSVG, "width", width);
    set(this.agentsSVG, "height", most.length * rowHeight);
    const within = (t) => scale(Math.min(Math.max(t, from), until)) + 1;
    this.agents.begin();
    most.forEach((a, i) => drawLane(this.agents.next(), a, i * rowHeight, within, this.now, a.id === this.view.agentSel, width));
    this.agents.end();
  }

  isShown(agent) {
    if (this.view.by !== "clock") return true;
    return (agent.ended || this.now) >= this.from && agent.asked <= this.until;
  }
}

function makeBox() {
  const el = s("g", {}, s("rect"), s("rect", { class: "pattern" }), s("path", { class: "edge" }), s("text"));
  const [fill, pattern, edge, text] = el.childNodes;
  return { el, fill, pattern, edge, text };
}

function drawBox(item, place, x, width, picture, chosen) {
  const f = place.frame;
  const y = axisHeight + place.row * rowHeight;
  const tall = rowHeight - 2;
  const open = picture.view.by === "clock" && f.status === "in_progress";
  const dim = picture.matches && !picture.matches(f);
  set(item.el, "class", `box h${hueOf(whoOf(f))} s-${f.status}${dim ? " dim" : ""}${chosen ? " chosen" : ""}`);
  set(item.el, "data-id", f.id);
  for (const rect of [item.fill, item.pattern]) {
    set(rect, "x", x.toFixed(1));
    set(rect, "y", y);
    set(rect, "width", Math.max(width - 0.5, 0.5).toFixed(1));
    set(rect, "height", tall);
  }
  set(item.pattern, "fill", ["failed", "blocked", "invalidated"].includes(f.status) ? `url(#p-${f.status})` : "none");
  const right = x + width - 0.5;
  set(item.edge, "d", width < 3 ? "" : open
    ? `M${right.toFixed(1)} ${y}H${x.toFixed(1)}V${y + tall}H${right.toFixed(1)}`
    : `M${x.toFixed(1)} ${y}H${right.toFixed(1)}V${y + tall}H${x.toFixed(1)}Z`);
  set(item.text, "x", (x + 4).toFixed(1));
  set(item.text, "y", y + 14);
  say(item.text, fitted(`${glyphs[f.status]} ${f.goal}`, width - 8));
}

function makeLane() {
  const el = s("g", { class: "lane" }, s("path", { class: "wait" }), s("rect"), s("path", { class: "retry" }), s("text"));
  const [wait, bar, retry, text] = el.childNodes;
  return { el, wait, bar, retry, text };
}

// drawLane draws an agent: a line while nothing of it came or comes, a bar from its first
// line to its last, a stroke for each retry.
function drawLane(item, a, y, within, now, chosen, width) {
  const end = a.ended || now;
  const first = a.first || end;
  const last = Math.max(a.last || first, first);
  const bad = !isRunning(a) && a.state !== "completed";
  set(item.el, "class", `lane h${hueOf(a.type || a.host)} ${isRunning(a) ? "runs" : bad ? "s-failed" : "ended"}${chosen ? " chosen" : ""}`);
  set(item.el, "data-id", a.id);
  const middle = y + rowHeight / 2;
  set(item.wait, "d", `M${within(a.asked).toFixed(1)} ${middle}H${within(end).toFixed(1)}`);
  set(item.bar, "x", within(first).toFixed(1));
  set(item.bar, "y", y + 4);
  set(item.bar, "width", Math.max(within(last) - within(first), 1.5).toFixed(1));
  set(item.bar, "height", rowHeight - 8);
  set(item.retry, "d", (a.retried || []).map((t) => `M${within(t).toFixed(1)} ${y + 1}v${rowHeight - 2}`).join(""));
  const glyph = isRunning(a) ? "→" : bad ? glyphs.failed : "✓";
  const label = `${glyph} ${whoseOf(a)}: ${isRunning(a) && a.text ? a.text : a.description}`;
  place(item.text, label, within(a.asked), within(end), y + 15, width);
}

// place puts the label of a lane beside what is drawn from left to right: after it, else
// before it, else onto it, where there is most room.
function place(el, label, left, right, y, width) {
  const apart = 6;
  const wanted = widthOf(label);
  const rooms = { after: width - right - 2 * apart, before: left - 2 * apart, within: right - left - 2 * apart };
  const where = ["after", "before", "within"].find((at) => rooms[at] >= wanted) || Object.keys(rooms).sort((a, b) => rooms[b] - rooms[a])[0];
  set(el, "x", (where === "after" ? right + apart : where === "before" ? left - apart : left + apart).toFixed(1));
  set(el, "text-anchor", where === "before" ? "end" : "start");
  set(el, "y", y);
  say(el, fitted(label, rooms[where]));
}
