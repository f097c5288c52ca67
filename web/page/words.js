// Words and numbers as people read them.

// The signs of statuses are those of `flame tree`; U+FE0E keeps browsers from drawing an emoji.
export const glyphs = { planned: "○", in_progress: "→", completed: "✓", failed: "⚠\uFE0E", blocked: "!", invalidated: "✗" };
export const statusNames = {
  in_progress: "in progress", planned: "planned", completed: "completed", blocked: "blocked", failed: "failed", invalidated: "invalidated",
};

const units = [[86400000, "d"], [3600000, "h"], [60000, "m"], [1000, "s"]];

// duration tells a time in ms in at most two units.
export function duration(ms) {
  if (!(ms >= 1000)) return ms > 0 ? "<1 s" : "0 s";
  let i = units.findIndex(([size]) => ms >= size);
  const [size, name] = units[i];
  const n = Math.floor(ms / size);
  if (i === units.length - 1 || n >= 10) return `${n} ${name}`;
  const [small, smaller] = units[i + 1];
  const rest = Math.floor((ms % size) / small);
  return rest ? `${n} ${name} ${rest} ${smaller}` : `${n} ${name}`;
}

// amount tells a number in three digits.
export function amount(n) {
  n = n || 0;
  for (const [size, name] of [[1e9, " G"], [1e6, " M"], [1e3, " k"]]) {
    if (n >= size * 0.9995) return (n / size).toFixed(n >= size * 99.95 ? 0 : n >= size * 9.995 ? 1 : 2) + name;
  }
  return String(Math.round(n));
}

// money tells US dollars.
export function money(usd) {
  if (!usd) return "$0";
  return usd < 0.01 ? "<$0.01" : "$" + usd.toFixed(usd >= 100 ? 0 : 2);
}

export function tokensOf(u) { return u ? (u.tokensIn || 0) + (u.tokensOut || 0) + (u.cacheRead || 0) + (u.cacheWritten || 0) : 0; }

// cost tells what some work cost: the least, if the price of a part is not known.
export function cost(u) {
  if (!u || !u.unpriced) return money(costOf(u));
  return costOf(u) ? "≥ " + money(costOf(u)) : "?";
}

export function costOf(u) { return u ? u.costUSD || 0 : 0; }

const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const minute = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const second = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const latest = 8.64e15; // of the times that browsers know

function dateOf(t) { return new Date(Math.max(-latest, Math.min(latest, Number(t) || 0))); }

// ago tells how long ago something was, in one unit; long ago, on which day.
function ago(t, now) {
  const ms = Math.abs(now - t);
  if (ms < 5000) return "just now";
  if (ms > 14 * 86400000) return day.format(dateOf(t)) + (ms > 300 * 86400000 ? " " + dateOf(t).getFullYear() : "");
  const [size, name] = units.find(([size]) => ms >= size);
  return t > now ? `in ${Math.floor(ms / size)} ${name}` : `${Math.floor(ms / size)} ${name} ago`;
}

// tookOf returns how long work went on in a frame that was begun, in ms.
export function tookOf(f, now) { return Math.max(0, (f.until || f.still || now) - f.from - (f.idle || 0)); }

// when is a time as people say it, with the exact one where it is pointed at.
export function when(t, now) {
  return h("time", { datetime: dateOf(t).toISOString(), title: exact.format(dateOf(t)), "data-at": t }, ago(t, now));
}

// freshen has the times in an element go on.
export function freshen(box, now) {
  for (const el of box.querySelectorAll("[data-at]")) {
    const text = ago(Number(el.getAttribute("data-at")), now);
    if (el.textContent !== text) el.textContent = text;
  }
}

// moment tells a point in time, as exactly as the span around it needs. A moment of the same day,
// before, has told the date.
export function moment(t, span = 0, before = 0) {
  const at = dateOf(t);
  const isDated = before && dateOf(before).toDateString() === at.toDateString();
  if (span > 3 * 86400000) return day.format(at) + (at.getFullYear() === new Date().getFullYear() ? "" : " " + at.getFullYear());
  if (span && span < 10 * 60000) return second.format(at);
  return (!isDated && (span > 20 * 3600000 || Math.abs(Date.now() - t) > 20 * 3600000) ? day.format(at) + " " : "") + minute.format(at);
}

export function plural(n, thing) { return `${n} ${thing}${n === 1 ? "" : "s"}`; }

// h makes an element. Texts become text nodes, whatever they hold.
export function h(tag, props, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") el[name] = value;
    else el.setAttribute(name, value === true ? "" : value);
  }
  el.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return el;
}

// s makes an element of SVG.
export function s(tag, props, ...children) {
  const el = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props || {})) el.setAttribute(name, value);
  el.append(...children);
  return el;
}

// whoseOf names an agent, and the machine that asked for it if that is another than this one.
export function whoseOf(a) { return (a.type || "agent") + (a.machine ? " @" + a.machine : ""); }

// whoOf names who works in a frame, and the machine if that is another than this one.
export function whoOf(f) { return [f.agent || f.host, f.machine && "@" + f.machine].filter(Boolean).join(" "); }

const hues = new Map(); // by name

// hueOf returns which of the eight colours a name has: one that no other has, while there is
// one.
export function hueOf(name) {
  if (!name) return 7;
  const known = hues.get(name);
  if (known !== undefined) return known;
  let sum = 0;
  for (const c of name) sum = (sum * 31 + c.codePointAt(0)) >>> 0;
  let hue = sum % 8;
  const taken = new Set(hues.values());
  while (taken.size < 8 && taken.has(hue)) hue = (hue + 1) % 8;
  hues.set(name, hue);
  return hue;
}

// morph makes an element like another one, and keeps all that is alike: what a person presses,
// marks or has the focus on stays there.
export function morph(el, like) {
  for (const { name } of [...el.attributes]) if (!like.hasAttribute(name)) el.removeAttribute(name);
  for (const { name, value } of like.attributes) {
    if (el.getAttribute(name) === value) continue;
    if (name === "style") el.style.cssText = value; // the policy forbids the attribute
    else el.setAttribute(name, value);
  }
  const old = [...el.childNodes];
  const wanted = [...like.childNodes];
  wanted.forEach((child, i) => {
    const there = old[i];
    if (!there) el.append(child);
    else if (there.nodeName !== child.nodeName) there.replaceWith(child);
    else if (there.nodeType !== Node.TEXT_NODE) morph(there, child);
    else if (there.data !== child.data) there.data = child.data;
  });
  old.slice(wanted.length).forEach((node) => node.remove());
}
