// The overview: what is shown while no frame is selected. Each line leads to its frame.

import { h, minutes, tookOf, amount, listed, money, costOf, whoseOf, morph, when, freshen } from "./words.js";
import { icon, sign, mark } from "./icons.js";
import { isRunning } from "./model.js";
import { daysBefore, spentBy } from "./days.js";

const rest = 1000; // ms from one question to the next, at least
const most = 5; // lines of a list, until a person asks for all
const silentFrom = 180000; // ms without output
const lowBudget = 0.8; // share of its budget that an agent has used
const day = 86400000;

const newestFirst = (frames) => frames.sort((x, y) => (y.until || y.updated) - (x.until || x.updated) || (x.id < y.id ? -1 : 1));

// troubleOf says why a running agent needs a person; empty if it does not.
function troubleOf(a, now) {
  if (!isRunning(a) || a.native) return "";
  if (a.budget >= lowBudget) return `It has used ${Math.round(a.budget * 100)} % of its budget`;
  return a.state === "active" && a.last && now - a.last >= silentFrom ? "It has been silent" : "";
}

// needsOf returns what a person can do something about, the most urgent first. Of a tree that
// ended as a whole, its top says it.
export function needsOf(model) {
  const now = model.now();
  const blocked = newestFirst([...model.frames.values()].filter((f) => f.status === "blocked" && !f.archived && !model.above(f).some((up) => up.until)));
  const torn = Object.values(Object.groupBy(model.conflicts, (c) => c.convergence));
  const waits = model.sessions.filter((x) => x.state === "idle" && now - x.heard < day && (model.frames.get(x.current) || {}).status === "in_progress");
  return [
    ...torn.map((all) => ({
      icon: "conflict", text: all.length > 1 ? `Agents disagree on ${all.length} things` : `Agents disagree: ${all[0].key.split("/").pop()}`,
      why: all[0].sides.map((side) => side.task || side.subagent_id).join(" · "), at: Math.max(...all.flatMap((c) => c.sides.map((side) => side.completed_at))) || 0, conflict: all[0].convergence, verb: "Settle",
    })),
    ...[...model.agents.values()].map((a) => [a, troubleOf(a, now)]).filter(([, why]) => why).map(([a, why]) => (
      { icon: why.includes("budget") ? "budget" : "silent", text: (model.frames.get(a.frame) || {}).goal || whoseOf(a), why: `${why}: ${whoseOf(a)}`, frame: a.frame, at: a.last, verb: "Look" })),
    ...blocked.map((f) => ({ icon: "blocked", text: f.goal || f.id, why: "Blocked until a person has done something", frame: f.id, at: f.until, verb: "Unblock", act: "activate" })),
    ...waits.map((x) => ({ icon: "person", text: model.frames.get(x.current).goal, why: `Waits for your prompt in ${model.titles[x.host] || x.host}`, frame: x.current, at: x.heard, verb: "Look" })),
  ];
}

// An Overview draws into an element. It asks the server for what the board does not have.
export class Overview {
  constructor(box, on) {
    Object.assign(this, { box, on, told: null, asked: "", asking: false, all: new Set() });
    box.append(h("h2", { tabindex: -1, id: "overview-title", class: "aloud" }, "Overview"), (this.parts = h("div", { class: "parts" })));
    this.parts.addEventListener("click", (e) => {
      const line = e.target.closest("[data-line]");
      const of = line && this.lines[Number(line.getAttribute("data-line"))];
      if (!of) return;
      if (of.conflict && !on.isReport) on.settle(of.conflict);
      else if (of.act && e.target.closest(".act") && !on.isReport) on.act(of.act, this.model.frames.get(of.frame));
      else if (this.model.frames.has(of.frame)) on.select(of.frame);
    });
    setInterval(() => { if (!box.hidden && !document.hidden && this.model) freshen(this.parts, this.model.now()); }, 5000);
  }

  // leave forgets what was told about another project. The page knows since when it was not looked at.
  leave(since) { Object.assign(this, { told: null, asked: "", since }); }

  focus() {
    this.box.scrollTop = 0;
    this.box.firstChild.focus({ preventScroll: true });
  }

  // show shows the model, and asks about what changed.
  show(model, needs) {
    Object.assign(this, { model, needs });
    this.draw();
    this.ask();
  }

  async ask() {
    const about = [this.model.reads, this.model.version].join();
    if (this.asking || this.asked === about || !this.model.read) return;
    this.asking = true;
    this.asked = about;
    const paced = new Promise((resolve) => setTimeout(resolve, rest));
    try {
      const told = await this.on.ask("overview");
      if (this.asked === about) this.told = told;
    } catch {
      // The next change asks again; that the server is gone shows in the head.
    }
    if (!this.box.hidden) this.draw();
    await paced;
    this.asking = false;
    if (!this.box.hidden) this.ask();
  }

