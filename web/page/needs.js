// What needs a person, and what failed: by the frames, agents and sessions of a project.

import { duration, whoseOf } from "./words.js";
import { isRunning } from "./model.js";

const silentFrom = 180000; // ms without output
const lowBudget = 0.8; // share of its budget that an agent has used

// troubleOf says why a running agent needs a person; empty if it does not.
function troubleOf(a, now) {
  if (!isRunning(a) || a.native) return "";
  if (a.budget >= lowBudget) return `has used ${Math.round(a.budget * 100)} % of its budget`;
  return a.state === "active" && a.last && now - a.last >= silentFrom ? `silent for ${duration(now - a.last)}` : "";
}

const newestFirst = (frames) => frames.sort((x, y) => (y.until || y.updated) - (x.until || x.updated) || (x.id < y.id ? -1 : 1));

// needsOf returns what needs a person, the most urgent first: an icon, what it is, and where
// that leads. Of a tree that ended as a whole, its top says it.
export function needsOf(model) {
  const now = model.now();
  const blocked = newestFirst([...model.frames.values()].filter((f) => f.status === "blocked" && !f.archived && !model.above(f).some((up) => up.until)));
  const agents = [...model.agents.values()].map((a) => [a, troubleOf(a, now)]).filter(([, trouble]) => trouble);
  return [
    ...model.conflicts.map((c) => ({ icon: "conflict", what: "Conflict", text: `${c.kind} ${c.key}`, conflict: c })),
    ...agents.map(([a, trouble]) => ({ icon: trouble.startsWith("silent") ? "silent" : "budget", what: whoseOf(a), text: trouble, frame: a.frame, at: a.last })),
    ...blocked.map((f) => ({ icon: "blocked", what: "Blocked", text: f.goal || f.id, frame: f.id, at: f.until })),
    ...model.sessions.filter((s) => s.state === "idle").map((s) => ({ icon: "person", what: "Waits for a prompt", text: `${s.host}: ${s.title || s.id}`, frame: s.current || s.root, at: s.heard })),
  ];
}

// failuresOf returns the frames that failed last.
export function failuresOf(model, most) {
  return newestFirst([...model.frames.values()].filter((f) => f.status === "failed" && !f.archived)).slice(0, most);
}
