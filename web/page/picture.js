// The picture: frames by clock, by tokens or by cost, and the agents on the same axis.

import { h, s, duration, tookOf, amount, cost, money, moment, tokensOf, costOf, hueOf, whoOf, whoseOf, glyphs, statusNames } from "./words.js";
import { byClock, byAmount, emptyOf } from "./layout.js";
import { Axis, joined, ticksOf } from "./axis.js";
import { Hand, spanOf } from "./hand.js";
import { isRunning, sinceOf } from "./model.js";

const rowHeight = 22;
const axisHeight = 24;
const outside = 8; // pixels that a box goes on beyond the edges of the picture
const mostLanes = 200; // agents that are shown
const font = 12; // height of the letters in boxes, in pixels
const smallest = 2; // boxes below this many pixels are drawn as one with those beside them
const many = 4000; // places among which those below some more pixels are drawn so: names need more anyway

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
    this.scroll = h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Picture: arrow keys move, plus and minus zoom, 0 shows all" });
    this.svg = s("svg", { "aria-hidden": "true", class: "picture" }, defs());
    this.axis = s("g", { class: "axis" });
    this.boxes = s("g");
    this.nothing = s("text", { class: "nothing", x: 10, y: axisHeight + 15 });
    this.svg.append(this.boxes, this.axis, this.nothing);
    this.way = h("nav", { class: "way", "aria-label": "Zoomed into" });
    this.scroll.append(this.svg);
    this.hand = new Hand(this, box);
    box.append(this.way, this.hand.bar, this.scroll);
    this.crowds = new Pool(this.boxes, () => ({ el: s("rect") }));
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
    const at = (event) => event.target.closest && event.target.closest("[data-id], .crowd");
    const id = (el) => el.getAttribute("data-id");
    svg.addEventListener("click", (e) => {
      const el = at(e);
      if (!el || this.hand.dragged) return;
      if (id(el)) this.on.select(kind, id(el));
      else this.hand.show(el.crowd.from, el.crowd.until);
    });
    svg.addEventListener("dblclick", (e) => { const el = at(e); if (el && id(el) && kind === "frame") this.on.zoom(id(el)); });
    svg.addEventListener("pointermove", (e) => {
      const el = this.hand.isHolding() ? null : at(e);
      this.on.hover(el ? (id(el) ? this.told(kind, id(el)) : crowded(el.crowd)) : null, e);
    });
    svg.addEventListener("pointerleave", (e) => this.on.hover(null, e));
  }

  // told returns what is shown of a frame or agent that is pointed at.
  told(kind, id) {
    if (kind === "agent") {
      const a = this.model.agents.get(id);
      if (!a) return null;
      const until = a.ended || this.model.now();
      return [whoseOf(a), a.description, `${a.state}${a.tool && isRunning(a) ? ", " + a.tool : ""}, ${duration(until - a.asked)}, ${amount(tokensOf(a.used))} tokens, ${cost(a.used)}`];
    }
    const f = this.model.frames.get(id);
    if (!f) return null;
    const part = (u) => `${amount(tokensOf(u))} tokens, ${cost(u)}, ${u.toolCalls || 0} tool calls`;
    const time = f.from ? duration(tookOf(f, this.model.now())) : "not begun";
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
      const first = sinceOf(view, this.now);
      Object.assign(this, byClock(roots, this.now));
      this.places = first ? this.places.filter((p) => p.until >= first) : this.places;
      const top = new Set(roots);
      this.gaps = joined([...model.gaps, ...emptyOf(this.places.filter((p) => top.has(p.frame)))], -Infinity, Infinity);
      this.limit(this.places, first);
    } else {
      Object.assign(this, byAmount(roots, view.by === "cost" ? (f) => costOf(f.self) : (f) => tokensOf(f.self)), { from: 0, gaps: [] });
      this.until = this.total;
    }
    this.drawWay(under);
    this.paint();
    this.drawAgents();
  }

  // limit finds from when until when the axis goes: as long as there are places, and as long
  // as is asked for.
  limit(places, first) {
    Object.assign(this, { from: Infinity, until: -Infinity });
    for (const p of places) {
      this.from = Math.min(this.from, p.from);
      this.until = Math.max(this.until, p.until);
    }
    this.from = Math.max(this.from, first);
    const span = spanOf(this.view.span, this.now);
    if (!span || !span.isNamed) return;
    this.from = Math.min(this.from, span.from);
    this.until = Math.max(this.until, span.until);
    // A pause that began before is two, so that the notch is as long as what is shown of it.
    this.gaps = this.gaps.flatMap((g) => (g.from < span.from && g.until > span.from ? [{ ...g, until: span.from }, { ...g, from: span.from }] : [g]));
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
    const first = Math.floor((this.scroll.scrollTop - axisHeight) / rowHeight) - 1;
    const last = first + Math.ceil(this.scroll.clientHeight / rowHeight) + 3;
    this.laneWidth = Math.max(this.lanes.clientWidth, 100); // what is asked after the first change has the browser lay all out
    set(this.svg, "width", width);
    set(this.svg, "height", axisHeight + Math.max(this.rows, 1) * rowHeight + 2);
    const empty = !(this.until > this.from);
    this.axisOf = new Axis(empty ? 0 : this.from, empty ? 1 : this.until, this.gaps, width - 2);
    const span = this.hand.span();
    this.scale = span ? this.axisOf.showing(span.from, span.until) : this.axisOf.whole();
    this.shown = { from: this.scale.value(0), until: this.scale.value(width - 2) };
    this.frames.begin();
    this.crowds.begin();
    const least = this.places.length > many ? 4 * smallest : smallest;
    let crowd = null; // of boxes that are too small by themselves
    for (const p of this.places) {
      if (p.row < first || p.row > last || p.until < this.shown.from || p.from > this.shown.until) continue;
      const x = Math.max(this.scale.x(p.from), -outside) + 1;
      const w = Math.min(this.scale.x(p.until), width + outside) + 1 - x;
      const chosen = p.id === this.view.sel;
      if (w >= least || chosen) {
        drawBox(this.frames.next(), p, x, Math.max(w, smallest), this, chosen, width);
      } else if (crowd && crowd.row === p.row && x <= crowd.right + smallest) {
        grown(crowd, p, x + w, this.matches);
      } else {
        if (crowd) this.drawCrowd(crowd, width);
        crowd = grown({ row: p.row, x, right: x, from: p.from, places: [], dim: true }, p, x + w, this.matches);
      }
    }
    if (crowd) this.drawCrowd(crowd, width);
    this.frames.end();
    this.crowds.end();
    this.drawAxis(width, empty);
    const isBare = this.rows > 0 && this.frames.used + this.crowds.used === 0 && last >= this.rows;
    say(this.nothing, empty ? "Nothing was begun yet." : isBare ? "Nothing was done at this time. 0 shows all." : "");
    this.hand.tell(empty);
  }

  // drawCrowd draws frames that are side by side and too narrow to tell apart; one alone is
  // drawn as it is.
  drawCrowd(crowd, width) {
    if (crowd.places.length === 1) return drawBox(this.frames.next(), crowd.places[0], crowd.x, smallest, this, false, width);
    const { el } = this.crowds.next();
    el.crowd = crowd;
    set(el, "class", `crowd${crowd.bad ? " s-failed" : ""}${crowd.dim ? " dim" : ""}`);
    set(el, "x", crowd.x.toFixed(1));
    set(el, "y", axisHeight + crowd.row * rowHeight);
    set(el, "width", Math.max(crowd.right - crowd.x, smallest).toFixed(1));
    set(el, "height", rowHeight - 2);
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
      const { from, until } = this.shown;
      const offset = new Date((from + until) / 2).getTimezoneOffset() * 60000;
      const { ticks, step } = ticksOf(from, until, this.scale, offset);
      const tall = axisHeight + this.rows * rowHeight;
      const taken = []; // by texts, from and until; those of gaps come first
      const free = (x, text) => {
        const until = x + widthOf(text) + 6;
        if (until > width || x < 0 || taken.some((t) => x < t.until && t.from < until)) return "";
        taken.push({ from: x, until });
        return text;
      };
      const gaps = () => this.scale.gaps().filter((g) => g.width > 6).forEach((g) => {
        const x = g.x + g.width / 2;
        const text = duration(g.until - g.from);
        const at = Math.max(0, Math.min(x - widthOf(text) / 2, width - widthOf(text) - 8));
        mark(at, free(at, text), `M${x} ${axisHeight - 4}V${tall}M${x - 4} ${axisHeight - 6}l4 4l4 -4`, "gap");
      });
      let told = 0;
      const times = () => ticks.forEach((t) => {
        const x = this.scale.x(t);
        const text = free(x, moment(t, step * 8, told));
        if (text) told = t;
        mark(x, text, `M${x.toFixed(1)} 0V${axisHeight}`, "tick");
      });
      // Where there is little room for texts, what time it was says more.
      (width < 600 ? [times, gaps] : [gaps, times]).forEach((draw) => draw());
    } else if (!empty) {
      const tell = this.view.by === "cost" ? money : amount;
      const part = this.shown.until - this.shown.from < this.until * 0.999 ? `${tell(this.shown.until - this.shown.from)} of ` : "";
      mark(0, `${part}${tell(this.until)}${this.view.by === "cost" ? "" : " tokens"} in all; what no child covers is a frame's own part`, "", "tick");
    }
    this.marks.end();
  }

  // drawAgents draws the agents below the picture, those that run first.
  drawAgents() {
    const any = [...this.model.agents.values()];
    const all = any.filter((a) => this.isShown(a));
    all.sort((x, y) => isRunning(y) - isRunning(x) || y.asked - x.asked || (x.id < y.id ? -1 : 1));
    const running = all.filter(isRunning).length;
    const wasHidden = this.band.hidden;
    this.band.hidden = any.length === 0;
    if (wasHidden && any.length) this.laneWidth = Math.max(this.lanes.clientWidth, 100); // hidden it has no width
    say(this.heading, all.length < any.length ? `Agents: ${running} running, ${all.length} of ${any.length} at this time` : `Agents: ${running} running, ${any.length} in all`);
    const most = all.slice(0, mostLanes);
    const width = this.laneWidth;
    let { scale } = this;
    let { from, until } = this.shown;
    if (most.length && (this.view.by !== "clock" || !(this.until > this.from))) {
      from = Math.min(...most.map((a) => a.asked));
      until = Math.max(...most.map((a) => a.ended || this.now), from + 1);
      scale = new Axis(from, until, this.model.gaps, width - 2).whole();
    }
    set(this.agentsSVG, "width", width);
    set(this.agentsSVG, "height", Math.min(any.length, mostLanes) * rowHeight); // so that it stays as it is while a person moves in time
    const within = (t) => scale.x(Math.min(Math.max(t, from), until)) + 1;
    this.agents.begin();
    most.forEach((a, i) => drawLane(this.agents.next(), a, i * rowHeight, within, this.now, a.id === this.view.agentSel, width));
    this.agents.end();
  }

  isShown(agent) {
    if (this.view.by !== "clock") return true;
    return (agent.ended || this.now) >= this.shown.from && agent.asked <= this.shown.until;
  }
}

