// The filter: one text with words to search for, and terms such as status:failed that say
// which frames are wanted. The field in the head and the address share it.

import { statusNames, tokensOf, costOf, plural } from "./words.js";

const spans = { m: 60000, h: 3600000, d: 86400000, w: 604800000 };

// startOf returns the time that a value of since names; NaN if it names none.
function startOf(value, now) {
  const [, n, unit] = /^(\d{1,6})([mhdw])$/.exec(value) || [];
  if (unit) return now - n * spans[unit];
  return /^\d{4}-\d\d-\d\d$/.test(value) ? new Date(value + "T00:00").getTime() : NaN;
}

const sizes = { "": 1, k: 1e3, m: 1e6, g: 1e9 };

// boundOf returns a test of numbers for a value such as >10k; null if it is none.
function boundOf(value) {
  const [, sign, n, size] = /^([<>])\$?(\d+(?:\.\d+)?)([kmg]?)$/i.exec(value) || [];
  if (!sign) return null;
  const bound = n * sizes[size.toLowerCase()];
  return sign === ">" ? (x) => x > bound : (x) => x < bound;
}

// near returns which of some names a person may have meant.
function near(value, names) {
  const letters = (text) => [...text].sort().join("");
  const found = [...names].find((name) => letters(name) === letters(value) || (value.length > 3 && (name.startsWith(value.slice(0, 3)) || name.endsWith(value.slice(-3)))));
  return found ? `. Did you mean ${found}?` : "";
}

// named is a key whose values are names of frames. Any name may appear later.
const named = (what, nameOf) => ({
  what, nameOf, is: (value) => (f) => nameOf(f) === value,
  begins: (value, model) => model && [...countsOf(model, nameOf).keys()].some((name) => name.startsWith(value)),
  wrong: (value, model) => (model && model.read && !countsOf(model, nameOf).has(value) ? `No frame here has the ${what} “${value}”${near(value, countsOf(model, nameOf).keys())}` : ""),
});

const measured = (what, of, examples) => ({
  what, examples, begins: (value) => /^[<>]?\$?\d*\.?$/.test(value), is: (value) => { const test = boundOf(value); return (f) => test(of(f.total)); },
  wrong: (value) => (boundOf(value) ? "" : `“${value}” is no bound: write ${examples.join(" or ")}`),
});

// keys are the keys of terms. Each tells what is wrong with a value, and which frames have it.
const keys = new Map(Object.entries({
  status: {
    what: "status", nameOf: (f) => f.status, is: (value) => (f) => f.status === value,
    begins: (value) => Object.keys(statusNames).some((name) => name.startsWith(value)),
    wrong: (value) => (Object.hasOwn(statusNames, value) ? "" : `There is no status “${value}”${near(value, Object.keys(statusNames)) || `: write ${Object.keys(statusNames).join(", ")}`}`),
  },
  agent: named("agent", (f) => f.agent || ""),
  host: named("host", (f) => f.host || ""),
  machine: named("machine", (f) => f.machine || ""),
  since: {
    what: "time", examples: ["15m", "2h", "1d", "7d"], begins: (value) => /^\d{0,6}$|^\d{4}-[\d-]{0,5}$/.test(value),
    is: (value, now) => { const start = startOf(value, now); return (f) => !f.until || f.until >= start; },
    wrong: (value) => (Number.isNaN(startOf(value, 0)) ? `“${value}” is no time: write 15m, 2h, 7d or 2026-01-31` : ""),
  },
  cost: measured("cost with all below it", costOf, [">0.50", "<10"]),
  tokens: measured("tokens with all below it", tokensOf, [">10k", ">1m"]),
}));

// countsOf counts the frames by their name.
function countsOf(model, nameOf) {
  if (model.counted !== model.version) Object.assign(model, { counted: model.version, counts: new Map() });
  let counts = model.counts.get(nameOf);
  if (counts) return counts;
  model.counts.set(nameOf, (counts = new Map()));
  for (const f of model.frames.values()) if (nameOf(f)) counts.set(nameOf(f), (counts.get(nameOf(f)) || 0) + 1);
  return counts;
}

const tokens = /(-?)(\p{L}+):((?:"[^"]*"?|[^\s"])*)|-?(?:"[^"]*"?|[^\s"])+/gu;
const unquoted = (text) => text.replaceAll('"', "");

// valuesOf splits the value of a term at the commas outside of quotes.
function valuesOf(text) { return (text.match(/(?:"[^"]*"?|[^,"])+/gu) || []).map(unquoted).filter(Boolean); }

