// Checks the promises of layout.js, axis.js and diff.js in web/page on random trees, axes and
// texts, and returns the broken ones.
(async () => {
  const { byClock, byAmount, emptyOf } = await import("./layout.js");
  const { byTime } = await import("./axis.js");
  const { aligned } = await import("./diff.js");
  const broken = [];
  let seed = 0;
  let random = () => 0;
  // mulberry32, so that a seed names a tree
  const randomOf = (n) => () => {
    n = (n + 0x6d2b79f5) | 0;
    let t = Math.imul(n ^ (n >>> 15), 1 | n);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const below = (n) => Math.floor(random() * n);
  const check = (is, what) => { if (!is && broken.length < 20) broken.push(`seed ${seed}: ${what}`); };
  const now = 1e6;

  // A forest like those of agents: children begin within their parent's time or before it
  // was activated, end in it or later, or continue; some never began.
  const forest = (size) => {
    const all = [];
    const roots = [];
    for (let i = 0; i < size; i++) {
      const up = all.length && random() < 0.85 ? all[Math.max(0, all.length - 1 - below(below(2) ? 3 : all.length))] : null;
      const from = random() < 0.15 ? 0 : 1 + (up && up.from && random() < 0.9 ? up.from + below(Math.max((up.until || now) - up.from, 1)) : below(now - 2));
      const until = !from || random() < 0.2 ? 0 : from + (random() < 0.1 ? 0 : below(Math.min(now - from, 1 + below(now))));
      const f = { id: "f" + i, from, until, children: [], self: below(4) ? below(1000) / 8 : 0 };
      (up ? up.children : roots).push(f);
      all.push(f);
    }
    return { all, roots };
  };
  const parentsOf = (all) => {
    const parents = new Map();
    for (const f of all) for (const child of f.children) parents.set(child.id, f.id);
    return parents;
  };
  const apart = (places, what) => {
    const rows = new Map();
    for (const p of places) rows.set(p.row, [...(rows.get(p.row) || []), p]);
    for (const row of rows.values()) {
      row.sort((a, b) => a.from - b.from || a.until - b.until);
      for (let i = 1; i < row.length; i++) check(row[i - 1].until <= row[i].from, `${what}: ${row[i - 1].frame.id} and ${row[i].frame.id} overlap`);
    }
  };
  const within = (places, parents, what) => {
    const at = new Map(places.map((p) => [p.frame.id, p]));
    for (const p of places) {
      const up = at.get(parents.get(p.frame.id));
      if (!up) continue;
      check(p.row > up.row, `${what}: ${p.frame.id} is not below ${up.frame.id}`);
      check(p.from >= up.from && p.until <= up.until, `${what}: ${p.frame.id} lasts longer than ${up.frame.id}`);
    }
    return at;
  };
  const order = (list) => list.map((x) => [random(), x]).sort((a, b) => a[0] - b[0]).map((x) => x[1]);

  const clock = ({ all, roots }) => {
    const parents = parentsOf(all);
    const { places, rows } = byClock(roots, now);
    apart(places, "by clock");
    const at = within(places, parents, "by clock");
    check(at.size === places.length, "by clock: a frame has two places");
    for (const p of places) check(p.row >= 0 && p.row < rows && p.from < p.until, `by clock: ${p.frame.id} is out of the picture`);
    for (const f of all) {
      const begun = (x) => x.from > 0 || x.children.some(begun);
      check(at.has(f.id) === begun(f), `by clock: ${f.id} ${begun(f) ? "has no place" : "was never begun"}`);
      const p = at.get(f.id);
      if (p && f.from) check(p.from <= f.from && p.until >= (f.until || now), `by clock: ${f.id} is shorter than it lasted`);
    }
    // While a subtree lasts, no other frame uses its rows.
    for (const p of places.slice(0, 30)) {
      const own = new Set();
      const gather = (f) => { own.add(f.id); f.children.forEach(gather); };
      gather(p.frame);
      const deepest = Math.max(...[...own].filter((id) => at.has(id)).map((id) => at.get(id).row));
      for (const q of places) {
        if (own.has(q.frame.id) || q.row <= p.row || q.row > deepest) continue;
        check(q.until <= p.from || q.from >= p.until, `by clock: ${q.frame.id} is among what is below ${p.frame.id}`);
      }
    }
    // The same frames in another order have the same places.
    const shuffled = (f) => ({ ...f, children: order(f.children).map(shuffled) });
    const again = new Map(byClock(order(roots).map(shuffled), now).places.map((p) => [p.frame.id, p.row]));
    for (const p of places) check(again.get(p.frame.id) === p.row, `by clock: ${p.frame.id} depends on the order`);
    // As time goes on, nothing moves to another row.
    for (const later of [now + 1, now + 5e5, now + 1e9]) {
      const then = byClock(roots, later);
      check(then.places.length === places.length, "by clock: time adds or takes frames");
      for (const q of then.places) check(at.get(q.frame.id).row === q.row && at.get(q.frame.id).from === q.from, `by clock: ${q.frame.id} moves as time goes on`);
    }
  };

  const amounts = ({ all, roots }) => {
    const parents = parentsOf(all);
    const sums = new Map();
    const sum = (f) => { const n = f.children.reduce((s, c) => s + sum(c), f.self); sums.set(f.id, n); return n; };
    const whole = roots.reduce((s, f) => s + sum(f), 0);
    const amountOf = (f) => sums.get(f.id);
    const width = whole * 8 + 1; // wide enough for each
    const { places } = byAmount(roots, amountOf, width);
    const scaled = places.map((p) => ({ ...p, from: p.x, until: p.x + p.wide - 1e-6 }));
    apart(scaled, "by amount");
    const at = new Map(places.map((p) => [p.frame.id, p]));
    const near = (a, b, what) => check(Math.abs(a - b) < 1e-6 * width, `${what}: ${a}, not ${b}`);
    for (const f of all) {
      check(at.has(f.id) === sums.get(f.id) > 0, `by amount: ${f.id} has ${sums.get(f.id)}`);
      const p = at.get(f.id);
      if (p) near(p.wide, (sums.get(f.id) * width) / whole, `by amount: ${f.id}`);
      const up = at.get(parents.get(f.id));
      if (p && up) check(p.row === up.row + 1 && p.x >= up.x - 1e-6 && p.x + p.wide <= up.x + up.wide + 1e-6, `by amount: ${f.id} is not below its parent`);
      const wide = p ? f.children.filter((c) => at.has(c.id)).sort((x, y) => at.get(x.id).x - at.get(y.id).x) : [];
      wide.forEach((c, i) => check(!i || sums.get(wide[i - 1].id) >= sums.get(c.id), "by amount: the widest is not first"));
    }
    // Where there is little room, the narrow ones are still there, and what is below them is not looked at.
    const few = byAmount(roots, amountOf, 20).places;
    for (const p of few) check(!parents.has(p.frame.id) || few.some((q) => q.frame.id === parents.get(p.frame.id) && q.wide >= 1), "by amount: below one of less than a pixel");
  };

  const axes = () => {
    const from = 1e12 + below(1e9);
    const until = from + 1 + below(10) ** below(9) * 1000;
    const width = 50 + below(2000);
    const pauses = [];
    for (let at = from - below(1e6), n = below(8); n > 0; n--) {
      const begins = at + below((until - from) / 4 + 1);
      at = begins + 1 + below((until - from) / 3 + 1);
      pauses.push({ from: begins, until: at });
    }
    const { axis } = byTime([{ id: "f", from, until, children: [] }], until, pauses, width);
    const near = (a, b, what) => check(Math.abs(a - b) <= 0.01, `${what}: ${a}, not ${b}`);
    near(axis.x(from), 0, "axis: its begin");
    near(axis.x(until), width, "axis: its end");
    for (let n = 0, last = -Infinity; n <= 50; n++) {
      const at = axis.x(from + ((until - from) * n) / 50);
      check(at >= last - 1e-6, "axis: it runs back");
      last = at;
    }
    let cut = 0;
    for (const p of axis.pieces.filter((p) => p.isCut)) {
      check(p.until - p.from >= 600000, "axis: a short pause is cut out");
      cut += axis.x(p.until) - axis.x(p.from);
      check(axis.x(p.until) - axis.x(p.from) <= 34.001, "axis: a pause is too wide");
    }
    check(cut <= width / 3 + 0.01, "axis: pauses have more than a third");
    const offset = (below(48) - 24) * 1800000;
    const marks = axis.marks(until, offset);
    check(marks.length < 320, `marks: ${marks.length}`);
    for (const m of marks) check(m.x >= -0.01 && m.x <= width + 0.01, "marks: one is outside");
    for (const m of marks.filter((m) => m.at)) check((m.at - offset) % 60000 === 0, "marks: one is not round");
  };

  // By time, idle stretches are no bar: all lies within the width, in the same order.
  const times = ({ roots }) => {
    const { places, rows } = byTime(roots, now, [{ from: 1000, until: 9e5 }], 700);
    for (const p of places) check(p.x >= -0.01 && p.x + p.wide <= 700.01 && p.wide >= 0 && p.row < rows, "by time: out of the picture");
  };

  // Side by side, both texts are whole, and equal lines stand in the same row.
  const sides = () => {
    const texts = [0, 1].map(() => Array.from({ length: below(9) }, () => "abc"[below(3)]).join("\n"));
    const [left, right] = aligned(texts);
    const back = (lines) => lines.filter((line) => line.text !== null).map((line) => line.text).join("\n");
    check(back(left) === texts[0] && back(right) === texts[1], `sides: lost ${JSON.stringify(texts)}`);
    check(left.length === right.length, "sides: not even");
    left.forEach((line, i) => {
      check(line.text !== null || right[i].text !== null, "sides: a row without lines");
      if (line.differs === false) check(right[i].text === line.text && right[i].differs === false, "sides: equal lines are apart");
    });
    for (const three of aligned(["a\nb", "a\nc", "a"])) check(three[0].differs === false && three.slice(1).every((line) => line.differs), "sides: of three");
  };

  // Where clocks jumped, frames end before they begin, begin in the future, or at the very first.
  const jumps = ({ all, roots }) => {
    const odd = () => [1, now + 1, now + 1e12, below(now)][below(4)];
    for (const f of all) if (f.from && random() < 0.4) Object.assign(f, { from: odd(), until: below(2) ? odd() : 0 });
    const { places } = byClock(roots, now);
    apart(places, "clocks that jump");
    within(places, parentsOf(all), "clocks that jump");
    for (const p of places) check(p.from < p.until && p.until <= Math.max(now, p.from + 1) && p.from < now, `clocks that jump: ${p.frame.id} is at ${p.from}..${p.until}`);
    for (const e of emptyOf(places)) check(!places.some((p) => p.from < e.until && p.until > e.from), "empty stretches: there is a frame");
  };

  for (seed = 1; seed <= 2000; seed++) {
    random = randomOf(seed);
    const trees = forest(1 + below(seed % 100 === 0 ? 400 : 25));
    clock(trees);
    amounts(trees);
    axes();
    times(trees);
    sides();
    jumps(trees);
  }
  return broken;
})()