// grown returns a crowd with another place, which ends at a pixel.
function grown(crowd, place, right, matches) {
  crowd.places.push(place);
  crowd.right = Math.max(crowd.right, right);
  crowd.until = Math.max(crowd.until || place.until, place.until);
  crowd.bad = crowd.bad || place.frame.status === "failed";
  crowd.dim = crowd.dim && Boolean(matches) && !matches(place.frame);
  return crowd;
}

// crowded tells of a crowd that is pointed at.
function crowded({ places }) {
  return [`${places.length} frames, too narrow to show here`, ...places.slice(0, 3).map((p) => `${glyphs[p.frame.status]} ${p.frame.goal.slice(0, 80)}`), "click to see them"];
}

function makeBox() {
  const size = { height: rowHeight - 2 };
  const el = s("g", {}, s("rect", size), s("rect", { ...size, class: "pattern" }), s("path", { class: "edge" }), s("text", { y: 14 }));
  const [fill, pattern, edge, text] = el.childNodes;
  return { el, fill, pattern, edge, text };
}

// drawBox draws a frame. What is inside its box does not depend on where that is, so that
// a browser has little to do while a person drags.
function drawBox(item, place, x, width, picture, chosen, room) {
  const f = place.frame;
  const tall = rowHeight - 2;
  const open = picture.view.by === "clock" && f.status === "in_progress";
  const dim = picture.matches && !picture.matches(f);
  set(item.el, "class", `box h${hueOf(whoOf(f))} s-${f.status}${dim ? " dim" : ""}${chosen ? " chosen" : ""}`);
  set(item.el, "data-id", f.id);
  set(item.el, "transform", `translate(${x.toFixed(1)} ${axisHeight + place.row * rowHeight})`);
  const right = Math.max(width - 0.5, 0.5).toFixed(1);
  set(item.fill, "width", right);
  const has = ["failed", "blocked", "invalidated"].includes(f.status);
  set(item.pattern, "fill", has ? `url(#p-${f.status})` : "none");
  set(item.pattern, "width", has ? right : 0);
  set(item.edge, "d", width < 3 ? "" : `M${right} 0H0V${tall}H${right}${open ? "" : "Z"}`);
  const left = Math.max(1 - x, 0); // what begins before the picture is named at its edge
  set(item.text, "x", (left + 4).toFixed(1));
  say(item.text, fitted(`${glyphs[f.status]} ${f.goal.slice(0, 400)}`, Math.min(width, room - x) - left - 8));
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
  const last = Math.max(Math.min(a.last || first, end), first); // a clock may have jumped back
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