// quoted returns a value as a term has it.
function quoted(value) { return /[\s",]/u.test(value) ? `"${unquoted(value)}"` : value; }

// termOf returns the text of a term.
export function termOf(key, value) { return `${key}:${quoted(value)}`; }

let last = null;

// filterOf parses a text: the words to search for, the terms, and where all of them stand.
export function filterOf(text = "") {
  if (last && last.text === text) return last;
  const found = { text, words: [], terms: [], parts: [] };
  for (const match of text.matchAll(tokens)) {
    const [whole, not, key, value] = match;
    const part = { from: match.index, until: match.index + whole.length, whole };
    found.parts.push(part);
    if (key && !value.startsWith("//")) found.terms.push(Object.assign(part, { not: Boolean(not), key: key.toLowerCase(), value, values: valuesOf(value) }));
    else found.words.push(unquoted(whole));
  }
  found.words = found.words.join(" ").trim();
  return (last = found);
}

// wrongIn tells what is wrong with a term; empty: nothing. Without a model it knows no names.
function wrongIn(term, model) {
  const key = keys.get(term.key);
  if (!key) return `There is no “${term.key}:”, but ${[...keys.keys()].join(", ")}; quotes search for the text itself`;
  return term.values.map((value) => key.wrong(value, model)).find(Boolean) || "";
}

// wrongsOf tells what is wrong with a text. The value at which a person types may still become
// right.
export function wrongsOf(text, model, caret = -1) {
  const goesOn = (t) => caret === t.until && keys.has(t.key) && keys.get(t.key).begins(t.values.at(-1) || "", model);
  return filterOf(text).terms.map((t) => (goesOn(t) ? wrongIn({ ...t, values: t.values.slice(0, -1) }, model) : wrongIn(t, model))).filter(Boolean);
}

// matcher returns which frames a view wants: those with all its words in their goals, and those
// that were found by their words. A wrong term, or one without a value, restricts nothing.
export function matcher(view, model, found) {
  const words = filterOf(view.q).words.toLowerCase().split(/\s+/u).filter(Boolean);
  const now = model.now();
  const tests = filterOf(view.q).terms.filter((t) => t.values.length && !wrongIn(t)).map((t) => {
    const wants = t.values.map((value) => keys.get(t.key).is(value, now));
    return (f) => wants.some((wanted) => wanted(f)) !== t.not;
  });
  const says = (f) => (found && found.has(f.id)) || words.every((word) => f.goal.toLowerCase().includes(word));
  return (f) => tests.every((test) => test(f)) && says(f);
}

const most = 9; // offers at once

// offersOf returns what the part of a text at the caret may become: the keys, and the values
// of one. Each has the text of the part, what a person reads, and whether it is complete.
export function offersOf(text, caret, model) {
  const part = filterOf(text).parts.find((p) => caret >= p.from && caret <= p.until) || { from: caret, until: caret, whole: "" };
  const typed = part.whole.slice(0, caret - part.from).toLowerCase();
  const not = typed.startsWith("-") ? "-" : "";
  const offer = (whole, says, note) => ({ whole, says, note, isWhole: !whole.endsWith(":") });
  const list = [];
  if (part.key) {
    const key = keys.get(part.key);
    const [, before, rest] = /^((?:.*[,:])?)(.*)$/su.exec(typed);
    const begun = unquoted(rest);
    if (key) for (const [value, note] of choicesOf(key, model)) {
      if (value.toLowerCase().startsWith(begun) && value.toLowerCase() !== begun) list.push(offer(part.whole.slice(0, before.length) + quoted(value), value, note));
    }
  } else {
    const begun = typed.slice(not.length);
    for (const [name, key] of keys) {
      if (name.startsWith(begun)) list.push(offer(`${not}${name}:`, `${name}:`, key.examples ? key.examples.join(" ") : "by " + key.what));
    }
    if (begun.length > 1) for (const name of ["status", "agent", "host"]) {
      for (const [value, note] of choicesOf(keys.get(name), model)) if (value.toLowerCase().startsWith(begun)) list.push(offer(not + termOf(name, value), termOf(name, value), note));
    }
  }
  return { from: part.from, until: part.until, list: list.slice(0, most) };
}

// choicesOf returns values of a key, the most frequent first, and what to know of each.
function choicesOf(key, model) {
  if (key.examples) return key.examples.map((value) => [value, key.what]);
  const counts = [...countsOf(model, key.nameOf)].sort(([x, m], [y, n]) => n - m || (x < y ? -1 : 1));
  return counts.map(([value, n]) => [value, plural(n, "frame")]);
}
