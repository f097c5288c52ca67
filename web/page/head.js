// The head of the page: what is shown, how it stands with the server, what waits for a
// person, what all came to, the field that filters, and the menu.

import { h, amount, cost, plural } from "./words.js";
import { icon } from "./icons.js";
import { Search } from "./search.js";

const lives = { live: "live", connecting: "connecting", gone: "server gone", report: "report" };

// A Head draws into an element, and the choice of the picture's scale into another.
export class Head {
  constructor(box, scale, on) {
    this.project = h("button", { type: "button", class: "project", title: "projects (p)", disabled: on.isReport, onclick: on.projects });
    this.live = h("span", { class: "live", role: "status" });
    this.news = h("button", { type: "button", class: "news", onclick: on.overview });
    this.totals = h("span", { class: "totals" }, h("span", { class: "wide" }), h("span"));
    const home = h("button", { type: "button", class: "home", title: "overview (o)", onclick: on.overview }, "flame");
    box.append(h("h1", {}, home), this.project, this.live, this.news);
    this.search = new Search(box, on.search);
    box.append(this.totals, ...this.menu(on));
    this.by = h("div", { role: "radiogroup", "aria-label": "Width of frames", class: "by" }, ["clock", "tokens", "cost"].map((by) =>
      h("label", {}, h("input", { type: "radio", name: "by", value: by, onchange: () => on.change({ by }) }), "by " + by)));
    this.frames = h("h2");
    scale.append(this.frames, this.by);
  }

  // menu makes the menu and the button that opens it.
  menu(on) {
    const item = (text, key, does, props) => h("button", { type: "button", role: "menuitem", tabindex: -1, onclick: () => { box.hidePopover(); does(); }, ...props },
      h("span", {}, text), h("kbd", {}, key));
    this.archived = item("Archived frames", "", on.archived, { role: "menuitemcheckbox", "aria-checked": "false" });
    const items = [item("Overview", "o", on.overview), item("News", "n", on.news), !on.isReport && item("Economy", "e", on.economy),
      !on.isReport && item("Projects", "p", on.projects), this.archived, item("Keys", "?", on.help)].filter(Boolean);
    const box = h("div", { popover: "auto", id: "menu", role: "menu", "aria-label": "Menu" }, items);
    const button = h("button", { type: "button", class: "more", popovertarget: "menu", "aria-label": "Menu", "aria-haspopup": "menu", "aria-expanded": "false" }, icon("menu"));
    box.addEventListener("toggle", (e) => {
      button.setAttribute("aria-expanded", String(e.newState === "open"));
      if (e.newState === "open") items[0].focus();
    });
    box.addEventListener("keydown", (e) => {
      const at = items.indexOf(document.activeElement);
      const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[e.key];
      e.stopPropagation(); // its keys are keys of the page, too
      if (to === undefined) return;
      e.preventDefault();
      items.at(to % items.length).focus();
    });
    return [button, box];
  }

  // show shows a view of the model. Live says how the page stands with its server, and needs
  // what waits for a person.
  show(model, view, { project, live, needs }) {
    const root = model.root || project;
    say(this.project, root.split("/").pop() || root);
    this.project.title = root + " – projects (p)";
    say(this.live, lives[live]);
    this.live.className = "live is-" + live;
    this.live.title = lives[live];
    say(this.frames, `Frames: ${model.frames.size}`);
    for (const radio of this.by.querySelectorAll("input")) radio.checked = radio.value === view.by;
    this.archived.setAttribute("aria-checked", String(Boolean(view.archived)));
    this.search.show(model, view.q || "");
    this.sum(model, needs);
    title((needs.length ? `(${needs.length}) ` : "") + (this.project.textContent ? this.project.textContent + " – " : "") + "flame", needs.length > 0);
  }

  // sum tells who is at work, what waits for a person, and what all came to.
  sum(model, needs) {
    const all = model.total();
    const running = model.running().length;
    this.news.classList.toggle("urgent", needs.length > 0);
    if (this.news.dataset.count !== String(needs.length)) {
      this.news.dataset.count = String(needs.length);
      this.news.replaceChildren(icon(needs.length ? "blocked" : "completed"), h("span", {}, String(needs.length)), h("span", { class: "wide" }, needs.length === 1 ? " needs you" : " need you"));
    }
    say(this.totals.firstChild, (running ? `${plural(running, "agent")} running · ` : "") + `${amount(all.tokens)} tokens · `);
    say(this.totals.lastChild, cost(all));
  }
}

// title shows in the tab's title and icon whether something waits for a person.
function title(text, waits) {
  if (document.title !== text) document.title = text;
  const link = document.querySelector("link[rel=icon]");
  const href = waits ? "icon-waits.svg" : "icon.svg";
  if (link && link.getAttribute("href") !== href) link.setAttribute("href", href);
}

function say(el, text) { if (el.textContent !== text) el.textContent = text; }
