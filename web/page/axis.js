// The axis of the picture: which pixel a value stands at, and back. Pure.

const notch = 40; // the widest that a stretch without work is drawn, in pixels
const sharpest = 1000; // the fewest values that a picture shows, such as ms
const mostGaps = 1000; // that are folded; the shortest ones are not

// joined returns gaps within from..until that do not overlap, in their order.
export function joined(gaps, from, until) {
  const inside = gaps
    .map((g) => ({ from: Math.max(g.from, from), until: Math.min(g.until, until) }))
    .filter((g) => g.until > g.from)
    .sort((a, b) => a.from - b.from);
  const all = [];
  for (const g of inside) {
    const last = all[all.length - 1];
    if (last && g.from < last.until) last.until = Math.max(last.until, g.until);
    else all.push(g);
  }
  if (all.length <= mostGaps) return all;
  const least = all.map((g) => g.until - g.from).sort((a, b) => b - a)[mostGaps - 1];
  return all.filter((g) => g.until - g.from >= least).slice(0, mostGaps);
}

// An Axis lays the values from..until out on a width. Gaps, stretches without work, are as
// wide as other stretches, but no wider than a notch. So the nearer one looks, the shorter
// the gaps that are folded.
export class Axis {
  constructor(from, until, gaps, width) {
    Object.assign(this, { from, until, width, gaps: joined(gaps, from, until) });
    const longest = this.gaps.map((g) => g.until - g.from).sort((a, b) => b - a);
    let idle = 0;
    for (let n = 0; ; idle += longest[n++]) {
      this.notch = Math.min(notch, width / 3 / Math.max(n, 1)); // where all is shown, two thirds are for work
      this.rate = (width - n * this.notch) / Math.max(until - from - idle, 1);
      if (n === longest.length || longest[n] * this.rate <= this.notch) break;
    }
    this.most = Math.max(width / sharpest, this.rate);
  }

  // notchAt is the widest gap where a value has so many pixels. It grows on the way in, so
  // that zooming never jumps.
  notchAt(rate) { return Math.min(notch, (this.notch * rate) / this.rate); }

  // whole returns the scale that shows all.
  whole() { return new Scale(this, this.rate, 0); }

  // showing returns the scale that shows the values from..until on the width. Where they are
  // little more than gaps, none is folded.
  showing(from, until) {
    from = Math.max(from, this.from);
    until = Math.min(until, this.until);
    const inside = [];
    let work = until - from;
    for (const g of this.gaps) {
      const part = Math.min(g.until, until) - Math.max(g.from, from);
      if (!(part > 0)) continue;
      inside.push({ size: g.until - g.from, share: part / (g.until - g.from) });
      work -= part;
    }
    const widthAt = (rate) => inside.reduce((sum, g) => sum + g.share * Math.min(g.size * rate, this.notchAt(rate)), work * rate);
    if (!(until > from)) return this.whole();
    if (widthAt(this.most) < this.width * 0.99) return new Axis(from, until, [], this.width).whole();
    let low = this.rate;
    let high = this.most;
    for (let i = 0; i < 60 && high / low > 1 + 1e-12; i++) {
      const middle = Math.sqrt(low * high);
      if (widthAt(middle) < this.width) low = middle;
      else high = middle;
    }
    const scale = new Scale(this, high, 0);
    return scale.from(scale.place(from));
  }

  // held returns what a scale shows after what stands at pixel x has come to pixel to, and is
  // so many times as wide; null: all.
  held(scale, x, to, times = 1) {
    const rate = Math.min(Math.max(scale.rate * times, this.rate), this.most);
    if (rate <= this.rate * (1 + 1e-9)) return null;
    let next = new Scale(this, rate, 0);
    next = next.from(next.place(scale.value(x)) - to);
    return { from: next.value(0), until: next.value(this.width) };
  }
}

// A Scale shows a part of an axis: so many pixels for each value, from a place on. Places are
// pixels from the beginning of the axis; x are pixels from the left edge.
class Scale {
  constructor(axis, rate, left) {
    Object.assign(this, { axis, rate, left, pieces: [] }); // {value, place, rate, gap}: from value on
    let value = axis.from;
    let place = 0;
    const add = (until, each, gap) => {
      this.pieces.push({ value, place, rate: each, gap });
      place += (until - value) * each;
      value = until;
    };
    const most = axis.notchAt(rate);
    for (const g of axis.gaps) {
      const size = g.until - g.from;
      if (size * rate <= most) continue;
      add(g.from, rate);
      add(g.until, most / size, g);
    }
    add(axis.until, rate);
    this.width = place;
  }

  // from returns the scale that begins at a place, or as near to it as there is something.
  from(left) {
    this.left = Math.max(0, Math.min(left, this.width - this.axis.width));
    return this;
  }

  // last returns the last piece whose value or place is not beyond one.
  last(name, beyond) {
    let low = 0;
    let high = this.pieces.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.pieces[middle][name] <= beyond) low = middle;
      else high = middle - 1;
    }
    return this.pieces[low];
  }

  place(value) {
    const piece = this.last("value", value);
    return piece.place + (value - piece.value) * piece.rate;
  }

  x(value) { return this.place(value) - this.left; }

  value(x) {
    const piece = this.last("place", x + this.left);
    return piece.value + (x + this.left - piece.place) / piece.rate;
  }

  // gaps returns the folded gaps that can be seen.
  gaps() {
    const end = this.left + this.axis.width;
    const most = this.axis.notchAt(this.rate);
    return this.pieces.filter((p) => p.gap && p.place < end && p.place + most > this.left).map((p) => ({ x: p.place - this.left, width: most, ...p.gap }));
  }
}

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000];

// ticksOf returns the values at which an axis of time has marks, some 110 pixels apart,
// none in a folded gap.
export function ticksOf(from, until, scale, offset) {
  const wanted = 110 / scale.rate / 1000;
  const step = 1000 * (steps.find((n) => n >= wanted) || Math.ceil(wanted / 2592000) * 2592000);
  const ticks = [];
  const gaps = scale.gaps();
  for (let t = Math.ceil((from - offset) / step) * step + offset; t <= until && ticks.length < 200; t += step) {
    const gap = gaps.find((g) => t > g.from && t < g.until);
    if (gap) t = Math.floor((gap.until - offset) / step) * step + offset;
    else ticks.push(t);
  }
  return { ticks, step };
}
