// The icons, all of one set: 16 by 16, drawn with one stroke.

import { s } from "./words.js";

// Those of statuses have the forms of the signs of `flame tree`.
const paths = {
  planned: "M8 3.2a4.8 4.8 0 1 0 0 9.6 4.8 4.8 0 0 0 0-9.6",
  in_progress: "M2 8h11.5M9 3.5 13.5 8 9 12.5",
  completed: "M2.5 8.5 6.5 12.5 13.5 4",
  failed: "M8 2 14.5 13.5H1.5zM8 6.2v3.4M8 11.6v.2",
  blocked: "M8 2v7.5M8 13v.4",
  invalidated: "M3.5 3.5 12.5 12.5M12.5 3.5 3.5 12.5",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.5 10.5 14 14",
  menu: "M2 4h12M2 8h12M2 12h12",
  conflict: "M8 14V9M8 9 3.5 3M8 9 12.5 3M3 6.2V2.6h3.4M13 6.2V2.6H9.6",
  person: "M8 2.5a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4M2.8 14c.5-6 9.9-6 10.4 0",
  silent: "M8 2.2a5.8 5.8 0 1 0 0 11.6 5.8 5.8 0 0 0 0-11.6M8 4.8V8l2.4 1.6",
  budget: "M8 1.8v12.4M11.3 4.6C9.8 2.6 4.7 3.2 4.9 5.8c.2 3 6.4 1.5 6.4 4.5 0 2.7-5.2 3.2-6.8.9",
  suggestion: "M5.8 11.5C2 8.5 3.8 2.5 8 2.5s6 6 2.2 9zM6.5 14h3",
};

// icon returns the icon of a name. It says nothing to screen readers: a text beside it does.
export function icon(name) { return s("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: paths[name] })); }
