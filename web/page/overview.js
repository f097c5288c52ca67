// The overview: what is shown while no frame is selected. Each line leads to its frame.

import { h, s, duration, tookOf, amount, cost, money, moment, tokensOf, costOf, hueOf, whoOf, whoseOf, morph } from "./words.js";
import { icon } from "./icons.js";
import { failuresOf } from "./needs.js";
import { daysBefore, spentBy } from "./days.js";

const rest = 1000; // ms from one question to the next, at least
const most = 5; // lines of a list, until a person asks for all
const shownDays = 14;

// An Overview draws into an element. It asks the server for what the stream does not have.
export class Overview {
  constructor(box, on) {
    Object.assign(this, { box, on, told: null, asked: "", asking: false, all: new Set(), by: "host", of: "cost" });
    this.parts = new Map(); // by name: the element, and what it is made of
    box.append(h("h2", { tabindex: -1, id: "overview-title" }, "Overview"), (this.grid = h("div", { class: "cards" })));
    this.grid.addEventListener("click", (e) => {
      const line = e.target.closest("[data-frame], [data-conflict]");
      if (!line) return;
      const conflict = this.model.conflicts.find((c) => c.id === line.getAttribute("data-conflict"));
      if (conflict) this.on.settle(conflict);
      else if (line.hasAttribute("data-frame")) this.on.select(line.getAttribute("data-frame"));
    });
  }

  // leave forgets what was told about another project.
  leave() { Object.assign(this, { told: null, asked: "" }); }

  focus() {
    this.box.scrollIntoView({ block: "nearest" });
    this.box.firstChild.focus({ preventScroll: true });
  }

  // show shows the model, and asks about what changed.
  show(model, needs) {
    this.model = model;
    this.needs = needs;
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
    const { told } = this;
    const works = this.working();
    const cards = [
      this.list("needs", "What needs you", this.needing(), "Nothing. Blocked frames, conflicts between agents, and agents that are silent or near their budget appear here.", this.needs.length),
      this.list("works", "Worked on now", works, "Nothing runs. Start claude or opencode in this project, or an agent by flame agents spawn.", works.length),
      this.card("usage", () => this.usage(), this.usageKey()),
      !this.on.isReport && this.card("savings", () => this.savings(), JSON.stringify(told && [told.requests, told.folds])),
      this.list("decisions", "Latest decisions", this.decided(), told || this.on.isReport ? "None yet. Agents record them; flame decision TEXT records yours." : "…"),
      this.list("failures", "Last failures", this.failed(), "None."),
    ].filter(Boolean);
    if (cards.length !== this.grid.children.length || cards.some((el, i) => this.grid.children[i] !== el)) this.grid.replaceChildren(...cards);
  }

  // card returns the part of a name, and changes what is different in it.
  card(name, make, key) {
    const old = this.parts.get(name);
    if (old && old.key === key) return old.el;
    const el = h("section", { class: "card " + name, "aria-labelledby": "card-" + name }, make());
    if (!old) {
      this.parts.set(name, { el, key });
      return el;
    }
    old.key = key;
    morph(old.el, el);
    return old.el;
  }

  title(name, text, ...more) { return h("div", { class: "title" }, h("h3", { id: "card-" + name }, text), ...more); }

  // list is a card with lines: {icon or hue, what, text, note, frame or conflict}.
  list(name, text, lines, empty, count) {
    const shown = this.all.has(name) ? lines.slice(0, 100) : lines.slice(0, most);
    const key = JSON.stringify([lines.length, count, shown, empty, this.all.has(name)]);
    return this.card(name, () => [
      this.title(name, text, count ? h("span", { class: "count" }, String(count)) : ""),
      shown.length ? h("ul", { class: "lines" }, shown.map((line) => h("li", {}, this.line(line)))) : h("p", { class: "note" }, empty),
      lines.length > most ? h("button", { type: "button", class: "link", "data-key": name + " all", onclick: () => { this.all[this.all.has(name) ? "delete" : "add"](name); this.draw(); } },
        this.all.has(name) ? "Fewer" : `All ${Math.min(lines.length, 100)}`) : "",
    ], key);
  }

  line({ icon: sign, status, hue, what, text, note, frame, conflict }) {
    const leads = conflict ? !this.on.isReport : this.model.frames.has(frame);
    return h("button", { type: "button", "data-frame": conflict ? null : frame, "data-conflict": conflict && conflict.id, disabled: !leads },
      h("span", { class: "glyph s-" + (status || "") }, sign ? icon(sign) : h("i", { class: `dot h${hue}` })),
      h("span", { class: "what" }, what ? h("b", {}, what + " ") : "", h("bdi", {}, text)), note ? h("span", { class: "side" }, note) : "");
  }

  needing() {
    const offers = ((this.told && this.told.suggestions) || []).map((o) => ({
      icon: "suggestion", what: o.type === "push" ? "Suggests a frame" : "Suggests the end", text: o.text || o.reason, note: `${o.confidence} %`, frame: o.frame,
    }));
    return [...this.needs.map((n) => ({ status: "blocked", note: n.at ? this.ago(n.at) : "", ...n, at: undefined })), ...offers];
  }

  working() {
    const { model } = this;
    const now = model.now();
    const sessions = model.sessions.filter((x) => x.state === "active").map((x) => {
      const f = model.frames.get(x.current || x.root);
      return { hue: hueOf(f ? whoOf(f) : x.host), what: x.host, text: (f && f.goal) || x.title || x.id, note: f && f.from ? minutes(tookOf(f, now)) : "", frame: f && f.id };
    });
    const agents = model.running().sort((x, y) => x.asked - y.asked).map((a) => ({
      hue: hueOf(a.type || a.host), what: whoseOf(a), text: a.text || a.description, note: [a.used && costOf(a.used) ? cost(a.used) : "", minutes(now - a.asked)].filter(Boolean).join(" · "), frame: a.frame,
    }));
    return [...sessions, ...agents];
  }

