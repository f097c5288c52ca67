// Questions before something is done, and lists that open above the page.

import { h, amount, less, moment, plural } from "./words.js";

// open shows a dialog; what ends it, takes it out of the page.
function open(title, ...content) {
  const heading = h("h2", {}, title);
  const box = h("dialog", { "aria-label": title }, heading, ...content, h("form", { method: "dialog" }, h("button", { class: "close", value: "", "aria-label": "Close" }, "×")));
  box.addEventListener("close", () => box.remove());
  box.addEventListener("keydown", (e) => e.stopPropagation());
  document.body.append(box);
  box.showModal();
  return box;
}

// question asks before something is done: what will happen, and what is needed for it.
function question(title, { tells, fields = [], yes, danger, run }) {
  return new Promise((resolve) => {
    const inputs = {};
    const wrong = h("p", { class: "wrong", role: "alert", hidden: true });
    const go = h("button", { type: "submit", class: danger ? "danger" : "primary" }, yes);
    const form = h("form", {},
      ...[tells].flat().filter(Boolean).map((t) => (typeof t === "string" ? h("p", {}, t) : t)),
      ...fields.map((field) => h("label", {}, field.label, (inputs[field.name] = input(field)))),
      wrong, h("div", { class: "actions" }, go, h("button", { type: "button", onclick: () => box.close() }, "Leave it")));
    form.addEventListener("submit", async (e) => {
      e.preventDefault();
      go.disabled = true;
      wrong.hidden = true;
      try {
        const given = Object.fromEntries(Object.entries(inputs).map(([name, el]) => [name, el.type === "checkbox" ? el.checked : el.value.trim()]));
        const said = await run(given);
        resolve(said);
        box.close();
      } catch (trouble) {
        wrong.replaceChildren(trouble.message, trouble.hint ? h("small", {}, " " + trouble.hint) : "");
        wrong.hidden = false;
        go.disabled = false;
      }
    });
    const box = open(title, form);
    box.addEventListener("close", () => resolve(null));
    const first = form.querySelector("input, textarea, select") || go;
    first.focus();
  });
}

function input(field) {
  if (field.options) return h("select", {}, field.options.map(([value, text]) => h("option", { value, selected: value === field.value }, text)));
  if (field.lines) return h("textarea", { rows: field.lines, required: field.required, value: field.value || "" });
  if (field.check) return h("input", { type: "checkbox", checked: field.value });
  return h("input", { type: "text", required: field.required, value: field.value || "" });
}

function listOf(affected) {
  const more = affected.count - affected.first.length;
  return h("ul", {}, affected.first.map((f) => h("li", {}, h("code", {}, f.id), " ", h("bdi", {}, f.goal))), more > 0 ? h("li", {}, `and ${more} more`) : null);
}

const sessionsOf = (model) => [["", "the one that was active last"], ...model.sessions.map((s) => [s.id, `${model.titles[s.host] || s.host}: ${s.title || s.id}`])];

