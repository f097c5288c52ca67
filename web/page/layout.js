// Where frames stand in the picture. Pure: the same frames give the same places.

// A frame here is {id, from, until, children, self, total}; until is 0 while it is open.
// Places are {id, frame, row, from, until}; rows count from 0, the top.

// hull returns from when until when a frame and all below it lasted; open ones until now.
function hull(frame, now, hulls) {
  const stack = [[frame, false]];
  while (stack.length) {
    const [f, ready] = stack.pop();
    if (hulls.has(f)) continue;
    if (!ready) {
      stack.push([f, true]);
      for (const child of f.children) stack.push([child, false]);
      continue;
    }
    let from = f.from || Infinity;
    let until = f.from ? Math.max(f.until || now, f.from + 1) : -Infinity;
    for (const child of f.children) {
      const inner = hulls.get(child);
      from = Math.min(from, inner.from);
      until = Math.max(until, inner.until);
    }
    hulls.set(f, { from, until });
  }
  return hulls.get(frame);
}

// byClock places frames by time: below their parents, parallel ones below each other's
// whole subtree. A frame is as long as all below it at least. Those that were never begun
// have no place. It is stable: while time goes on, nothing moves to another row.
export function byClock(roots, now) {
  const hulls = new Map();
  for (const root of roots) hull(root, now, hulls);
  const heights = new Map();
  const offsets = new Map();
  const places = [];
  const pack = (frames) => {
    const ends = []; // by row: when what stands there ends
    const began = frames.filter((f) => hulls.get(f).until > -Infinity);
    began.sort((a, b) => hulls.get(a).from - hulls.get(b).from || (a.id < b.id ? -1 : 1));
    const last = began.length ? hulls.get(began[began.length - 1]).from : 0;
    let full = 0; // rows from the top in which nothing else has room
    for (const f of began) {
      const { from, until } = hulls.get(f);
      const height = heights.get(f);
      while (full < ends.length && ends[full] > last) full++;
      let top = full;
      for (let row = top; row < top + height && row < ends.length; row++) {
        if (ends[row] > from) top = row + 1;
      }
      for (let row = top; row < top + height; row++) ends[row] = until;
      offsets.set(f, top);
    }
    return ends.length;
  };
  for (const root of roots) {
    const stack = [[root, false]];
    while (stack.length) {
      const [f, ready] = stack.pop();
      if (ready) {
        heights.set(f, 1 + pack(f.children));
        continue;
      }
      stack.push([f, true]);
      for (const child of f.children) stack.push([child, false]);
    }
  }
  const rows = pack(roots);
  const stack = roots.map((f) => [f, 0]);
  while (stack.length) {
    const [f, above] = stack.pop();
    if (!offsets.has(f)) continue;
    const row = above + offsets.get(f);
    places.push({ id: f.id, frame: f, row, ...hulls.get(f) });
    for (const child of f.children) stack.push([child, row + 1]);
  }
  places.sort((a, b) => a.row - b.row || a.from - b.from);
  return { places, rows };
}

// byAmount places frames as an icicle of totals: a frame is as wide as its own amount and
// those below it together; what no child covers is its own. From and until are amounts.
export function byAmount(roots, amountOf) {
  const totals = new Map();
  const places = [];
  for (const root of roots) {
    const stack = [[root, false]];
    while (stack.length) {
      const [f, ready] = stack.pop();
      if (!ready) {
        stack.push([f, true]);
        for (const child of f.children) stack.push([child, false]);
        continue;
      }
      totals.set(f, f.children.reduce((sum, child) => sum + totals.get(child), amountOf(f)));
    }
  }
  let rows = 0;
  let at = 0;
  const stack = [];
  for (const root of roots) {
    stack.push([root, at, 0]);
    at += totals.get(root);
  }
  while (stack.length) {
    const [f, from, row] = stack.pop();
    const total = totals.get(f);
    if (!(total > 0)) continue;
    rows = Math.max(rows, row + 1);
    places.push({ id: f.id, frame: f, row, from, until: from + total, own: amountOf(f) });
    let inner = from;
    for (const child of f.children) {
      stack.push([child, inner, row + 1]);
      inner += totals.get(child);
    }
  }
  places.sort((a, b) => a.row - b.row || a.from - b.from);
  return { places, rows, total: at };
}

// notch is the width of a folded gap, in pixels.
const notch = 18;

// scaleOf returns a function from values to pixels, with the gaps folded to notches.
export function scaleOf(from, until, gaps, width) {
  const inside = gaps
    .map((g) => ({ from: Math.max(g.from, from), until: Math.min(g.until, until) }))
    .filter((g) => g.until > g.from)
    .sort((a, b) => a.from - b.from);
  const fold = Math.min(notch, width / 3 / Math.max(1, inside.length));
  const idle = inside.reduce((sum, g) => sum + g.until - g.from, 0);
  const each = Math.max(width - inside.length * fold, 1) / Math.max(until - from - idle, 1);
  const pieces = []; // {value, x, rate}: from value on, x grows by rate
  let value = from;
  let x = 0;
  for (const g of inside) {
    pieces.push({ value, x, rate: each });
    x += (g.from - value) * each;
    pieces.push({ value: g.from, x, rate: fold / (g.until - g.from), gap: g });
    x += fold;
    value = g.until;
  }
  pieces.push({ value, x, rate: each });
  const scale = (v) => {
    let low = 0;
    let high = pieces.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (pieces[middle].value <= v) low = middle;
      else high = middle - 1;
    }
    return pieces[low].x + (v - pieces[low].value) * pieces[low].rate;
  };
  scale.gaps = pieces.filter((p) => p.gap).map((p) => ({ x: p.x, width: fold, ...p.gap }));
  scale.rate = each;
  return scale;
}

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000];

// ticksOf returns the values at which an axis of time has marks, some 110 pixels apart,
// none in a gap.
export function ticksOf(from, until, scale, offset) {
  const wanted = 110 / scale.rate / 1000;
  const step = 1000 * (steps.find((n) => n >= wanted) || Math.ceil(wanted / 2592000) * 2592000);
  const ticks = [];
  for (let t = Math.ceil((from - offset) / step) * step + offset; t <= until && ticks.length < 200; t += step) {
    const gap = scale.gaps.find((g) => t > g.from && t < g.until);
    if (gap) t = Math.floor((gap.until - offset) / step) * step + offset;
    else ticks.push(t);
  }
  return { ticks, step };
}
