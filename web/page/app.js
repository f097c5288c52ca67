// The page: what is shown stands in the address, so that a link shows the same.

import { h } from "./words.js";
import { icon } from "./icons.js";
import { Model } from "./model.js";
import { filterOf, matcher } from "./filter.js";
import { takeToken, keepToken, hasToken, ask, act, follow, seen, meet, lose, isSame } from "./net.js";
import { viewOf, keepView, keepNow, drop } from "./address.js";
import { inlined, answer } from "./report.js";
import { Head } from "./head.js";
import { Picture } from "./picture.js";
import { Tree } from "./tree.js";
import { Details } from "./details.js";
import { Conflicts } from "./conflict.js";
import { Overview } from "./overview.js";
import { asking, help, projects, economy } from "./dialogs.js";

const drawPace = 250; // ms between two draws, at least
const $ = (id) => document.getElementById(id);

const model = new Model();
const report = inlined(); // null: the page is a server's
let view = { by: "cost" };
let found = null; // {q, ids}: what a search found by its words; null: nothing yet
let start = { project: "" };
let followed = ""; // the project that is shown, and asked about
let timer = 0;
let due = 0; // when the timer draws
let drawn = 0;
let live = "connecting";
let revealed = ""; // the frame that the tree was last scrolled to

// change shows something else, and keeps it in the address.
function change(to, options) { show({ ...view, ...to }, options); }

// show shows a view.
function show(next, { push = false } = {}) {
  view = Object.fromEntries(Object.entries(next).filter(([, value]) => value));
  keepView(view, push);
  draw();
}

const project = () => view.project || start.project;
const asks = (path, query, signal) => (report ? answer(report, path, query) : ask(`${encodeURIComponent(followed)}/${path}`, query, signal));
const acts = async (path, body) => (await act(`${encodeURIComponent(followed)}/${path}`, body)).said;

function select(id, { reveal = true } = {}) {
  change({ sel: id, conflict: "" });
  if (reveal) tree.reveal(id);
}

const settle = (conflict) => change({ conflict, sel: "" });
const close = () => { change({ sel: "", conflict: "" }); tree.box.focus({ preventScroll: true }); };
const zoom = (id) => change({ under: id }, { push: true });
const head = new Head($("head"), {
  search: searchSoon, projects: () => keys.p(), economy: () => keys.e(), overview: () => keys.o(), help, isReport: Boolean(report),
  archived: () => change({ archived: view.archived ? "" : "1" }),
});
const picture = new Picture($("picture"), { change, zoom, hover, pick: (id, zooms) => { if (zooms) keepNow(); change({ sel: id, conflict: "", ...(zooms && { under: id }) }, { push: zooms }); tree.reveal(id); } });
const tree = new Tree($("list"), {
  select, zoom, changed: () => draw(true), open: () => $("details").focus(), isKey: (key) => key in keys, filter: (q) => { head.search.field.value = q; search(q); },
});
const details = new Details($("details"), { ask: asks, act: perform, zoom, select, settle, close, copy, isReport: Boolean(report) });
const conflicts = new Conflicts($("conflict"), { select, close, changed: draw, settle: async (c, side) => {
  try {
    say((await acts("settle", { convergence: c.convergence, conflict: c.id, side })) || "Done.");
    return true;
  } catch (trouble) {
    say(trouble.message);
    return false;
  }
} });

// copy copies a text, and says whether that was possible.
async function copy(text) {
  const done = await navigator.clipboard.writeText(text).then(() => true, () => false);
  say(done ? "Copied." : "The browser does not let this page copy: select the text instead.");
}

const overview = new Overview($("overview"), {
  select, settle, act: perform, economy: () => keys.e(), isReport: Boolean(report),
});

// perform asks a person, and then does what was asked for.
async function perform(what, of) {
  const from = document.activeElement && document.activeElement.getAttribute("data-key");
  try {
    const said = await asking[what](of, { model, act: acts, ask: asks });
    if (said !== null) say(said || "Done.");
  } catch (trouble) {
    say(trouble.message);
  }
  // What was pressed may have been drawn anew since.
  if (document.activeElement === document.body) ($("details").hidden ? overview : details).focus(from);
}

let saying = 0;
function say(text) {
  $("said").textContent = text;
  clearTimeout(saying);
  saying = setTimeout(() => { $("said").textContent = ""; }, 8000);
}

function hover(told, event) {
  const box = $("hint");
  box.hidden = !told;
  if (!told) return;
  box.replaceChildren(...told.map((line, i) => h(i ? "small" : "bdi", {}, line.length > 400 ? line.slice(0, 400) + "…" : line)));
  box.style.left = Math.max(4, Math.min(event.clientX + 12, innerWidth - box.offsetWidth - 8)) + "px";
  box.style.top = (event.clientY + 18 + box.offsetHeight > innerHeight ? event.clientY - box.offsetHeight - 8 : event.clientY + 18) + "px";
}

