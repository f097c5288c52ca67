// What is shown stands in the address, so that a link shows the same.

import { termOf } from "./filter.js";

const names = ["project", "by", "under", "sel", "conflict", "q", "archived"];
const older = ["status", "agent", "host", "since"]; // parts of older addresses, which are terms of the filter now
const times = new Map([["hour", "1h"], ["day", "1d"], ["week", "7d"]]);
const pace = 400; // ms between two changes of the address: a browser may refuse a hundred in half a minute

// viewOf returns what an address shows.
export function viewOf(hash) {
  const state = new URLSearchParams(hash.slice(1));
  const view = { by: "cost" };
  for (const name of names) if (state.get(name)) view[name] = state.get(name);
  for (const name of older) {
    const value = state.get(name);
    if (value) view.q = `${view.q || ""} ${name === "status" ? "status:" + value : termOf(name, times.get(value) || value)}`.trim();
  }
  if (!["cost", "time"].includes(view.by)) view.by = "cost";
  return view;
}

let kept = -Infinity; // when the address was changed last
let waits = null; // the address that is not kept yet
let timer = 0;

// keepView keeps a view in the address, as a step that a person can go back from or in
// place of what is there.
export function keepView(view, push) {
  const state = new URLSearchParams();
  for (const name of names) if (view[name] && !(name === "by" && view.by === "cost")) state.set(name, view[name]);
  const address = "#" + state;
  if (push) {
    keepNow();
    if (address !== location.hash) write("pushState", address);
    return;
  }
  waits = address;
  if (!timer) timer = setTimeout(keepNow, Math.max(0, kept + pace - performance.now()));
}

// keepNow keeps what waits.
export function keepNow() {
  const address = waits;
  drop();
  if (address !== null && address !== location.hash) write("replaceState", address);
}

// drop forgets what waits: the address was changed by a person.
export function drop() {
  clearTimeout(timer);
  timer = 0;
  waits = null;
}

function write(how, address) {
  kept = performance.now();
  try {
    history[how](null, "", address);
  } catch {
    // The browser has enough of changes for now; what is shown does not depend on it.
  }
}
