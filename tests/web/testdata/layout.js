// The promises of web/page/layout.js, kept for random trees: comes to what is broken.
(async () => {
  const { byClock, byAmount, scaleOf, ticksOf } = await import("./layout.js");
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

  // A forest as agents leave it: children begin within their parent's time or before it
  // was taken up, end in it or after, or go on; some were never begun.
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
      for (let i = 1; i < row.length; i++) check(row[i - 1].until <= row[i].from, `${what}: ${row[i - 1].id} and ${row[i].id} overlap`);
    }
  };
  const within = (places, parents, what) => {
    const at = new Map(places.map((p) => [p.id, p]));
    for (const p of places) {
      const up = at.get(parents.get(p.id));
      if (!up) continue;
      check(p.row > up.row, `${what}: ${p.id} is not below ${up.id}`);
      check(p.from >= up.from && p.until <= up.until, `${what}: ${p.id} lasts longer than ${up.id}`);
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
    for (const p of places) check(p.row >= 0 && p.row < rows && p.from < p.until, `by clock: ${p.id} is out of the picture`);
    for (const f of all) {
      const begun = (x) => x.from > 0 || x.children.some(begun);
      check(at.has(f.id) === begun(f), `by clock: ${f.id} ${begun(f) ? "has no place" : "was never begun"}`);
      const p = at.get(f.id);
      if (p && f.from) check(p.from <= f.from && p.until >= (f.until || now), `by clock: ${f.id} is shorter than it lasted`);
    }
    // A subtree has its rows for itself, as long as it lasts.
    for (const p of places.slice(0, 30)) {
      const own = new Set();
      const gather = (f) => { own.add(f.id); f.children.forEach(gather); };
      gather(p.frame);
      const deepest = Math.max(...[...own].filter((id) => at.has(id)).map((id) => at.get(id).row));
      for (const q of places) {
        if (own.has(q.id) || q.row <= p.row || q.row > deepest) continue;
        check(q.until <= p.from || q.from >= p.until, `by clock: ${q.id} is among what is below ${p.id}`);
      }
    }
    // The same frames in another order have the same places.
    const shuffled = (f) => ({ ...f, children: order(f.children).map(shuffled) });
    const again = new Map(byClock(order(roots).map(shuffled), now).places.map((p) => [p.id, p.row]));
    for (const p of places) check(again.get(p.id) === p.row, `by clock: ${p.id} depends on the order`);
    // As time goes on, nothing moves to another row.
    for (const later of [now + 1, now + 5e5, now + 1e9]) {
      const then = byClock(roots, later);
      check(then.places.length === places.length, "by clock: time adds or takes frames");
      for (const q of then.places) check(at.get(q.id).row === q.row && at.get(q.id).from === q.from, `by clock: ${q.id} moves as time goes on`);
    }
  };

  const amounts = ({ all, roots }) => {
    const parents = parentsOf(all);
    const amountOf = (f) => f.self;
    const { places, total } = byAmount(roots, amountOf);
    apart(places, "by amount");
    const at = within(places, parents, "by amount");
    const sums = new Map();
    const sum = (f) => { const n = f.children.reduce((s, c) => s + sum(c), f.self); sums.set(f.id, n); return n; };
    const whole = roots.reduce((s, f) => s + sum(f), 0);
    check(total === whole, `by amount: ${total} in all, not ${whole}`);
    for (const f of all) {
      check(at.has(f.id) === sums.get(f.id) > 0, `by amount: ${f.id} has ${sums.get(f.id)}`);
      const p = at.get(f.id);
      if (p) check(p.until - p.from === sums.get(f.id), `by amount: ${f.id} is ${p.until - p.from} wide, not ${sums.get(f.id)}`);
      if (p && parents.has(f.id)) check(p.row === at.get(parents.get(f.id)).row + 1, `by amount: ${f.id} is not directly below`);
    }
  };

  const scales = () => {
    const from = 1e12 + below(1e9);
    const until = from + 1 + below(10) ** below(9) * 1000;
    const width = 50 + below(2000);
    const gaps = [];
    for (let at = from - below(1e6), n = below(8); n > 0; n--) {
      const begins = at + below((until - from) / 4 + 1);
      at = begins + 1 + below((until - from) / 3 + 1);
      gaps.push({ from: begins, until: at });
    }
    const scale = scaleOf(from, until, gaps, width);
    check(Math.abs(scale(from)) < 1e-6, `scale: begins at ${scale(from)}`);
    check(scale(until) <= width + 1e-3 * width && scale(until) >= 0, `scale: ends at ${scale(until)} of ${width}`);
    let last = -1;
    for (let i = 0; i <= 50; i++) {
      const x = scale(from + ((until - from) * i) / 50);
      check(x >= last - 1e-6, "scale: runs back");
      last = x;
    }
    for (const g of scale.gaps) check(g.width <= 18 && g.x >= -1e-6 && g.x + g.width <= width * 1.001, "scale: a gap is too wide");
    const offset = (below(48) - 24) * 1800000;
    const { ticks, step } = ticksOf(from, until, scale, offset);
    check(ticks.length < 200, `ticks: ${ticks.length}`);
    ticks.forEach((t, i) => {
      check(t >= from && t <= until, "ticks: one is outside");
      check((t - offset) % step === 0, "ticks: one is not round");
      check(!scale.gaps.some((g) => t > g.from && t < g.until), "ticks: one is in a gap");
      if (i) check(t > ticks[i - 1], "ticks: they run back");
      if (i && !scale.gaps.some((g) => g.from >= ticks[i - 1] && g.until <= t)) check(scale(t) - scale(ticks[i - 1]) >= 60, `ticks: two are ${scale(t) - scale(ticks[i - 1])} apart`);
    });
  };

  for (seed = 1; seed <= 4000; seed++) {
    random = randomOf(seed);
    const trees = forest(1 + below(seed % 100 === 0 ? 400 : 25));
    clock(trees);
    amounts(trees);
    scales();
  }
  return broken;
})()
