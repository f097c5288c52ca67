// Moving in the picture: what part of the axis is shown, and how a person changes it with
// mouse, wheel, touch and keys.

import { h, duration, moment } from "./words.js";

const slop = 4; // pixels that a pointer may move in a click
const stride = 0.25; // of the width, by an arrow key
const stretch = 1.6; // by a key that zooms
const names = { hour: "Last hour", today: "Today", "": "All" };

// startOf returns the midnight before a time, in the browser's time zone.
function startOf(t) { return new Date(t).setHours(0, 0, 0, 0); }

// spanOf returns what a text in the address asks for: "hour", "today", or two values with a
// line between them, the second one empty if it is the present. Null: all.
export function spanOf(text, now) {
  if (!text) return null;
  if (text === "hour") return { from: now - 3600000, until: now, isNamed: true };
  if (text === "today") return { from: startOf(now), until: now, isNamed: true };
  const found = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)?$/.exec(text);
  if (!found) return null;
  const span = { from: Number(found[1]), until: found[2] ? Number(found[2]) : now };
  return span.until > span.from ? span : null;
}

// A Hand moves a picture.
export class Hand {
  constructor(picture, box) {
    Object.assign(this, { picture, box, pointers: new Map(), dragged: false, held: null, frame: 0 });
    const button = (name, text, label, does) => h("button", { type: "button", "data-span": name, "aria-label": label, title: label, onclick: does }, text);
    this.named = Object.entries(names).map(([name, text]) => button(name, text, null, () => this.ask(name)));
    this.range = h("span", { class: "range" });
    this.bar = h("div", { class: "times", role: "group", "aria-label": "Part of the picture" },
      ...this.named, button(null, "−", "Zoom out (-)", () => this.zoom(1 / stretch)), button(null, "+", "Zoom in (+)", () => this.zoom(stretch)), this.range);
    const { scroll } = picture;
    scroll.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    scroll.addEventListener("pointerdown", (e) => this.press(e));
    scroll.addEventListener("pointermove", (e) => this.drag(e));
    for (const end of ["pointerup", "pointercancel"]) scroll.addEventListener(end, (e) => this.release(e));
    document.addEventListener("keydown", (e) => this.key(e));
  }

  // span returns what is to be shown, null for all: exactly what a person moved to, else what
  // the address says of it.
  span() {
    const text = this.picture.view.span || "";
    if (this.exact && this.exact.text === text) return this.exact.follows ? { from: this.exact.from, until: this.picture.now } : this.exact;
    const span = spanOf(text, this.picture.now);
    return span && span.isNamed && this.picture.view.by !== "clock" ? null : span;
  }

  isHolding() { return this.held !== null; }

  // ask shows a part by its name in the address.
  ask(text) {
    this.exact = null;
    this.picture.on.span(text, true);
  }

