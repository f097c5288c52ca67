// The head of the page: what is shown, how it stands with the server, what waits for a person,
// the field that filters, what all came to, and the menu.

import { h, amount, listed } from "./words.js";
import { icon } from "./icons.js";
import { Search } from "./search.js";

const lives = { live: "live", connecting: "connecting", gone: "reconnecting", report: "report" };

// A Head draws into an element.
export class Head {
  constructor(box, on) {
    this.name = h("span");
    this.project = h("button", { type: "button", class: "project", disabled: on.isReport, onclick: on.projects }, this.name, on.isReport ? "" : icon("open"));
    this.live = h("span", { class: "live", role: "status" });
    this.news = h("button", { type: "button", class: "news", onclick: on.overview });
    this.totals = h("span", { class: "totals" }, h("span", { class: "run" }), h("span", { class: "wide" }), h("b"));
    box.append(h("h1", {}, h("button", { type: "button", class: "home", title: "overview (o)", onclick: on.overview }, icon("flame"), h("span", { class: "aloud" }, "flame: overview"))), this.project, this.live, this.news);
    this.search = new Search(box, on.search);
    box.append(this.totals, ...this.menu(on));
  }

  // menu makes the menu and the button that opens it.
  menu(on) {
    const item = (text, key, does, props) => ({ text, key, does, props });
    this.archived = null;
    const items = [item("Overview", "o", on.overview), !on.isReport && item("What folding saved", "e", on.economy), !on.isReport && item("Projects", "p", on.projects),
      item("Archived frames", "", on.archived, { role: "menuitemcheckbox", "aria-checked": "false" }), item("Keys", "?", on.help)].filter(Boolean);
    const made = menuOf("menu", "Menu", "menu", items);
    this.archived = made[1].querySelector("[role=menuitemcheckbox]");
    return made;
  }

  // show shows a view of the model. Live says how the page stands with its server, and needs
  // what waits for a person.
  show(model, view, { project, live, needs }) {
    const root = model.root || project;
    say(this.name, root.split("/").pop() || root);
    this.project.title = root + " – projects (p)";
    say(this.live, lives[live]);
    this.live.className = "live is-" + live;
    this.live.title = lives[live];
    this.archived.setAttribute("aria-checked", String(Boolean(view.archived)));
    const all = model.total();
    const { size } = model.live;
    this.news.hidden = !needs.length;
    if (this.news.dataset.count !== String(needs.length)) {
      this.news.dataset.count = String(needs.length);
      this.news.replaceChildren(icon(needs.length && needs[0].sign), `${needs.length} ${needs.length === 1 ? "needs" : "need"} you`);
    }
    const [run, tokens, spent] = this.totals.children;
    if (run.dataset.count !== String(size)) {
      run.dataset.count = String(size);
      run.replaceChildren(...(size ? [icon("live"), `${size} at work`] : []));
    }
    say(tokens, all.tokens ? `${amount(all.tokens)} tokens` : "");
    say(spent, listed({ ...all, tokensIn: all.tokens }));
    title((needs.length ? `(${needs.length}) ` : "") + (this.name.textContent ? this.name.textContent + " – " : "") + "flame", needs.length > 0);
  }
}

// menuOf makes a button that opens a menu, and the menu: items are {text, key, does, props}.
export function menuOf(id, name, sign, items) {
  const all = items.map(({ text, key, does, props }) => h("button", { type: "button", role: "menuitem", tabindex: -1, "data-key": "menu " + text, onclick: () => { box.hidePopover(); does(); }, ...props },
    h("span", {}, text), key ? h("kbd", {}, key) : ""));
  const box = h("div", { popover: "auto", id, class: "menu", role: "menu", "aria-label": name }, all);
  const button = h("button", { type: "button", class: "ib opens-" + id, popovertarget: id, "aria-label": name, title: name, "aria-haspopup": "menu", "aria-expanded": "false", "data-key": "menu" }, icon(sign));
  box.addEventListener("beforetoggle", () => {
    const at = button.getBoundingClientRect();
    box.style.top = at.bottom + 4 + "px";
    box.style.right = Math.max(innerWidth - at.right, 8) + "px";
  });
  box.addEventListener("toggle", (e) => {
    button.setAttribute("aria-expanded", String(e.newState === "open"));
    if (e.newState === "open") all[0].focus();
  });
  box.addEventListener("keydown", (e) => {
    const at = all.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[e.key];
    e.stopPropagation(); // its keys are keys of the page, too
    if (to === undefined) return;
    e.preventDefault();
    all.at(to % all.length).focus();
  });
  return [button, box];
}

// title shows in the tab's title and icon whether something waits for a person.
function title(text, waits) {
  if (document.title !== text) document.title = text;
  const link = document.querySelector("link[rel=icon]");
  const href = waits ? "icon-waits.svg" : "icon.svg";
  if (link && link.getAttribute("href") !== href) link.setAttribute("href", href);
}

function say(el, text) { if (el.textContent !== text) el.textContent = text; }
