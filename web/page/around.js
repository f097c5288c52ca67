// What is around a frame: the frames above, below and beside it, and the commands that do at
// a shell what the page does.

import { h, duration, glyphs, plural } from "./words.js";
import { isRunning } from "./model.js";

const atOnce = 10; // frames of a list, until a person wants more

// around returns links to the frames around the one that details show.
export function around(d, f) {
  const above = d.model.above(f);
  const up = above[0];
  const beside = up ? up.children : [];
  const at = beside.indexOf(f);
  const [before, after] = [beside[at - 1], beside[at + 1]];
  if (!up && !f.children.length) return null;
  return d.group("around", d.kept("around title", () => h("h3", {}, "Around it")),
    d.kept("around", () => h("dl", { class: "facts" },
      up ? [h("dt", {}, "above"), h("dd", {}, above.slice(0, 6).flatMap((x, i) => [i ? h("span", { class: "note" }, " in ") : "", link(d, x)]), above.length > 6 ? " …" : "")] : [],
      before ? [h("dt", {}, "before it"), h("dd", {}, link(d, before))] : [],
      after ? [h("dt", {}, "after it"), h("dd", {}, link(d, after))] : [])),
    list(d, "children", "below it", f.children, true), list(d, "siblings", "beside it", beside.filter((x) => x !== f), false));
}

// list is a fold of links to frames, as many at once as one can read.
function list(d, name, title, frames, opened) {
  if (!frames.length) return null;
  const most = d.wants[name] || atOnce;
  const shown = frames.slice(0, most);
  const left = frames.length - shown.length;
  const say = `${plural(frames.length, "frame")} ${title}`;
  const content = () => h("div", {}, h("ul", { class: "plain" }, shown.map((x) => h("li", {}, link(d, x)))),
    left ? h("button", { type: "button", "data-key": "more " + name, onclick: () => d.want(name, most + 100) }, left > 100 ? `100 more of ${left}` : `${left} more`) : null);
  return d.kept(name, () => d.fold(name, say, content, { opened: opened && frames.length <= atOnce }));
}

// link leads to a frame. Its address can be copied; a click does not load the page anew.
function link(d, x) {
  const state = new URLSearchParams({ ...(d.view.project && { project: d.view.project }), sel: x.id });
  const go = (e) => {
    if (e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    d.on.select(x.id);
  };
  const goal = x.goal || x.id;
  const lasted = x.from && x.until ? h("span", { class: "note" }, " " + duration(x.until - x.from)) : "";
  return h("span", {}, h("a", { href: "#" + state, "data-key": "to " + x.id, onclick: go },
    h("span", { class: `glyph s-${x.status}` }, glyphs[x.status]), " ", h("bdi", {}, goal.length > 120 ? [...goal.slice(0, 240)].slice(0, 119).join("") + "…" : goal)), lasted);
}

// copier is a button that copies a text.
export function copier(d, text, what) {
  return h("button", { type: "button", class: "copy", "data-key": "copy " + text, "aria-label": `Copy ${what}`, title: `Copy ${what}`, onclick: () => d.on.copy(text) }, "copy");
}

// argument writes a text so that a shell reads it as one word.
function argument(text) { return /^[\w.:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`; }

// shell returns the commands that show and change the frame at a shell.
export function shell(d, f) {
  if (d.on.isReport || /\p{C}/u.test(f.id)) return null;
  const id = argument(f.id);
  const agent = d.agent();
  const run = agent && !agent.native ? argument(agent.id) : "";
  const may = !f.machine && f.status !== "invalidated";
  const lines = [
    ["everything about it", `flame show ${id} --diff`], ["the frames below it", `flame tree ${id}`], ["its history", `flame events --frame ${id}`],
    f.session && f.until && !f.machine && ["its log, as a file", `flame log ${id}`], ["the context of an agent in it", `flame context ${id}`],
    ["a report of it", `flame report ${id} -o report.html`],
    f.status !== "invalidated" && ["activate it", `flame activate ${id}`], may && ["end it", `flame pop completed "SUMMARY" --frame ${id}`],
    may && ["change its goal", `flame goal "TEXT" --frame ${id}`], f.status !== "invalidated" && ["invalidate it", `flame invalidate ${id} "REASON"`],
    run && ["its agent", `flame agents show ${run}`], run && isRunning(agent) && ["stop its agent", `flame agents cancel ${run}`],
  ].filter(Boolean);
  return d.kept("shell", () => d.fold("shell", "In a shell", () => h("ul", { class: "plain shell" },
    lines.map(([what, command]) => h("li", {}, h("span", { class: "note" }, what), " ", h("code", {}, command), " ", copier(d, command, "the command"))))), lines.join());
}
