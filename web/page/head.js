// The head of the page: what is shown, how, and what it came to in all.

import { h, amount, money, plural } from "./words.js";

const lives = { live: "● live", connecting: "○ connecting", gone: "○ server gone", report: "report" };
const statuses = [
  ["", "any status"], ["in_progress", "in progress"], ["planned", "planned"], ["completed", "completed"], ["blocked", "blocked"],
  ["failed", "failed"], ["invalidated", "invalidated"], ["failed,blocked", "failed or blocked"],
];
const times = [["", "any time"], ["hour", "last hour"], ["day", "last day"], ["week", "last week"]];
const recent = 3600000; // ms for which what went wrong is told in the head

// A Head draws into an element.
export class Head {
  constructor(box, on) {
    const choose = (name, label, choices) => {
      const el = h("select", { "aria-label": label, onchange: () => on.change({ [name]: el.value }) }, choices.map(([value, text]) => h("option", { value }, text)));
      return el;
    };
    this.project = h("button", { type: "button", class: "project", title: "projects (p)", disabled: on.isReport, onclick: on.projects });
    this.live = h("span", { class: "live", role: "status" });
    this.by = h("div", { role: "radiogroup", "aria-label": "Width of frames", class: "by" }, ["clock", "tokens", "cost"].map((by) =>
      h("label", {}, h("input", { type: "radio", name: "by", value: by, onchange: () => on.change({ by }) }), "by " + by)));
    this.search = h("input", {
      type: "search", placeholder: "search (/)", "aria-label": "Search goals, summaries, decisions and results", oninput: () => on.search(this.search.value),
    });
    this.choices = { // by the part of the view
      status: choose("status", "Status", statuses), agent: choose("agent", "Agent", [["", "any agent"]]),
      host: choose("host", "Host", [["", "any host"]]), since: choose("since", "Time", times),
    };
    this.news = h("button", { type: "button", class: "news", onclick: on.news });
    this.totals = h("span", { class: "totals" });
    const more = h("span", { class: "more" },
      h("button", { type: "button", onclick: on.economy }, "Economy"), h("button", { type: "button", "aria-label": "Keys", onclick: on.help }, "?"));
    box.append(h("h1", {}, "flame"), this.project, this.live, this.by, this.search, ...Object.values(this.choices), this.news, this.totals, more);
  }

  // show shows a view of the model. Live says how the page stands with its server.
  show(model, view, { project, live }) {
    const root = model.root || project;
    say(this.project, root.split("/").pop() || root);
    this.project.title = root + " – projects (p)";
    document.title = (this.project.textContent ? this.project.textContent + " – " : "") + "flame";
    say(this.live, lives[live]);
    this.live.className = "live is-" + live;
    for (const radio of this.by.querySelectorAll("input")) radio.checked = radio.value === view.by;
    if (document.activeElement !== this.search) this.search.value = view.q || "";
    this.offer(model, view);
    for (const [name, el] of Object.entries(this.choices)) el.value = view[name] || "";
    this.sum(model);
  }

  // offer offers what can be chosen among all frames, if that may have changed.
  offer(model, view) {
    const of = [model.version, view.agent, view.host].join();
    if (of === this.offered) return;
    this.offered = of;
    for (const name of ["agent", "host"]) {
      const there = new Set([...model.frames.values()].map((f) => f[name]).filter(Boolean));
      if (view[name]) there.add(view[name]);
      options(this.choices[name], "any " + name, ["", ...[...there].sort()]);
    }
  }

  // sum tells who is at work, what waits for a person, and what all came to.
  sum(model) {
    const count = (n, thing, does) => (n ? `${plural(n, thing)} ${does}` : "");
    const sessions = (state) => model.sessions.filter((s) => s.state === state).length;
    const waiting = model.conflicts.length;
    const bad = model.notices.filter((n) => n.bad && model.now() - n.at < recent).length;
    say(this.news, count(waiting, "conflict", waiting === 1 ? "waits for you" : "wait for you") || count(bad, "thing", "went wrong") || "News");
    this.news.classList.toggle("urgent", waiting > 0);
    const all = model.total();
    say(this.totals, [
      count(model.running().length, "agent", "running"), count(sessions("active"), "session", "at work"), count(sessions("idle"), "session", "waiting for you"),
      amount(all.tokens) + " tokens", money(all.usd),
    ].filter(Boolean).join(" · "));
  }
}

function say(el, text) { if (el.textContent !== text) el.textContent = text; }

function options(el, none, wanted) {
  if (el.options.length === wanted.length && wanted.every((v, i) => el.options[i].value === v)) return;
  el.replaceChildren(...wanted.map((v) => h("option", { value: v }, v || none)));
}
