// The page: what is shown stands in the address, so that a link shows the same.

import { h, plural } from "./words.js";
import { Model } from "./model.js";
import { filterOf, matcher } from "./filter.js";
import { needsOf } from "./needs.js";
import { takeToken, keepToken, hasToken, ask, act, follow, seen, meet, lose, isSame } from "./net.js";
import { viewOf, keepView, keepNow, drop } from "./address.js";
import { inlined, answer } from "./report.js";
import { Head } from "./head.js";
import { Picture } from "./picture.js";
import { Tree } from "./tree.js";
import { Details } from "./details.js";
import { Overview } from "./overview.js";
import { asking, help, projects, economy, news } from "./dialogs.js";

const drawPace = 250; // ms between two draws, at least
const $ = (id) => document.getElementById(id);

const model = new Model();
const report = inlined(); // null: the page is a server's
let view = { by: "clock" };
let found = null; // ids that a search found; null: no search
let start = { project: "" };
let followed = ""; // the project that is shown, and asked about
let timer = 0;
let due = 0; // when the timer draws
let drawn = 0;
let live = "connecting";
let revealed = ""; // the frame that the tree was last scrolled to

// change shows something else, and keeps it in the address. A part of one picture is none of
// another.
function change(to, options) {
  const isOther = ["by", "under"].some((name) => name in to && (to[name] || "") !== (view[name] || ""));
  show({ ...view, ...(isOther && { span: "" }), ...to }, options);
}

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
  change({ sel: id });
  if (reveal) tree.reveal(id);
}

const on = {
  select: (kind, id) => {
    if (kind === "frame") return select(id);
    const a = model.agents.get(id);
    view.agentSel = id;
    return a && a.frame && model.frames.has(a.frame) ? select(a.frame) : draw();
  },
  zoom: (id) => change({ under: id }, { push: true }),
  span: (span, draws) => {
    if (draws) return change({ span });
    keepView((view = { ...view, span }), false); // the picture has drawn it
  },
  hover,
};
const head = new Head($("head"), $("scale"), {
  change, search: searchSoon, projects: () => keys.p(), news: () => keys.n(), economy: () => keys.e(), overview: () => keys.o(), help, isReport: Boolean(report),
  archived: () => change({ archived: view.archived ? "" : "1" }),
});
const picture = new Picture($("picture"), $("agents"), on);
const tree = new Tree($("list"), {
  select, zoom: on.zoom, changed: () => draw(true), open: () => $("details").focus(), isKey: (key) => key in keys,
});
const details = new Details($("details"), { ask: asks, act: perform, zoom: on.zoom, select, copy, isReport: Boolean(report) });

// copy copies a text, and says whether that was possible.
async function copy(text) {
  const done = await navigator.clipboard.writeText(text).then(() => true, () => false);
  say(done ? "Copied." : "The browser does not let this page copy: select the text instead.");
}