  // look shows a part, null for all, with the next frame that the browser draws.
  look(part) {
    const { picture } = this;
    if (part) {
      const follows = picture.view.by === "clock" && picture.until >= picture.now && part.until >= picture.until - 1;
      const text = `${tidy(part.from)}-${follows ? "" : tidy(part.until)}`;
      this.exact = { ...part, follows, text };
    } else this.exact = null;
    picture.view = { ...picture.view, span: this.exact ? this.exact.text : "" };
    picture.on.span(picture.view.span, false);
    if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; picture.paint(); picture.drawAgents(); });
  }

  // show shows the values from..until, with a little beside them.
  show(from, until) {
    const beside = Math.max((until - from) / 8, 1);
    this.look({ from: from - beside, until: until + beside });
  }

  // hold brings what stands at a pixel to another one, so many times as wide.
  hold(x, to, times, scale = this.picture.scale) { this.look(this.picture.axisOf.held(scale, x, to, times)); }

  // zoom zooms around the middle, and move moves by a part of the width; smoothly, unless a
  // person does not want that.
  zoom(times) { this.glide((share) => this.hold(this.width() / 2, this.width() / 2, times ** share)); }

  move(part) { this.glide((share) => this.hold(0, -part * share * this.width(), 1)); }

  width() { return this.picture.axisOf.width; }

  glide(step) {
    const count = matchMedia("(prefers-reduced-motion: reduce)").matches ? 1 : 6;
    let left = count;
    const next = () => {
      step(1 / count);
      if (--left) requestAnimationFrame(next);
    };
    next();
  }

  wheel(e) {
    const lines = e.deltaMode === 1 ? 16 : 1;
    const sideways = e.shiftKey ? e.deltaY || e.deltaX : Math.abs(e.deltaX) > Math.abs(e.deltaY) ? e.deltaX : 0;
    if (!sideways && e.deltaY > 0 && !e.ctrlKey && !this.span()) return; // all is shown: the page scrolls
    e.preventDefault();
    const x = e.clientX - this.picture.svg.getBoundingClientRect().left - 1;
    if (sideways) this.hold(x, x - sideways * lines, 1);
    else this.hold(x, x, 2 ** ((-e.deltaY * lines) / (e.ctrlKey ? 40 : 250)));
  }

  press(e) {
    if (e.button !== 0 || e.target === this.picture.scroll) return; // a scroll bar is no part of the picture
    this.dragged = false;
    const { scroll } = this.picture;
    this.edge = this.picture.svg.getBoundingClientRect().left + 1;
    this.canScroll = scroll.scrollHeight > scroll.clientHeight;
    this.pointers.set(e.pointerId, { x: e.clientX - this.edge, y: e.clientY });
    this.begin();
  }

  // begin remembers how all stands when a finger comes or goes.
  begin() {
    const all = [...this.pointers.values()];
    this.held = all.length ? { ...between(all), y: all[0].y, scale: this.picture.scale, top: this.picture.scroll.scrollTop } : null;
  }

  drag(e) {
    const pointer = this.pointers.get(e.pointerId);
    if (!pointer) return;
    Object.assign(pointer, { x: e.clientX - this.edge, y: e.clientY });
    const { held, picture: { scroll } } = this;
    const all = [...this.pointers.values()];
    const now = between(all);
    if (!this.dragged) {
      if (all.length === 1 && Math.hypot(now.x - held.x, pointer.y - held.y) < slop) return;
      this.dragged = true;
      scroll.classList.add("held");
      this.picture.on.hover(null, e);
      scroll.setPointerCapture(e.pointerId);
    }
    const top = held.top + held.y - pointer.y;
    if (e.pointerType === "mouse" && this.canScroll && top !== scroll.scrollTop) scroll.scrollTop = top; // fingers scroll as everywhere
    this.hold(held.x, now.x, held.apart && now.apart ? now.apart / held.apart : 1, held.scale);
  }

  release(e) {
    if (!this.pointers.delete(e.pointerId)) return;
    this.begin();
    if (this.pointers.size) return;
    this.picture.scroll.classList.remove("held");
    setTimeout(() => { this.dragged = false; }, 0); // after the click that ends a drag
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented) return;
    if (e.target !== document.body && !this.box.contains(e.target)) return;
    const does = { ArrowLeft: () => this.move(-stride), ArrowRight: () => this.move(stride) }[e.key];
    if (!does || document.querySelector("dialog[open]")) return;
    e.preventDefault();
    does();
  }

  // tell says which part is shown.
  tell(empty) {
    const { view, shown } = this.picture;
    const isTime = view.by === "clock";
    for (const el of this.named) {
      const name = el.getAttribute("data-span");
      el.disabled = name !== "" && !isTime;
      const pressed = String((view.span || "") === name);
      if (el.getAttribute("aria-pressed") !== pressed) el.setAttribute("aria-pressed", pressed);
    }
    const spread = shown.until - shown.from;
    const text = empty || !isTime ? "" : `${moment(shown.from, Math.max(spread, 86400000))} – ${moment(shown.until, spread)}, ${duration(spread)}`;
    if (this.range.textContent !== text) this.range.textContent = text;
  }
}

// between returns where the middle of fingers is, and how far they are apart.
function between(all) {
  const xs = all.map((p) => p.x);
  return { x: (Math.min(...xs) + Math.max(...xs)) / 2, apart: all.length > 1 ? Math.max(Math.max(...xs) - Math.min(...xs), 8) : 0 };
}

// tidy writes a value shortly: a time in whole ms, a small amount in more detail.
function tidy(value) { return String(value > 1e6 ? Math.round(value) : Math.max(0, Number(value.toFixed(6)))); }
