// Where frames stand by time: an axis without the pauses in which nobody worked. Pure.

import { byClock, emptyOf } from "./layout.js";

const notch = 34; // pixels of a pause that is cut out, at most
const longest = 600000; // ms without work that are drawn as they are

// An Axis lays the time from..until out on a width, without the pauses in it.
class Axis {
  constructor(from, until, pauses, width) {
    const cut = joined(pauses, from, until).filter((g) => g.until - g.from >= longest);
    const wide = Math.min(notch, width / 3 / Math.max(cut.length, 1));
    const idle = cut.reduce((sum, g) => sum + g.until - g.from, 0);
    this.rate = (width - cut.length * wide) / Math.max(until - from - idle, 1);
    this.pieces = [{ from, x: 0, rate: this.rate }];
    for (const g of cut) {
      this.pieces.push({ from: g.from, until: g.until, x: this.x(g.from), rate: wide / (g.until - g.from), isCut: true });
      this.pieces.push({ from: g.until, x: this.pieces.at(-1).x + wide, rate: this.rate });
    }
  }

  // x returns where a time is, in pixels.
  x(t) {
    let low = 0;
    let high = this.pieces.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.pieces[middle].from <= t) low = middle;
      else high = middle - 1;
    }
    return this.pieces[low].x + (t - this.pieces[low].from) * this.pieces[low].rate;
  }

  // marks returns where the axis says what time it is: at pauses, and at round hours between.
  marks(until, offset) {
    const wanted = 110 / this.rate / 60000;
    const step = 60000 * (steps.find((n) => n >= wanted) || Math.ceil(wanted / 43200) * 43200);
    const marks = [];
    this.pieces.forEach((piece, i) => {
      if (piece.isCut) return marks.push({ x: piece.x, from: piece.from, until: piece.until });
      const end = i + 1 < this.pieces.length ? this.pieces[i + 1].from : until;
      for (let t = Math.ceil((piece.from - offset) / step) * step + offset; t <= end && marks.length < 300; t += step) marks.push({ x: this.x(t), at: t });
    });
    return marks;
  }
}

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080, 43200]; // minutes

// joined returns pauses within from..until that do not overlap, in their order.
function joined(pauses, from, until) {
  const all = [];
  for (const g of pauses.map((g) => ({ from: Math.max(g.from, from), until: Math.min(g.until, until) })).sort((a, b) => a.from - b.from)) {
    const last = all[all.length - 1];
    if (!(g.until > g.from)) continue;
    if (last && g.from <= last.until) last.until = Math.max(last.until, g.until);
    else all.push(g);
  }
  return all;
}

// byTime places frames on a width by the time in which they were worked on.
export function byTime(roots, now, pauses, width) {
  const { places, rows } = byClock(roots, now);
  if (!places.length) return { places, rows, axis: null, marks: [] };
  const [from, until] = places.reduce(([from, until], p) => [Math.min(from, p.from), Math.max(until, p.until)], [Infinity, -Infinity]);
  const axis = new Axis(from, until, [...pauses, ...emptyOf(places.filter((p) => p.row === 0 || !p.frame.parent))], width);
  for (const p of places) {
    p.x = axis.x(p.from);
    p.wide = axis.x(p.until) - p.x;
  }
  return { places, rows, axis, marks: axis.marks(until, new Date(until).getTimezoneOffset() * 60000) };
}
