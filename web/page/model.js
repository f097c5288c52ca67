// What the page knows of a project, as the server told it, and what of that is shown.

import { tokensOf, costOf } from "./words.js";

// A Model holds the frames with their children, and the agents.
export class Model {
  constructor() {
    this.version = 0; // counts what changed
    this.reads = 0; // counts the lives of servers and data that were shown
    this.clear();
  }

  clear() {
    this.version++;
    this.frames = new Map();
    this.agents = new Map();
    this.roots = [];
    this.sessions = [];
    this.conflicts = [];
    this.notices = [];
    this.gaps = [];
    this.today = { needs: [], works: [], done: [], decided: [] };
    this.root = this.root || "";
    this.titles = this.titles || {}; // of hosts, by name
    this.conflicted = new Set(); // frames below which agents disagree
    this.live = new Set(); // frames in which a session or an agent is now
    this.skew = 0; // how much the server's clock is ahead of this one, in ms
    this.read = false;
  }

  // now is the present by the server's clock.
  now() { return Date.now() + this.skew; }

  // take applies a line of the stream, and reports whether anything is different.
  take({ now, board, root, hosts }) {
    this.skew = now - Date.now();
    this.read = true;
    if (root) Object.assign(this, { root, titles: hosts, reads: this.reads + 1 });
    if (!board) return false;
    this.version++;
    this.frames = new Map((board.frames || []).map((row) => [row.id, { total: {}, self: {}, ...row, children: [] }]));
    this.agents = new Map((board.agents || []).map((agent) => [agent.id, agent]));
    for (const name of ["sessions", "conflicts", "notices", "gaps"]) this[name] = board[name] || [];
    this.today = board.today;
    this.link();
    this.live = new Set(this.today.works.filter((i) => i.sign === "live").map((i) => i.frame));
    for (const c of this.conflicts) c.frame = this.between(c);
    this.conflicted = new Set(this.conflicts.map((c) => c.frame));
    return true;
  }

  // link puts the frames below their parents, in the order in which they were made. What
  // has no parent, and one of each cycle, is a root.
  link() {
    this.roots = [];
    for (const f of this.frames.values()) {
      const up = this.frames.get(f.parent);
      if (up && up !== f) up.children.push(f);
      else this.roots.push(f);
    }
    const seen = new Set();
    const visit = (root) => {
      const stack = [root];
      while (stack.length) {
        const f = stack.pop();
        seen.add(f);
        f.children = f.children.filter((child) => !seen.has(child));
        stack.push(...f.children);
      }
    };
    this.roots.forEach(visit);
    for (const f of this.frames.values()) {
      if (seen.has(f)) continue;
      this.roots.push(f);
      visit(f);
    }
  }

  // above returns the frames above one, the parent first.
  above(frame) {
    const found = new Set();
    for (let up = this.frames.get(frame.parent); up && up !== frame && !found.has(up); up = this.frames.get(up.parent)) found.add(up);
    return [...found];
  }

  // total adds up frames: all roots.
  total(frames = this.roots) {
    return frames.reduce((sum, f) => ({ tokens: sum.tokens + tokensOf(f.total), costUSD: sum.costUSD + costOf(f.total), unpriced: sum.unpriced + (f.total.unpriced || 0) }), { tokens: 0, costUSD: 0, unpriced: 0 });
  }

  // running returns the agents at work.
  running() { return [...this.agents.values()].filter((a) => isRunning(a)); }

  // between returns the frame below which the agents of a conflict worked.
  between({ sides }) {
    const of = sides.map((side) => this.frames.get((this.agents.get(side.subagent_id) || {}).frame)).find(Boolean);
    return of && (of.parent || of.id);
  }

  // isLive reports whether a session or an agent is in an open frame now.
  isLive(f) { return this.live.has(f.id); }
}

export function isRunning(agent) { return agent.state === "initializing" || agent.state === "active" || agent.state === "suspended"; }
