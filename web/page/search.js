// The field that searches and filters: a combobox that completes terms while a person types.

import { h } from "./words.js";
import { icon } from "./icons.js";
import { offersOf, wrongsOf } from "./filter.js";

// A Search draws into an element.
export class Search {
  constructor(box, change) {
    this.change = change;
    this.offered = { list: [] };
    this.at = -1; // the chosen offer; -1: none
    this.field = h("input", {
      type: "search", role: "combobox", id: "search", placeholder: "Search or filter", "aria-label": "Search and filter frames", spellcheck: "false",
      autocomplete: "off", "aria-autocomplete": "list", "aria-controls": "offers", "aria-expanded": "false", "aria-describedby": "wrong", maxlength: 2000,
      oninput: () => { this.offer(); this.change(this.field.value); }, onkeydown: (e) => this.key(e), onclick: () => this.offer(), onfocus: () => this.offer(),
      onblur: () => this.close(),
    });
    this.offers = h("ul", { id: "offers", role: "listbox", "aria-label": "Completions", hidden: true });
    this.wrong = h("p", { id: "wrong", role: "status" });
    this.count = ""; // what the text finds
    // A press must not take the focus from the field.
    const drop = h("div", { class: "drop", onmousedown: (e) => e.preventDefault() }, this.offers, this.wrong);
    box.append(h("div", { class: "search", role: "search" }, icon("search"), this.field, h("kbd", { "aria-hidden": "true" }, "/"), drop));
  }

  // show shows what a view is filtered by, and how much it finds.
  show(model, text, count) {
    Object.assign(this, { model, count });
    if (!this.has()) this.field.value = text;
    this.tell();
  }

  has() { return document.activeElement === this.field; }

  // tell says what is wrong with the text, or how much it finds.
  tell() {
    const wrongs = this.model ? wrongsOf(this.field.value, this.model, this.has() && !this.entered ? this.field.selectionStart : -1) : [];
    const text = wrongs.length ? wrongs.join("\n") + "\nNothing is hidden by it." : this.field.value.trim() ? this.count : "";
    if (this.wrong.textContent !== text) this.wrong.textContent = text;
    this.wrong.className = wrongs.length ? "wrong" : "";
    if (wrongs.length) this.field.setAttribute("aria-invalid", "true");
    else this.field.removeAttribute("aria-invalid");
  }

  // offer offers what the text at the caret may become.
  offer() {
    if (!this.model) return;
    this.entered = false; // a person types on
    this.offered = offersOf(this.field.value, this.field.selectionStart, this.model);
    this.at = -1;
    this.offers.replaceChildren(...this.offered.list.map((o, i) => h("li", { role: "option", id: "offer-" + i, "aria-selected": "false", onclick: () => this.take(i) },
      h("b", {}, h("bdi", {}, o.says)), " ", h("span", {}, o.note))));
    this.offers.hidden = !this.offered.list.length;
    this.field.setAttribute("aria-expanded", String(!this.offers.hidden));
    this.choose(-1);
    this.tell();
  }

  close() {
    this.offers.hidden = true;
    this.field.setAttribute("aria-expanded", "false");
    this.choose(-1);
    this.tell();
  }

  // enter ends the typing: what is wrong with the last term shows too.
  enter() {
    this.entered = true;
    this.close();
  }

  choose(i) {
    this.at = i;
    [...this.offers.children].forEach((el, n) => el.setAttribute("aria-selected", String(n === i)));
    if (i < 0) return this.field.removeAttribute("aria-activedescendant");
    this.field.setAttribute("aria-activedescendant", "offer-" + i);
    this.offers.children[i].scrollIntoView({ block: "nearest" });
  }

  // take puts an offer into the text.
  take(i) {
    const { from, until, list } = this.offered;
    const { value } = this.field;
    const rest = value.slice(until);
    const taken = list[i].whole + (list[i].isWhole && !/^\s/u.test(rest) ? " " : "");
    this.field.value = value.slice(0, from) + taken + rest;
    const caret = from + taken.length;
    this.field.setSelectionRange(caret, caret);
    if (list[i].isWhole) this.close();
    else this.offer();
    this.change(this.field.value);
  }

  key(event) {
    const count = this.offers.hidden ? 0 : this.offered.list.length;
    const keys = {
      ArrowDown: () => (count ? this.choose((this.at + 1) % count) : this.offer()),
      ArrowUp: () => count && this.choose((this.at <= 0 ? count : this.at) - 1),
      Enter: () => (count && this.at >= 0 ? this.take(this.at) : this.enter()),
      Escape: () => this.close(),
    };
    if (event.isComposing || !keys[event.key] || (event.key === "Escape" && !(count && this.field.value))) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  }
}
