// A conflict between agents: what they say, side by side, with a button under each.

import { h, cost, costOf, duration, when } from "./words.js";
import { icon, mark } from "./icons.js";
import { aligned } from "./diff.js";

// A Conflicts draws into an element the conflicts of one convergence. Those that a person settles
// meanwhile stay there, so that they see what they took.
export class Conflicts {
  constructor(box, on) { Object.assign(this, { box, on, of: "", all: new Map(), taken: new Map() }); }

  // show shows the conflicts of the convergence that a view names, and reports whether there are any.
  show(model, view) {
    if (this.of !== (view.conflict || "")) Object.assign(this, { of: view.conflict || "", all: new Map(), taken: new Map(), busy: false, drawn: "" });
    const own = model.conflicts.filter((c) => c.convergence === this.of);
    for (const c of own) this.all.set(c.id, c);
    for (const id of this.all.keys()) if (!this.taken.has(id) && !own.some((c) => c.id === id)) this.all.delete(id); // settled elsewhere
    this.box.hidden = !this.all.size;
    if (this.box.hidden) return false;
    const key = JSON.stringify([...this.all.values(), ...this.taken, this.busy]);
    if (key !== this.drawn) this.draw(model);
    this.drawn = key;
    return true;
  }

  draw(model) {
    const all = [...this.all.values()];
    const [first] = all;
    const above = model.frames.get(first.frame);
    const latest = Math.max(...all.flatMap((c) => c.sides.map((side) => side.completed_at || 0)));
    this.box.replaceChildren(
      h("div", { class: "dtop" }, h("nav", { class: "crumbs", "aria-label": "Where" }, above ? h("button", { type: "button", onclick: () => this.on.select(above.id) }, above.goal) : ""),
        h("button", { type: "button", class: "ib", "aria-label": "Close", title: "Close (Esc)", onclick: this.on.close }, icon("close"))),
      h("h2", {}, `Agents disagree on ${all.length === 1 ? "one thing" : all.length + " things"}`),
      h("p", { class: "note" }, latest ? ["The last of them ended ", when(latest, model.now()), ". "] : "", "The result is made anew with the sides that you take; the others are kept."),
      ...all.map((c) => {
        const sides = aligned(c.sides.map((side) => this.said(c, side)));
        const differ = Math.max(...sides.map((lines) => lines.filter((line) => line.differs).length));
        return h("section", { "aria-label": c.key }, h("h3", { title: c.rationale }, icon("conflict"), h("code", {}, c.key), h("small", {}, sides.every((lines) => lines.length === 1) ? "one value" : `${differ} lines differ`)),
          h("div", { class: "sides" }, sides.map((lines, i) => this.side(model, c, i, lines))));
      }));
  }

  // said is what a side says: of a value without its name.
  said(c, { excerpt }) { return (excerpt && excerpt.startsWith(c.key + ": ") ? excerpt.slice(c.key.length + 2) : excerpt || "(deleted)").replaceAll("\t", "    "); }

  side(model, c, i, lines) {
    const side = c.sides[i];
    const agent = model.agents.get(side.subagent_id) || {};
    const task = side.task || agent.type || side.subagent_id;
    const twin = c.sides.filter((other) => other.task === side.task).length > 1;
    const taken = this.taken.get(c.id);
    const facts = [agent.type && `${agent.type} in ${model.titles[agent.host] || agent.host}`, costOf(agent.used) ? cost(agent.used) : "", agent.ended ? duration(agent.ended - agent.asked) : "", twin ? side.subagent_id : ""];
    const isValue = lines.length === 1;
    let n = 0;
    return h("article", { class: `side ${i % 2 ? "b" : "a"}${taken === side.subagent_id ? " won" : taken ? " lost" : ""}` },
      h("header", {}, h("b", {}, h("bdi", {}, task)), h("small", {}, agent.host ? mark(agent.host, model.titles) : "", facts.filter(Boolean).join(" · "))),
      isValue ? h("p", { class: "value" }, h("bdi", {}, lines[0].text)) : h("pre", { class: "sd", tabindex: 0, "aria-label": "what it says" }, lines.map((line) => (line.text === null
        ? h("span", { class: "pad" }, "\u00a0\n") : h("span", { class: line.differs ? "x" : "", "data-n": String(++n) }, line.differs ? h("em", {}, line.text + "\n") : line.text + "\n")))),
      h("footer", {}, h("button", { type: "button", class: "take", disabled: this.busy || taken === side.subagent_id, "data-key": "take " + side.subagent_id, onclick: () => this.take(c, side) },
        taken === side.subagent_id ? "Taken" : `Take “${task.length > 60 ? task.slice(0, 59) + "…" : task}”${taken ? " instead" : twin ? ` (${side.subagent_id})` : ""}`)));
  }

  async take(c, side) {
    const { taken } = this;
    const before = taken.get(c.id);
    taken.set(c.id, side.subagent_id);
    this.busy = true;
    this.on.changed();
    const done = await this.on.settle(c, side.subagent_id);
    if (!done) {
      if (before) taken.set(c.id, before);
      else taken.delete(c.id);
    }
    if (taken !== this.taken) return;
    this.busy = false;
    this.on.changed();
    const next = [...this.box.querySelectorAll(".take:enabled")].find((el) => !el.closest(".lost"));
    if (next) next.focus({ preventScroll: true });
  }
}