  draw() {
    this.lines = [];
    const { model } = this;
    const now = model.now();
    freshen(this.parts, now); // so that what is the same stays
    const goal = (f) => f.goal || f.id;
    const side = (f, at) => [mark(f.host, model.titles), h("span", { class: "cost" }, listed(f.total)), at ? when(at, now) : ""];
    const live = [...model.live].map((id) => model.frames.get(id)).filter((f) => model.isLive(f)).sort((x, y) => y.from - x.from);
    const agentIn = (f) => model.agents.get(f.agentID) || {};
    const ended = newestFirst([...model.frames.values()].filter((f) => ["completed", "failed"].includes(f.status) && f.until >= Math.max(this.since || 0, now - 7 * day) && !f.archived));
    const finished = [...ended.filter((f) => f.status === "failed"), ...ended.filter((f) => f.status !== "failed")];
    const decisions = (this.told && this.told.decisions) || [];
    const parts = [
      this.part("needs", "Needs you", this.needs, (n) => this.line(n, [sign(n.icon), h("span", { class: "both" }, h("bdi", { class: "t" }, n.text), h("span", { class: "x" }, n.why))],
        [n.at ? when(n.at, now) : "", this.on.isReport ? "" : h("button", { type: "button", class: "act" }, n.verb)], "two")),
      this.part("works", "In progress", live, (f) => this.line({ frame: f.id }, [sign("live"), h("span", { class: "both" }, h("bdi", { class: "t" }, goal(f)), agentIn(f).text ? h("bdi", { class: "x said" }, agentIn(f).text) : "")],
        [h("span", { class: "who" }, [f.agent, f.from ? minutes(tookOf(f, now)) : ""].filter(Boolean).join(", ")), ...side(f)], "two")),
      this.part("done", this.since ? "Finished since you looked" : "Finished", finished, (f) => this.line({ frame: f.id },
        [sign(f.status), h("bdi", { class: "t" }, goal(f)), f.status === "failed" && agentIn(f).reason ? h("bdi", { class: "s" }, agentIn(f).reason) : ""], side(f, f.until))),
      this.part("decisions", "Decisions", decisions, (d) => this.line({ frame: d.frame }, [h("span", { class: "st" }, icon("decision")), h("bdi", { class: "t" }, d.text)], [d.at ? when(d.at, now) : ""], "decision")),
      this.spent(now),
    ].filter(Boolean);
    morph(this.parts, h("div", { class: "parts" }, parts));
  }

  // part is a list with its heading; one without lines is not drawn.
  part(name, title, all, make) {
    if (!all.length) return null;
    const shown = all.slice(0, this.all.has(name) ? 100 : most);
    return h("section", { class: name, "aria-labelledby": "part-" + name },
      h("h3", { id: "part-" + name }, title, " ", h("span", { class: "n" }, String(all.length))), h("ul", {}, shown.map((of) => h("li", {}, make(of)))),
      all.length > most ? h("button", { type: "button", class: "more", "data-key": name + " all", "data-part": name, onclick: (e) => this.more(e) }, this.all.has(name) ? "Fewer" : `All ${Math.min(all.length, 100)}`) : "");
  }

  more(event) {
    const name = event.currentTarget.getAttribute("data-part");
    this.all[this.all.has(name) ? "delete" : "add"](name);
    this.draw();
  }

  // line leads to a frame or a conflict: a person may press all of it.
  line(of, texts, side, kind = "") {
    const at = this.lines.push(of) - 1;
    return h("div", { class: "item " + kind, "data-line": String(at) }, h("button", { type: "button", class: "lead", "data-key": `line ${of.conflict || of.frame || at} ${kind}` }, texts), h("span", { class: "m" }, side));
  }

  // spent says in a line what the days cost, and what folding left out.
  spent(now) {
    const { model, told } = this;
    const key = [model.version, daysBefore(now, 1)[0]].join();
    if (this.summed !== key) {
      const of = (amountOf) => spentBy(model.frames.values(), { edges: daysBefore(now, 2), gaps: model.gaps, now, nameOf: () => "all", amountOf }).map((sums) => sums.get("all") || 0);
      Object.assign(this, { summed: key, days: of((f) => costOf(f.self)) });
    }
    const [yesterday, today] = this.days;
    const requests = (told && told.requests) || [];
    const sum = (name) => requests.reduce((n, r) => n + (r[name] || 0), 0);
    const [sent, left] = [sum("sent"), sum("leftOut")];
    const texts = [today > 0 && [h("b", {}, money(today)), " today"], yesterday > 0 && [h("b", {}, money(yesterday)), " yesterday"],
      left > 0 && ["folding left ", h("b", {}, amount(left)), " tokens out", sent > 0 ? `, ${((sent + left) / sent).toFixed(1)}× less` : ""]].filter(Boolean);
    if (!texts.length) return null;
    const line = texts.map((text, i) => [i ? h("i", {}, "·") : "", text]).flat(2);
    return h("p", { class: "foot" }, left > 0 ? h("button", { type: "button", "data-key": "economy", onclick: () => this.on.economy() }, line) : line);
  }
}