  decided() {
    return ((this.told && this.told.decisions) || []).map((d) => ({ icon: "completed", status: "completed", text: d.text, note: d.at ? this.ago(d.at) : "", frame: d.frame }));
  }

  failed() {
    return failuresOf(this.model, 12).map((f) => ({ icon: "failed", status: "failed", what: whoOf(f), text: f.goal || f.id, note: f.until ? this.ago(f.until) : "", frame: f.id }));
  }

  ago(t) { return minutes(this.model.now() - t) + " ago"; }

  // savings says what folding left out of requests.
  savings() {
    const { told } = this;
    const all = (told && told.requests) || [];
    const sum = (of) => all.reduce((n, r) => n + (of(r) || 0), 0);
    const [sent, left] = [sum((r) => r.sent), sum((r) => r.leftOut)];
    const empty = told && !told.folds ? "Folding is off: FLAME_FOLD turns it on." : "No requests were seen yet: flame claude, or OpenCode, lets flame see them.";
    return [
      this.title("savings", "What folding saved"),
      !told ? h("p", { class: "note" }, "…") : !all.length ? h("p", { class: "note" }, empty) : h("p", { class: "big" },
        h("b", {}, amount(left)), " tokens left out of ", h("b", {}, amount(sum((r) => r.count))), " requests", sent > 0 ? `, their messages ${((sent + left) / sent).toFixed(1)}× less` : ""),
      h("button", { type: "button", class: "link", "data-key": "economy", onclick: this.on.economy }, "By host and frame"),
    ];
  }

  usageKey() {
    const { model } = this;
    return [model.version, this.by, this.of, daysBefore(model.now(), 1)[0]].join();
  }

  // usage draws cost or tokens by day, stacked by host or agent.
  usage() {
    const { model } = this;
    const edges = daysBefore(model.now(), shownDays);
    const nameOf = this.by === "host" ? (f) => f.host || "other" : (f) => f.agent || f.host || "other";
    const amountOf = this.of === "cost" ? (f) => costOf(f.self) : (f) => tokensOf(f.self);
    const tell = this.of === "cost" ? money : amount;
    const days = spentBy(model.frames.values(), { edges, gaps: model.gaps, now: model.now(), nameOf, amountOf });
    const totals = new Map();
    for (const day of days) for (const [name, n] of day) totals.set(name, (totals.get(name) || 0) + n);
    const names = [...totals].sort((x, y) => y[1] - x[1]).map(([name]) => name);
    const first = Math.max(0, Math.min(days.findIndex((day) => day.size), days.length - 7));
    const choice = (name, value, text) => h("button", {
      type: "button", "data-key": "by " + value, "aria-pressed": String(this[name] === value), onclick: () => { this[name] = value; this.draw(); },
    }, text);
    return [
      this.title("usage", "Use by day", h("span", { class: "choices" }, choice("of", "cost", "cost"), choice("of", "tokens", "tokens"), choice("by", "host", "by host"), choice("by", "agent", "by agent"))),
      names.length ? chart(edges.slice(first), days.slice(first), names, tell) : h("p", { class: "note" }, `Nothing was used in the last ${shownDays} days.`),
      names.length ? h("ul", { class: "legend" }, names.slice(0, 8).map((name) => h("li", {}, h("i", { class: `dot h${hueOf(name)}` }), `${name} ${tell(totals.get(name))}`))) : "",
    ];
  }
}

// minutes tells a time in whole minutes at least, so that it changes once a minute.
function minutes(ms) { return ms < 60000 ? "<1 m" : duration(ms - (ms % 60000)); }

// chart draws a bar for each day. The table beside it says the same to screen readers.
function chart(edges, days, names, tell) {
  const [wide, tall, foot] = [24, 88, 16];
  const sums = days.map((day) => [...day.values()].reduce((x, y) => x + y, 0));
  const top = Math.max(...sums) || 1;
  const svg = s("svg", { class: "chart", viewBox: `0 0 ${days.length * wide} ${tall + foot + 14}`, "aria-hidden": "true" });
  days.forEach((day, i) => {
    let y = tall + 14;
    const x = i * wide;
    for (const name of names) {
      const height = ((day.get(name) || 0) / top) * tall;
      if (!(height > 0)) continue;
      y -= height;
      const rect = s("rect", { x: x + 3, y: y.toFixed(2), width: wide - 6, height: Math.max(height, 0.5).toFixed(2) });
      rect.append(s("title", {}, `${name}: ${tell(day.get(name))}`));
      svg.append(s("g", { class: "h" + hueOf(name) }, rect));
    }
    if (sums[i] > 0) svg.append(s("text", { x: x + wide / 2, y: (y - 3).toFixed(2), class: "sum" }, tell(sums[i]).replace(/\.\d\d$/u, (cents) => (sums[i] < 10 ? cents : ""))));
    svg.append(s("text", { x: x + wide / 2, y: tall + foot + 10 }, String(new Date(edges[i]).getDate())));
  });
  const rows = days.map((day, i) => [moment(edges[i], 4 * 86400000), ...names.map((name) => tell(day.get(name) || 0))]);
  return h("div", {}, svg, h("div", { class: "aloud" }, h("table", {}, h("caption", {}, "Use by day"), h("thead", {}, h("tr", {}, ["day", ...names].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, rows.map(([day, ...cells]) => h("tr", {}, h("th", { scope: "row" }, day), cells.map((cell) => h("td", {}, cell))))))));
}