const overview = new Overview($("overview"), {
  ask: asks, select, settle: (conflict) => perform("settle", conflict), economy: () => keys.e(), isReport: Boolean(report),
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
  box.replaceChildren(...told.map((line) => h("div", {}, line)));
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
  const words = wordsOf(view);
  const filters = view.q && (!words || found);
  const matches = filters ? matcher(view, model, words ? found : null) : null;
  const needs = drawHead();
  const empty = model.read && model.frames.size === 0;
  $("main").classList.toggle("empty", empty);
  if (empty) drawEmpty();
  if (view.sel !== revealed && model.frames.has(view.sel)) tree.reveal((revealed = view.sel)); // by a link, too
  tree.show(model, view, matches);
  picture.show(model, view, matches);
  details.show(model, view);
  $("details").hidden = !model.frames.has(view.sel);
  $("overview").hidden = !$("details").hidden || !model.read;
  if (!$("overview").hidden) overview.show(model, needs);
  document.documentElement.setAttribute("data-drawn", String(Number(document.documentElement.getAttribute("data-drawn") || 0) + 1));
}

function drawHead() {
  const needs = needsOf(model);
  head.show(model, view, { project: project(), live, needs });
  return needs;
}

// wordsOf returns the words that a view searches for.
function wordsOf({ q }) { return filterOf(q).words; }

function drawEmpty() {
  if ($("none")) return;
  const box = h("div", { id: "none", class: "note" }, h("h2", {}, "No frames yet"),
    h("p", {}, "Frames appear here as soon as an agent works in this project: start claude or opencode in it, after ", h("code", {}, "flame setup"), ". ",
      h("code", {}, "flame push GOAL"), " starts one by hand, ", h("code", {}, "flame demo"), " shows how agents do it."));
  $("main").prepend(box);
}

let searching = 0;
function searchSoon(text) {
  clearTimeout(searching);
  searching = setTimeout(() => search(text), 150);
}

// search finds frames by their words; what matters is on the server.
async function search(text) {
  const words = wordsOf({ q: text });
  const isSame = words === wordsOf(view);
  found = words ? found : null;
  change({ q: text.trim() });
  if (!words || (isSame && found)) return;
  const told = await find();
  if (told) say((told.all ? plural(told.ids.length, "frame") + " found" : `the newest ${told.ids.length} are shown`) + (told.work ? `, ${told.work} by the work in them` : "") + (told.unread && !told.ids.length ? "; some logs could not be read" : ""));
}

// find asks which frames have the words that are searched for.
async function find() {
  const q = wordsOf(view);
  const of = followed;
  const isOld = () => wordsOf(view) !== q || followed !== of;
  try {
    const told = await asks("search", { q });
    if (isOld()) return null;
    found = new Set(told.ids);
    draw();
    return told;
  } catch (trouble) {
    if (isOld()) return null;
    found = found || new Set();
    say(trouble.message);
    draw();
    return null;
  }
}

let finding = 0;

// findAgain finds what came since a search.
function findAgain() {
  if (wordsOf(view) && !finding) finding = setTimeout(() => { finding = 0; if (wordsOf(view)) find(); }, 1000);
}

const goTo = (id) => { if (id && model.frames.has(id)) { change({ under: "", sel: id }); tree.reveal(id); } };

const keys = {
  "/": () => head.search.field.focus(),
  c: () => change({ by: "clock" }),
  t: () => change({ by: "tokens" }),
  d: () => change({ by: "cost" }),
  z: () => view.sel && change({ under: view.sel }, { push: true }),
  u: () => { const f = model.frames.get(view.under); if (f) change({ under: f.parent || "" }, { push: true }); },
  0: () => change({ under: "", span: "" }, { push: true }),
  "+": () => picture.hand.zoom(2),
  "=": () => picture.hand.zoom(2),
  "-": () => picture.hand.zoom(1 / 2),
  ".": () => {
    const agent = model.running().sort((x, y) => (y.last || y.asked) - (x.last || x.asked))[0];
    const session = model.sessions.filter((s) => s.current).sort((x, y) => y.heard - x.heard)[0];
    goTo((agent && agent.frame) || (session && session.current));
  },
  o: () => { change({ sel: "" }); paint(); overview.focus(); },
  n: () => news(model, { goTo, settle: report ? null : (c) => perform("settle", c) }),
  e: () => economy(asks).catch((trouble) => say(trouble.message)),
  p: () => projects(ask, followed, (name) => { show({ by: view.by, project: name === start.project ? "" : name }, { push: true }); moved(); }).catch((trouble) => say(trouble.message)),
  "?": help,
  Escape: () => {
    if (!view.q && !head.search.field.value) return change({ sel: "" });
    clearTimeout(searching);
    found = null;
    head.search.field.value = "";
    change({ q: "" });
  },
};

if (report) for (const key of ["e", "p"]) delete keys[key]; // they ask a server

document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const typing = e.target.closest("input[type=search], input[type=text], textarea, select");
  if (typing && e.key === "Escape") { if (view.q || typing.value) keys.Escape(); typing.blur(); tree.box.focus(); return; }
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
  overview.leave();
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
        if (line.whole && $("none")) $("none").remove();
        if (model.take(line)) { tellNews(told); findAgain(); }
        if (model.frames.size && $("none")) $("none").remove();
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
    if (failed > 1 && $("state").hidden) problem("The server is gone", h("p", {}, "What you see is how it was. ", h("code", {}, "flame web"), " starts it again, and this page goes on."));
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
addEventListener("beforeprint", () => {
  tree.print(true);
  // Paper has another width: pictures shrink as a whole.
  for (const svg of document.querySelectorAll("svg.picture[width]")) svg.setAttribute("viewBox", `0 0 ${svg.getAttribute("width")} ${svg.getAttribute("height")}`);
});
addEventListener("afterprint", () => {
  tree.print(false);
  for (const svg of document.querySelectorAll("svg.picture")) svg.removeAttribute("viewBox");
  draw();
});
setInterval(animate, 1000);

// beginReport shows a report, which asks no server.
function beginReport() {
  live = "report";
  model.take({ ...report.board, root: report.root });
  model.now = () => report.board.now;
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