// asking are the questions of all actions on a frame; each returns what was said, or null.
export const asking = {
  activate: (f, { model, act }) => question("Activate this frame?", {
    tells: [`“${f.goal}” becomes the current frame of a session: what is done there then belongs to it.`],
    fields: [{ name: "session", label: "of the session", options: sessionsOf(model) }],
    yes: "Activate", run: ({ session }) => act("activate", { frame: f.id, session }),
  }),
  pop: (f, { act }) => question("End this frame?", {
    tells: [`“${f.goal}” ends. A session that works in it goes on in the frame above.`],
    fields: [
      { name: "status", label: "as", options: [["completed", "completed"], ["failed", "failed"], ["blocked", "blocked"]] },
      { name: "text", label: "summary, which other agents will read", lines: 5 },
    ],
    yes: "End it", run: (given) => act("pop", { frame: f.id, ...given }),
  }),
  goal: (f, { act }) => question("Change the goal?", {
    tells: ["Agents that work in the frame are told the new goal with their next context."],
    fields: [{ name: "text", label: "what it is for", value: f.goal, required: true }],
    yes: "Change it", run: (given) => act("goal", { frame: f.id, ...given }),
  }),
  invalidate: async (f, { act, ask }) => {
    const c = await ask("cascade", { id: f.id });
    return question("Set this frame aside?", {
      tells: [
        `“${f.goal}” is marked as no longer valid (invalidated). That cannot be undone.`,
        c.planned.count ? h("div", {}, `${plural(c.planned.count, "planned frame")} below it will be set aside too:`, listOf(c.planned)) : "Nothing planned is below it.",
        c.inProgress.count ? h("div", {}, `${plural(c.inProgress.count, "frame")} below it in progress will go on; whoever works there should be warned:`, listOf(c.inProgress)) : null,
      ],
      fields: [{ name: "text", label: "why", required: true }],
      yes: "Set aside", danger: true, run: (given) => act("invalidate", { frame: f.id, ...given }),
    });
  },
  cancel: (f, { model, act }) => {
    const agent = model.agents.get(f.agentID);
    const below = [...model.agents.values()].filter((a) => a.parentAgent === agent.id && !a.ended).length;
    return question("Cancel this agent?", {
      tells: [`${agent.type} (${agent.id}) is stopped${below ? ", and " + plural(below, "agent") + " that it started" : ""}. What was done is kept; its frame ends as blocked.`],
      yes: "Cancel the agent", danger: true, run: () => act("cancel", { agent: agent.id }),
    });
  },
};

const keys = [
  ["/", "search and filter"], ["o", "overview"], ["c t", "picture by cost, by time"], ["z u", "zoom into the selected frame, and out by one"], ["0", "picture of all frames"],
  ["Enter", "the selected frame"], [".", "what runs"], ["Esc", "out of the zoom, then close the frame, then clear the search"], ["↑ ↓ ← →", "move in the list, open and close"],
  ["Home End", "first and last frame"], ["letters", "in the list: the next frame whose goal begins so"], ["e", "what folding saved"], ["p", "projects"], ["?", "these keys"],
];

export function help() {
  open("Keys", h("table", {}, h("tbody", {}, keys.map(([key, text]) => h("tr", {}, h("th", { scope: "row" }, h("kbd", {}, key)), h("td", {}, text))))));
}

export async function projects(ask, own, goTo) {
  const told = await ask("projects");
  const box = open("Projects", told.projects.length ? h("ul", { class: "plain" }, told.projects.map((p) => h("li", {},
    h("button", { type: "button", disabled: p.state !== "present", "aria-current": p.name === own, onclick: () => { box.close(); goTo(p.name); } }, p.root),
    h("small", {}, p.state === "present" ? ` used ${moment(p.lastUsed)}` : ` ${p.state}`)))) : h("p", {}, "No project has data yet."));
}

export async function economy(ask, titles) {
  const e = await ask("economy");
  open("What folding saved",
    h("p", {}, e.folds ? "What was done in finished frames is left out of later requests to the model." : "Folding is off (FLAME_FOLD)."),
    e.requests.length ? table(["host", "requests", "tokens of messages", "left out", "by folding"], e.requests.map((r) => [titles[r.host] || r.host, amount(r.count), amount(r.sent), amount(r.leftOut), r.timesLess ? less(r.timesLess) : ""])) : h("p", { class: "note" }, "No requests have been seen yet: flame claude, or OpenCode, lets flame see them."),
    e.frames.length ? table(["folded frame", "tokens", "requests without it", "tokens saved"], e.frames.slice(0, 100).map((f) => [f.goal || f.id, amount(f.tokens), amount(f.requests), amount(f.leftOut)])) : null);
}

function table(heads, rows) {
  return h("table", {}, h("thead", {}, h("tr", {}, heads.map((t) => h("th", { scope: "col" }, t)))), h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((c) => h("td", {}, c))))));
}
