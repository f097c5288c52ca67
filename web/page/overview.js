// The overview: what is shown while no frame is selected, as `flame` says it. Each line leads to its frame.

import { h, minutes, tookOf, listed, morph, when, freshen } from "./words.js";
import { icon, sign, mark } from "./icons.js";

const most = 5; // lines of a list, until a person asks for all
const whole = 100; // lines of a list at most, as the server sends them

// verbs are what a person can do about a line that needs them.
const verbs = { conflict: "Settle", blocked: "Unblock" };

// An Overview draws into an element.
export class Overview {
  constructor(box, on) {
    Object.assign(this, { box, on, all: new Set() });
    box.append(h("h2", { tabindex: -1, id: "overview-title", class: "aloud" }, "Overview"), (this.parts = h("div", { class: "parts" })));
    this.parts.addEventListener("click", (e) => {
      const line = e.target.closest("[data-line]");
      const of = line && this.lines[Number(line.getAttribute("data-line"))];
      if (!of) return;
      if (of.conflict && !on.isReport) on.settle(of.conflict);
      else if (of.sign === "blocked" && e.target.closest(".act")) on.act("activate", this.model.frames.get(of.frame));
      else if (this.model.frames.has(of.frame)) on.select(of.frame);
    });
    setInterval(() => { if (!box.hidden && !document.hidden && this.model) freshen(this.parts, this.model.now()); }, 5000);
  }

  focus() {
    this.box.scrollTop = 0;
    this.box.firstChild.focus({ preventScroll: true });
  }

  // show shows the model. The page knows since when a person did not look at it: 0 if they have all the time.
  show(model) {
    this.model = model;
    this.lines = [];
    const now = model.now();
    freshen(this.parts, now); // so that what is the same stays
    const { needs, works, done, decided, spent, since } = model.today;
    const of = (i) => model.frames.get(i.frame) || {};
    const at = (i) => (i.at ? when(i.at, now) : "");
    const side = (f) => [mark(f.host, model.titles), h("span", { class: "cost" }, listed(f.total))];
    const both = (i, kind = "") => h("span", { class: "both", title: (i.above || []).join(" › ") }, h("bdi", { class: "t" }, i.text), i.why ? h("bdi", { class: "x" + kind }, i.why) : "");
    const from = this.since || (this.on.isReport ? 0 : since);
    const parts = [
      this.part("needs", "Needs you", needs, (i) => this.line(i, [sign(i.sign), both(i)], [at(i), this.on.isReport ? "" : h("button", { type: "button", class: "act" }, verbs[i.sign] || "Look")], "two")),
      this.part("works", "In progress", works, (i) => this.line(i, [sign(i.sign), both(i, i.sign === "live" ? " said" : "")],
        [h("span", { class: "who" }, [of(i).agent, i.sign === "live" ? minutes(tookOf(of(i), now)) : ""].filter(Boolean).join(", ")), side(of(i))], "two")),
      this.part("done", this.since ? "Finished since you looked" : from ? "Finished since yesterday" : "Finished", done.filter((i) => i.at >= from), (i) => this.line(i,
        [sign(i.sign), h("bdi", { class: "t" }, i.text), i.why ? h("bdi", { class: "s" }, i.why) : ""], [side(of(i)), at(i)])),
      this.part("decisions", "Decisions", decided, (i) => this.line(i, [h("span", { class: "st" }, icon(i.sign)), h("bdi", { class: "t", title: (i.above || []).join(" › ") }, i.text)], [at(i)], "decision")),
      spent ? h("p", { class: "foot" }, this.on.isReport ? spent : h("button", { type: "button", "data-key": "economy", onclick: () => this.on.economy() }, spent)) : null,
    ].filter(Boolean);
    morph(this.parts, h("div", { class: "parts" }, parts));
  }

  // part is a list with its heading; one without lines is not drawn.
  part(name, title, all, make) {
    if (!all.length) return null;
    const shown = all.slice(0, this.all.has(name) ? whole : most);
    return h("section", { class: name, "aria-labelledby": "part-" + name },
      h("h3", { id: "part-" + name }, title, " ", h("span", { class: "n" }, all.length < whole ? String(all.length) : whole + "+")), h("ul", {}, shown.map((of) => h("li", {}, make(of)))),
      all.length > most ? h("button", { type: "button", class: "more", "data-key": name + " all", "data-part": name, onclick: (e) => this.more(e) }, this.all.has(name) ? "Fewer" : all.length < whole ? `All ${all.length}` : `The first ${whole}`) : "");
  }

  more(event) {
    const name = event.currentTarget.getAttribute("data-part");
    this.all[this.all.has(name) ? "delete" : "add"](name);
    this.show(this.model);
  }

  // line leads to a frame or a conflict: a person may press all of it.
  line(of, texts, side, kind = "") {
    const at = this.lines.push(of) - 1;
    return h("div", { class: "item " + kind, "data-line": String(at) }, h("button", { type: "button", class: "lead", "data-key": `line ${of.conflict || of.frame || at} ${kind}` }, texts), h("span", { class: "m" }, side));
  }
}
