// What the server told about a frame, and texts from there.

import { h } from "./words.js";

// known returns what the server told, if it did.
export function known(d, name) { return d.told[name] && d.told[name].value; }

// wrong returns what to say if the server could not tell something.
export function wrong(d, name) {
  const trouble = d.told[name] && d.told[name].trouble;
  return trouble ? d.kept("wrong " + name, () => h("p", { class: "note" }, trouble.message, trouble.hint ? [h("br"), h("small", {}, trouble.hint)] : null)) : null;
}

// linked makes links of addresses in a text. They are opened without telling where from.
export function linked(text) {
  return String(text).split(/(https?:\/\/[^\s<>"'`]+[^\s<>"'`.,;:!?)\]])/u).map((part, i) =>
    (i % 2 ? h("a", { href: part, target: "_blank", rel: "noopener noreferrer", "data-key": "link " + part }, part) : part));
}
