// The icons, all of one set: of statuses, hosts and buttons. Drawn with one stroke; what is filled
// has a second path.

import { h, s, statusNames } from "./words.js";

const ring = "M8 2.25a5.75 5.75 0 1 0 0 11.5 5.75 5.75 0 0 0 0-11.5z";

const paths = {
  planned: [ring], in_progress: [ring, "M8 4.8a3.2 3.2 0 0 1 0 6.4z"], live: [ring, "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6z"], completed: ["M3.5 8.4l3 3 6-6.6"],
  failed: ["M6 6l4 4M10 6l-4 4", "M8 1.2 14.8 8 8 14.8 1.2 8z"], blocked: ["M6.2 5.5v5M9.8 5.5v5", "M5.5 2h5A3.5 3.5 0 0 1 14 5.5v5a3.5 3.5 0 0 1-3.5 3.5h-5A3.5 3.5 0 0 1 2 10.5v-5A3.5 3.5 0 0 1 5.5 2z"],
  invalidated: [ring + "M4 12l8-8"], conflict: ["M8 14V9.5M8 9.5C8 6 3.5 7 3.5 2.5M8 9.5c0-3.5 4.5-2.5 4.5-7M1.6 4.3l1.9-1.9 1.9 1.9M10.6 4.3l1.9-1.9 1.9 1.9"],
  decision: ["M4 14V2.5M4 3h8l-2 3 2 3H4"], person: ["M8 2.5a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4M2.8 14c.5-6 9.9-6 10.4 0"],
  silent: [ring + "M8 4.8V8l2.4 1.6"], budget: ["M8 1.8v12.4M11.3 4.6C9.8 2.6 4.7 3.2 4.9 5.8c.2 3 6.4 1.5 6.4 4.5 0 2.7-5.2 3.2-6.8.9"],
  open: ["M4.5 6.5 8 10l3.5-3.5"], closed: ["M6.5 4.5 10 8l-3.5 3.5"], search: ["M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.5 10.5 14 14"],
  menu: ["M2.5 5h11M2.5 11h11"], close: ["M4 4l8 8M12 4l-8 8"], picture: ["M2 4h12M2 8h7.5M2 12h4"], more: ["", "M2.5 8a1 1 0 1 0 2 0 1 1 0 0 0-2 0M7 8a1 1 0 1 0 2 0 1 1 0 0 0-2 0M11.5 8a1 1 0 1 0 2 0 1 1 0 0 0-2 0"],
  link: ["M6.5 9.5l3-3M7.5 4.5l1-1a2.8 2.8 0 0 1 4 4l-1 1M8.5 11.5l-1 1a2.8 2.8 0 0 1-4-4l1-1"], flame: ["", "M2 11h12v3H2zM4.5 6.5h7v3h-7zM6.5 2h4v3h-4z"],
  "claude-code": ["M8 2.5v11M3 5.2l10 5.6M13 5.2 3 10.8"], opencode: ["M3.5 3.5h9v9h-9z"], codex: ["M2.5 4 7 8l-4.5 4M8.5 12.5h5"],
  gemini: ["", "M8 1.5c.5 4 2.5 6 6.5 6.5-4 .5-6 2.5-6.5 6.5-.5-4-2.5-6-6.5-6.5 4-.5 6-2.5 6.5-6.5z"], host: ["M8 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8"],
};

// icon returns the icon of a name. It says nothing to screen readers: a text beside it does.
export function icon(name) {
  const [line, fill] = paths[name] || paths.host;
  const el = s("svg", { class: "icon i-" + name, viewBox: "0 0 16 16", "aria-hidden": "true" });
  if (fill) el.append(s("path", { d: fill, class: "fill" }));
  if (line) el.append(s("path", { d: line }));
  return el;
}

// signOf names the icon of a frame: an agent or a session is in it now, or its status.
export function signOf(f, model) { return model.isLive(f) ? "live" : f.status; }

// sign is that icon, with a text that screen readers say before the goal.
export function sign(name) { return h("span", { class: "st st-" + name }, icon(name), h("span", { class: "aloud" }, `${namesOf(name)}: `)); }

export function namesOf(name) { return name === "live" ? "Working now" : statusNames[name] || name; }

// mark is the mark of a host.
export function mark(host, titles) {
  return host ? h("span", { class: "hm", title: titles[host] || host }, icon(host), h("span", { class: "aloud" }, titles[host] || host)) : h("span", { class: "hm" });
}
