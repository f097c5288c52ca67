// Words and numbers as people read them.

export const statusNames = {
  in_progress: "In progress", planned: "Planned", completed: "Completed", blocked: "Blocked", failed: "Failed", invalidated: "Set aside",
};

const units = [[86400000, "d"], [3600000, "h"], [60000, "m"], [1000, "s"]];

// duration tells a time in ms in at most two units.
export function duration(ms) {
  if (!(ms >= 1000)) return `${Math.floor(ms) || 0} ms`;
  if (ms < 9950) return `${Number((ms / 1000).toPrecision(2))} s`;
  const whole = Math.round(ms / 1000) * 1000;
  const i = units.findIndex(([size]) => whole >= size);
  const [size, name] = units[i];
  const rest = i + 1 < units.length ? Math.floor((whole % size) / units[i + 1][0]) : 0;
  return `${Math.floor(whole / size)} ${name}${rest ? ` ${rest} ${units[i + 1][1]}` : ""}`;
}

// minutes tells a time in whole minutes at least, so that it changes once a minute.
export function minutes(ms) { return ms < 60000 ? "<1 m" : duration(ms - (ms % 60000)); }

// amount tells a number in three digits, as flame's texts do.
export function amount(n) {
  let [x, larger] = [n || 0, ""];
  for (const prefix of "kMGT") {
    if (x < 999.5) break;
    [x, larger] = [x / 1000, " " + prefix];
  }
  return Number(x.toPrecision(3)) + larger;
}

// percent tells a part of 1, and less how many times smaller something became.
export function percent(part) { return Math.round(part * 1000) / 10 + " %"; }

export function less(times) { return times.toFixed(1) + "x less"; }

// money tells US dollars.
export function money(usd) { return !usd ? "$0" : usd < 0.01 ? "<$0.01" : "$" + usd.toFixed(2); }

export function tokensOf(u) { return u ? (u.tokensIn || 0) + (u.tokensOut || 0) + (u.cacheRead || 0) + (u.cacheWritten || 0) : 0; }

// cost tells what some work cost: the least, if the price of a part is not known. Costs of a list
// stand below each other, and are short.
export function cost(u) {
  if (u && (u.unpriced || (!costOf(u) && tokensOf(u)))) return costOf(u) >= 0.01 ? "at least " + money(costOf(u)) : "cost not known";
  return money(costOf(u));
}

export function listed(u) { return !costOf(u) && !tokensOf(u) ? "" : cost(u).replace("at least ", "≥ ").replace("cost not known", "?"); }

export function costOf(u) { return u ? u.costUSD || 0 : 0; }

const day = new Intl.DateTimeFormat("en-US", { month: "short", day: "numeric" });
const minute = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const latest = 8.64e15; // of the times that browsers know

function dateOf(t) { return new Date(Math.max(-latest, Math.min(latest, Number(t) || 0))); }

// ago tells how long ago something was; long ago, on which day.
function ago(t, now) {
  const ms = Math.abs(now - t);
  if (ms < 5000) return "just now";
  if (ms > 14 * 86400000) return day.format(dateOf(t)) + (ms > 300 * 86400000 ? " " + dateOf(t).getFullYear() : "");
  const text = ms < 60000 ? duration(ms) : minutes(ms);
  return t > now ? "in " + text : text + " ago";
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

// moment tells a point in time: of today by its hour, of another day with that.
export function moment(t, now = Date.now()) {
  const at = dateOf(t);
  if (at.toDateString() === new Date(now).toDateString()) return minute.format(at);
  return day.format(at) + (at.getFullYear() === new Date(now).getFullYear() ? "" : " " + at.getFullYear()) + " " + minute.format(at);
}

// dayOf tells a day, and isDay whether two times are of one.
export function dayOf(t) { return day.format(dateOf(t)); }

export function isDay(t, other) { return dateOf(t).toDateString() === dateOf(other).toDateString(); }

export function plural(n, thing) { return n === 1 ? "1 " + thing : `${n} ${thing.replace(/ry$/, "rie")}s`; }

// h makes an element. Texts become text nodes, whatever they hold.
export function h(tag, props, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") el[name] = value;
    else el.setAttribute(name, value === true ? "" : value);
  }
  el.append(...children.flat(3).filter((c) => c !== null && c !== undefined && c !== false));
  return el;
}

// s makes an element of SVG.
export function s(tag, props, ...children) {
  const el = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props || {})) el.setAttribute(name, value);
  el.append(...children);
  return el;
}

// whoOf names who works in a frame: its agent and its host, and the machine if that is another.
export function whoOf(f, titles) {
  const host = titles[f.host] || f.host || "";
  return [f.agent && host ? `${f.agent} in ${host}` : f.agent || host, f.machine && "@" + f.machine].filter(Boolean).join(" ");
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
