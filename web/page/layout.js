// Where frames stand in the picture. Pure: the same frames give the same places.

// A frame here is {id, from, until, children, self, total}; until is 0 while it is open,
// and still is since when no work goes on in it then.
// Places are {frame, row, x, wide} in pixels; rows count from 0, the top.

// hull returns from when until when a frame and all below it lasted; open ones until now.
// Nothing lasts beyond now: where a clock was ahead, what it noted is as of now.
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
    let from = f.from ? Math.min(f.from, now - 1) : Infinity;
    let until = f.from ? Math.max(Math.min(f.until || f.still || now, now), from + 1) : -Infinity;
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
    places.push({ frame: f, row, ...hulls.get(f) });
    for (const child of f.children) stack.push([child, row + 1]);
  }
  places.sort((a, b) => a.row - b.row || a.from - b.from);
  return { places, rows };
}

// byAmount places frames as an icicle of totals on a width: a frame is as wide as all that was
// spent in it and below it, the widest first; what no child covers is its own. A frame of less
// than a pixel is a place together with those beside it, and what is below it has none.
export function byAmount(roots, amountOf, width) {
  const places = [];
  let rows = 0;
  const whole = roots.reduce((sum, f) => sum + amountOf(f), 0);
  const rate = whole > 0 ? width / whole : 0;
  const stack = [[roots, 0, 0]];
  while (stack.length) {
    const [frames, left, row] = stack.pop();
    const costly = frames.filter((f) => amountOf(f) > 0).sort((a, b) => amountOf(b) - amountOf(a) || (a.id < b.id ? -1 : 1));
    let x = left;
    for (const f of costly) {
      const wide = amountOf(f) * rate;
      places.push({ frame: f, row, x, wide });
      rows = Math.max(rows, row + 1);
      if (wide >= 1 && f.children.length) stack.push([f.children, x, row + 1]);
      x += wide;
    }
  }
  return { places: places.sort((a, b) => a.row - b.row || a.x - b.x), rows };
}

// emptyOf returns the stretches between places in which there is none.
export function emptyOf(places) {
  const sorted = [...places].sort((a, b) => a.from - b.from);
  const empty = [];
  let until = sorted.length ? sorted[0].from : 0;
  for (const p of sorted) {
    if (p.from > until) empty.push({ from: until, until: p.from });
    until = Math.max(until, p.until);
  }
  return empty;
}