// drawAt draws at a time, or before that if it was to be drawn earlier anyway.
function drawAt(at) {
  if (timer && due <= at) return;
  clearTimeout(timer);
  due = at;
  timer = setTimeout(() => { timer = 0; drawn = performance.now(); paint(); }, Math.max(0, at - performance.now()));
}

// draw draws what a person did, and drawSoon what came from the server.
function draw(now = false) { drawAt(now ? 0 : drawn + 16); }

function drawSoon() { drawAt(drawn + drawPace); }

function paint() {
  const { words } = filterOf(view.q);
  const matches = view.q ? matcher(view, model, found && found.q === words ? found.ids : null) : null;
  drawHead(matches);
  const isEmpty = model.read && model.frames.size === 0;
  document.body.classList.toggle("is-empty", isEmpty);
  isEmpty ? $("none").setAttribute("role", "main") : $("none").removeAttribute("role");
  if (isEmpty) drawEmpty();
  if (view.sel !== revealed && model.frames.has(view.sel)) tree.reveal((revealed = view.sel)); // by a link, too
  picture.show(model, view, matches);
  const torn = conflicts.show(model, view);
  details.show(model, view);
  $("details").hidden = torn || !model.frames.has(view.sel);
  const hasPane = torn || !$("details").hidden;
  document.body.classList.toggle("has-pane", hasPane); // on a phone a sheet over the rest
  $("overview").hidden = !model.read || hasPane;
  if (!$("overview").hidden) overview.show(model);
  tree.show(model, view, matches); // last: it scrolls to a frame in the room that the others leave
  document.documentElement.setAttribute("data-drawn", String(Number(document.documentElement.getAttribute("data-drawn") || 0) + 1));
}

// drawHead draws what stands above all else, and counts what the field finds.
function drawHead(matches = null) {
  const { needs } = model.today;
  const { words } = filterOf(view.q);
  const waits = words && !(found && found.q === words) && !(found && found.trouble);
  let count = "";
  if (matches) {
    let n = 0;
    for (const f of model.frames.values()) n += matches(f) ? 1 : 0;
    count = waits ? "Searching…" : (found && words && found.trouble) || `${n || "No"} of ${model.frames.size} frames ${n === 1 ? "matches" : "match"}${found && words && found.note ? found.note : ""}`;
  }
  head.show(model, view, { project: project(), live, needs });
  head.search.show(model, view.q || "", count);
  const [work, you] = $("tools").querySelectorAll("[data-tab]");
  for (const [el, is] of [[work, !document.body.classList.contains("for-you")], [you, document.body.classList.contains("for-you")]]) el.setAttribute("aria-pressed", String(is));
  const text = needs.length ? String(needs.length) : "";
  if (you.lastChild.textContent !== text) you.lastChild.textContent = text;
}

// The toolbar of a phone: the list, what is for a person, and the picture.
function tab(forYou) {
  document.body.classList.toggle("for-you", forYou);
  draw();
}
$("tools").append(
  h("div", { class: "seg", role: "group", "aria-label": "Show" }, h("button", { type: "button", "data-tab": "work", onclick: () => tab(false) }, "Work"), h("button", { type: "button", "data-tab": "you", onclick: () => tab(true) }, "For you ", h("em", {}))),
  h("button", { type: "button", class: "pbtn", "aria-expanded": "false", onclick: (e) => {
    e.currentTarget.setAttribute("aria-expanded", String($("picture").classList.toggle("open")));
    draw(true);
  } }, icon("picture"), "Picture"));
$("scrim").addEventListener("click", close);

// drawEmpty says how the first frame comes.
function drawEmpty() {
  const key = model.root + Object.keys(model.titles);
  if ($("none").getAttribute("data-key") === key) return;
  $("none").setAttribute("data-key", key);
  const line = (command, what) => h("li", {}, h("code", {}, command), h("span", {}, what), h("button", { type: "button", class: "act", "aria-label": "Copy " + command, onclick: () => copy(command) }, "Copy"));
  const hosts = Object.keys(model.titles);
  $("none").replaceChildren(h("div", {}, h("h2", {}, `No frames in ${model.root.split("/").pop()} yet`), h("p", {}, "Start an agent in this folder. Its first goal appears here by itself."),
    h("ul", {}, hosts.includes("claude-code") ? line("flame claude", "Claude Code, with folding") : "", line("flame setup", "connects the hosts of this machine, once")),
    h("p", { class: "wait" }, icon("live"), `Listening in ${model.root}`)));
}

