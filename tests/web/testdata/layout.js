// Checks the promises of web/page/layout.js and web/page/axis.js on random trees and axes, and
// returns the broken ones.
(async () => {
  const { byClock, byAmount, emptyOf } = await import("./layout.js");
  const { Axis, ticksOf } = await import("./axis.js");
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
    // While a subtree lasts, no other frame uses its rows.
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
    const axis = new Axis(from, until, gaps, width);
    const whole = axis.whole();
    const near = (a, b, what, most = 0.01) => check(Math.abs(a - b) <= most, `${what}: ${a}, not ${b}`);
    near(whole.x(from), 0, "axis: its begin");
    near(whole.x(until), width, "axis: its end");
    check(whole.gaps().reduce((sum, g) => sum + g.width, 0) <= width / 3 + 0.01, "axis: gaps have more than a third");
    // Moves in a row: what is held comes to where it is held, unless an edge is in the way.
    let scale = whole;
    for (let i = 0; i < 12; i++) {
      const x = random() * width;
      const to = i % 3 ? x : random() * width;
      const times = i % 3 === 0 ? 1 : 0.4 + random() * 3;
      const held = scale.value(x);
      const part = axis.held(scale, x, to, times);
      if (part) check(part.from >= from - 1 && part.until <= until + 1 && part.from < part.until, `hand: it shows ${part.from}..${part.until}`);
      const next = part ? axis.showing(part.from, part.until) : whole;
      check(next.rate >= axis.rate * (1 - 1e-9) && next.rate <= axis.most * (1 + 1e-9), "hand: it zooms too far");
      const isFree = part && next.left > 0.5 && next.left + width < next.width - 0.5;
      if (isFree && next.rate < axis.most * 0.999) near(next.x(held), to, "hand: what was held", 0.5);
      if (part) near(next.value(0), part.from, "hand: the left edge", 1 + (part.until - part.from) / width);
      scale = next;
      check(scale.value(width) - scale.value(0) > 0, "axis: nothing is shown");
      let last = -Infinity;
      for (let n = 0; n <= 50; n++) {
        const value = from + ((until - from) * n) / 50;
        const at = scale.x(value);
        check(at >= last - 1e-6, "axis: it runs back");
        near(scale.value(at), value, "axis: there and back", 1 + (until - from) * 1e-9);
        last = at;
      }
      for (const g of scale.gaps()) check(g.width <= 40.001, "axis: a folded gap is too wide");
    }
    // On the way in, no gap becomes narrower.
    for (let rate = axis.rate, was = 0; rate < axis.most; rate *= 1.7) {
      check(axis.notchAt(rate) >= was, "axis: zooming in folds a gap more");
      was = axis.notchAt(rate);
    }
    const offset = (below(48) - 24) * 1800000;
    const seen = { from: scale.value(0), until: scale.value(width) };
    const { ticks, step } = ticksOf(seen.from, seen.until, scale, offset);
    check(ticks.length < 200, `ticks: ${ticks.length}`);
    ticks.forEach((t, i) => {
      check(t >= seen.from && t <= seen.until, "ticks: one is outside");
      check((t - offset) % step === 0, "ticks: one is not round");
      check(!scale.gaps().some((g) => t > g.from && t < g.until), "ticks: one is in a gap");
      if (i) check(t > ticks[i - 1], "ticks: they run back");
      if (i && !scale.gaps().some((g) => g.from >= ticks[i - 1] && g.until <= t)) check(scale.x(t) - scale.x(ticks[i - 1]) >= 60, `ticks: two are ${scale.x(t) - scale.x(ticks[i - 1])} apart`);
    });
  };

  // Where clocks jumped, frames end before they begin, begin in the future, or at the very first.
  const jumps = ({ all, roots }) => {
    const odd = () => [1, now + 1, now + 1e12, below(now)][below(4)];
    for (const f of all) if (f.from && random() < 0.4) Object.assign(f, { from: odd(), until: below(2) ? odd() : 0 });
    const { places } = byClock(roots, now);
    apart(places, "clocks that jump");
    within(places, parentsOf(all), "clocks that jump");
    for (const p of places) check(p.from < p.until && p.until <= Math.max(now, p.from + 1) && p.from < now, `clocks that jump: ${p.id} is at ${p.from}..${p.until}`);
    for (const e of emptyOf(places)) check(!places.some((p) => p.from < e.until && p.until > e.from), "empty stretches: there is a frame");
  };

  for (seed = 1; seed <= 4000; seed++) {
    random = randomOf(seed);
    const trees = forest(1 + below(seed % 100 === 0 ? 400 : 25));
    clock(trees);
    amounts(trees);
    scales();
    jumps(trees);
  }
  return broken;
})()
