// Checks web/page/days.js, and returns what is wrong.
(async () => {
  const { daysBefore, spentBy } = await import("./days.js");
  const hour = 3600000;
  const broken = [];
  const near = (got, want, what) => { if (!(Math.abs(got - want) < 1e-6)) broken.push(`${what}: ${got} instead of ${want}`); };
  const at = (day, h) => new Date(2026, 10, day, h).getTime();
  const now = at(24, 12);
  const edges = daysBefore(now, 5);
  near(edges.length, 6, "edges");
  near(edges[4], at(24, 0), "today begins");
  near(edges[5], at(25, 0), "today ends");
  const spent = (frames, gaps = []) => spentBy(frames, { edges, gaps, now, nameOf: (f) => f.host || "other", amountOf: (f) => f.usd }).map((day) => Object.fromEntries(day));

  near(spent([{ host: "x", usd: 3, from: at(24, 1), until: at(24, 2) }])[4].x, 3, "within a day");
  const night = spent([{ host: "x", usd: 4, from: at(23, 23), until: at(24, 3) }]);
  near(night[3].x, 1, "before midnight");
  near(night[4].x, 3, "after midnight");
  const idle = spent([{ host: "x", usd: 4, from: at(22, 22), until: at(24, 2) }], [{ from: at(23, 8), until: at(24, 0) }, { from: at(23, 0), until: at(23, 8) }]);
  near(idle[2].x, 2, "before an idle day");
  near(idle[3].x === undefined, 1, "an idle day");
  near(idle[4].x, 2, "after an idle day");
  near(spent([{ host: "x", usd: 2, from: at(24, 1), until: at(24, 3) }], [{ from: at(24, 0), until: at(24, 9) }])[4].x, 2, "all within a gap");
  near(spent([{ usd: 2, from: at(24, 10), until: 0 }])[4].other, 2, "in progress");
  near(spent([{ usd: 5, created: at(24, 1), from: 0, until: 0 }])[4].other, 5, "without a beginning");
  const old = spent([{ host: "x", usd: 10, from: at(19, 0), until: at(21, 0) }]);
  near(old[0].x, 5 * (at(21, 0) - at(20, 0)) / (at(21, 0) - at(19, 0)) * 2, "the part within the days");
  near(spent([{ usd: 1, from: at(1, 0), until: at(2, 0) }]).every((day) => !Object.keys(day).length), 1, "long ago");
  // A clock that jumped.
  for (const f of [{ from: now + 9 * hour, until: now + 10 * hour }, { from: now, until: now - hour }, { from: now + 1e12, until: 0 }, { from: 1, until: 8.64e15 }, { from: NaN, until: NaN }]) {
    for (const day of spent([{ usd: 1, ...f }])) for (const n of Object.values(day)) if (!(n >= 0 && n <= 1.000001)) broken.push(`${JSON.stringify(f)}: ${n}`);
  }
  // Nothing is lost or counted twice.
  let seed = 7;
  const random = (n) => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) % n;
  for (let i = 0; i < 300; i++) {
    const gaps = Array.from({ length: random(5) }, (_, n) => ({ from: edges[n] + random(12) * hour, until: edges[n] + (12 + random(12)) * hour }));
    const frames = Array.from({ length: 1 + random(9) }, () => { const from = edges[0] + random(100 * hour); return { usd: 1, from, until: Math.min(from + random(40 * hour), edges[5]) }; });
    const sum = spent(frames, gaps).reduce((all, day) => all + (day.other || 0), 0);
    near(sum, frames.length, "the sum of " + JSON.stringify({ gaps, frames }));
  }
  return broken.slice(0, 10);
})()