let searching = 0;
function searchSoon(text) {
  clearTimeout(searching);
  searching = setTimeout(() => search(text), 150);
}

// search finds frames by their words: at once in their goals, and what the server knows of the rest.
function search(text) {
  change({ q: text.trim() });
  const { words } = filterOf(text.trim());
  if (found && found.q !== words) found = null;
  if (words && !found) find();
}

// find asks which frames have the words that are searched for.
async function find() {
  const q = filterOf(view.q).words;
  const of = followed;
  let answered;
  try {
    const told = await asks("search", { q });
    answered = { q, ids: new Set(told.ids), note: (told.work ? `, ${told.work} by the work in them` : "") + (told.all ? "" : "; only the newest are counted") + (told.unread && !told.ids.length ? "; some logs could not be read" : "") };
  } catch (trouble) {
    answered = { q, ids: new Set(), trouble: trouble.message };
  }
  if (filterOf(view.q).words !== q || followed !== of) return; // a person searches for something else now
  found = answered;
  draw();
}

let finding = 0;

// findAgain finds what came since a search.
function findAgain() {
  if (filterOf(view.q).words && !finding) finding = setTimeout(() => { finding = 0; if (filterOf(view.q).words) find(); }, 1000);
}

const goTo = (id) => { if (id && model.frames.has(id)) { change({ under: "", sel: id, conflict: "" }); tree.reveal(id); } };
const out = () => { const f = model.frames.get(view.under); change({ under: (f && f.parent) || "" }, { push: true }); };

const keys = {
  "/": () => head.search.field.focus(),
  c: () => change({ by: "cost" }),
  t: () => change({ by: "time" }),
  z: () => view.sel && zoom(view.sel),
  u: () => view.under && out(),
  0: () => zoom(""),
  ".": () => {
    const agent = model.running().sort((x, y) => (y.last || y.asked) - (x.last || x.asked))[0];
    const session = model.sessions.filter((x) => x.current).sort((x, y) => y.heard - x.heard)[0];
    goTo((agent && agent.frame) || (session && session.current));
  },
  o: () => { tab(true); change({ sel: "", conflict: "" }); paint(); overview.focus(); },
  e: () => economy(asks, model.titles).catch((trouble) => say(trouble.message)),
  p: () => projects(ask, followed, (name) => { show({ by: view.by, project: name === start.project ? "" : name }, { push: true }); moved(); }).catch((trouble) => say(trouble.message)),
  "?": help,
  Escape: () => {
    if (view.under) return out();
    if (view.sel || view.conflict) return close();
    unsearch();
  },
};

function unsearch() {
  clearTimeout(searching);
  found = null;
  head.search.field.value = "";
  change({ q: "" });
}

if (report) for (const key of ["e", "p"]) delete keys[key]; // they ask a server

document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const typing = e.target.closest("input[type=search], input[type=text], textarea, select");
  if (typing && e.key === "Escape") { if (typing === head.search.field) unsearch(); typing.blur(); tree.box.focus(); return; }
  if (typing || !(e.key in keys)) return;
  e.preventDefault();
  keys[e.key]();
});

// What stands in the address is what is shown, so a link within the page leads nowhere.
document.querySelector(".skip").addEventListener("click", (e) => { e.preventDefault(); tree.box.focus(); });

// problem shows what stands in the way of everything else.
function problem(title, ...content) {
  const box = $("state");
  box.hidden = !title;
  const told = h("div", {}, h("h2", {}, title), ...content);
  if (title && told.textContent !== box.textContent) box.replaceChildren(...told.childNodes); // it is read aloud once
}

const titles = { unavailable: "The data cannot be read now", error: "Something is wrong", "not found": "There is no such project", invalid: "That does not work" };

function needToken() {
  live = "gone";
  const field = h("input", { type: "text", "aria-label": "address or token", autocomplete: "off", spellcheck: "false" });
  problem("This page needs its token",
    h("p", {}, "The command ", h("code", {}, "flame web --no-open"), " prints the whole address. Open that, or put it here:"),
    h("form", { onsubmit: (e) => { e.preventDefault(); keepToken(field.value); field.value = ""; problem(); connect(); } }, field, h("button", { type: "submit" }, "Open")));
  drawHead();
}

// anotherServer says that what listens at this address now is not told the token.
function anotherServer() {
  live = "gone";
  problem("Another server answers here", h("p", {}, "It is not the one that this page came from. Open the address that ", h("code", {}, "flame web"), " prints now."));
  drawHead();
}

let connection = null;

