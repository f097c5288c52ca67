// Cost and tokens by day: what each frame used itself, over the time in which it was worked
// in. Pure: the same frames give the same days.

const hour = 3600000;

// workedIn returns how long a stretch without the gaps, which are sorted, is.
function workedIn(from, until, gaps) {
  let idle = 0;
  for (let i = after(gaps, from); i < gaps.length && gaps[i].from < until; i++) idle += Math.max(0, Math.min(until, gaps[i].until) - Math.max(from, gaps[i].from));
  return until - from - idle;
}

// after returns the first of sorted gaps that ends after a time.
function after(gaps, t) {
  let low = 0;
  let high = gaps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (gaps[middle].until > t) high = middle;
    else low = middle + 1;
  }
  return low;
}

// daysBefore returns the beginnings of so many days, by this computer's calendar, and the end
// of the last: the one of now.
export function daysBefore(now, count) {
  const today = new Date(now);
  today.setHours(0, 0, 0, 0);
  return Array.from({ length: count + 1 }, (_, i) => new Date(today.getFullYear(), today.getMonth(), today.getDate() - count + 1 + i).getTime());
}

// spentBy adds up an amount of frames by day and by name. A frame of which only a part lies
// within the days counts by that part.
export function spentBy(frames, { edges, gaps, now, nameOf, amountOf }) {
  const days = edges.slice(1).map(() => new Map());
  const sorted = [...gaps].sort((a, b) => a.from - b.from);
  for (const f of frames) {
    const amount = amountOf(f);
    if (!(amount > 0)) continue;
    const from = f.from || f.created;
    const until = Math.max(from + 1, Math.min(f.until || f.still || now, now + hour));
    if (until <= edges[0] || from >= edges[edges.length - 1]) continue;
    const whole = workedIn(from, until, sorted);
    for (let i = 0; i < days.length; i++) {
      const [begins, ends] = [Math.max(from, edges[i]), Math.min(until, edges[i + 1])];
      if (ends <= begins) continue;
      const share = whole > 0 ? workedIn(begins, ends, sorted) / whole : (ends - begins) / (until - from);
      if (share > 0) days[i].set(nameOf(f), (days[i].get(nameOf(f)) || 0) + amount * share);
    }
  }
  return days;
}