// connect follows the project until another is asked for, and comes back if the server
// was gone.
async function connect() {
  if (connection) connection.abort();
  const own = (connection = new AbortController());
  followed = project();
  overview.since = lookedAt();
  model.clear();
  model.read = false;
  for (let failed = 0; !own.signal.aborted;) {
    let refused = false;
    try {
      await seen();
      if (own.signal.aborted) return;
      if (!(await isSame(AbortSignal.timeout(10000)))) return anotherServer();
      await follow(`${encodeURIComponent(followed)}/live`, own.signal, (line) => {
        failed = 0;
        live = "live";
        meet(line);
        const told = model.notices.length ? model.notices[model.notices.length - 1].seq : -1;
        if (line.program && line.program !== start.version) renew(); // the server was replaced, and this page with it
        if (line.trouble) problem(titles[line.trouble.kind] || titles.error, h("p", {}, line.trouble.message), line.trouble.hint ? h("p", { class: "note" }, line.trouble.hint) : "", h("p", { class: "note" }, "This page goes on by itself once that is mended."));
        else problem();
        if (model.take(line)) { tellNews(told); findAgain(); }
        drawSoon();
      });
    } catch (trouble) {
      if (own.signal.aborted) return;
      if (trouble.status === 401) return needToken();
      if ((refused = Boolean(trouble.status))) {
        problem(titles[trouble.kind] || titles.error, h("p", {}, trouble.message), trouble.hint ? h("p", { class: "note" }, trouble.hint) : "");
      }
    }
    if (own.signal.aborted) return;
    live = refused || document.hidden ? "connecting" : "gone";
    lose();
    failed++;
    if (failed > 1 && !refused) problem("The server is gone", h("p", {}, "What you see is how it was. ", h("code", {}, "flame web"), " starts it again, and this page goes on."));
    drawHead();
    await new Promise((resolve) => setTimeout(resolve, Math.min(250 * 2 ** failed, 3000)));
  }
}

// tellNews says what happened since a notice.
function tellNews(since) {
  const last = model.notices[model.notices.length - 1];
  if (since >= 0 && last && last.seq > since) say(last.text);
}

// animate keeps what is open growing while nothing else happens, and ages right.
function animate() {
  if (live !== "live" || document.hidden) return;
  const grows = model.running().length || model.sessions.some((x) => x.state === "active");
  if (grows || performance.now() - drawn > 60000) drawSoon();
}

// renew loads the page anew, once nothing can be lost that a person types in a dialog.
function renew() {
  const dialog = document.querySelector("dialog[open]");
  if (dialog) return dialog.addEventListener("close", renew, { once: true });
  keepNow();
  return location.reload();
}

// moved shows what stands in the address: a person changed it, or went back.
function moved() {
  const state = new URLSearchParams(location.hash.slice(1));
  if (state.get("t") && !report) { takeToken(state); connect(); return; }
  drop();
  clearTimeout(searching);
  const { q } = view;
  view = viewOf(location.hash);
  const isOther = !report && project() !== followed;
  if (isOther) connect();
  if (isOther || view.q !== q) {
    found = null;
    if (view.q) search(view.q);
  }
  draw();
}

addEventListener("hashchange", moved);
addEventListener("popstate", moved);
addEventListener("resize", () => draw());
addEventListener("beforeprint", () => tree.print(true));
addEventListener("afterprint", () => { tree.print(false); draw(); });
document.addEventListener("visibilitychange", () => {
  if (document.hidden) leaves();
  else overview.since = lookedAt();
});
addEventListener("pagehide", leaves);

// leaves notes when a person stopped looking at the project, and lookedAt returns when that was
// before they came back: a moment away is none.
function leaves() {
  if (!report && followed) localStorage.setItem("flame looked " + followed, JSON.stringify({ left: model.now(), since: overview.since || 0 }));
}

function lookedAt() {
  const { left = 0, since = 0 } = JSON.parse(localStorage.getItem("flame looked " + followed) || "{}");
  return model.now() - left > 600000 ? left : since;
}

setInterval(animate, 1000);

// beginReport shows a report, which asks no server.
function beginReport() {
  live = "report";
  model.take(report);
  model.now = () => report.now;
  document.documentElement.classList.add("report");
  if (view.q) search(view.q);
  paint();
}

// begun asks for what the page has to know first, until there is an answer.
async function begun() {
  for (;;) {
    try {
      const told = await (await fetch("start.json", { signal: AbortSignal.timeout(10000) })).json();
      problem();
      return told;
    } catch {
      problem("The server is gone", h("p", {}, "This page goes on by itself once ", h("code", {}, "flame web"), " runs again."));
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  }
}

async function begin() {
  if (!report) takeToken(new URLSearchParams(location.hash.slice(1)));
  view = viewOf(location.hash);
  if (report) return beginReport();
  start = await begun();
  if (!hasToken()) return needToken();
  connect();
  if (view.q) search(view.q);
}

begin();
