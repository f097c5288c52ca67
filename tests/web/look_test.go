package web

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// widths are those of a phone, a half of a screen, and a screen, in pixels.
var widths = []int64{390, 1024, 1440}

// ugly finds flaws of the page's layout: parts outside of the window that cannot be scrolled to,
// parts that cover others, and missing values.
const ugly = `(() => {
  const found = [];
  if (document.scrollingElement.scrollWidth > innerWidth) found.push("the page scrolls sideways");
  const boxOf = (el) => [el, el.getBoundingClientRect()];
  const boxes = (selector) => [...document.querySelectorAll(selector)].map(boxOf).filter(([, b]) => b.width && b.height);
  for (const [el, b] of boxes("header *, h2, button, select, input, .totals, dt, dd, th, td, .note")) {
    if (!el.closest(".skip, #tree") && (b.left < -1 || b.right > innerWidth + 1)) found.push("cut off: " + el.tagName + " " + el.textContent.slice(0, 40));
  }
  const apart = (all, slack) => all.forEach(([x, a], i) => all.slice(i + 1).forEach(([y, b]) => {
    if (a.left >= b.right - 1 || b.left >= a.right - 1 || a.top >= b.bottom - slack || b.top >= a.bottom - slack) return;
    found.push("on each other: " + x.textContent.slice(0, 40) + " / " + y.textContent.slice(0, 40));
  }));
  apart(boxes("#head > *").filter(([el]) => getComputedStyle(el).position !== "absolute"), 1); // the field lies over the head of a phone while it is used
  apart(boxes(".actions > button"), 1);
  const graph = document.querySelector(".bars")?.getBoundingClientRect();
  for (const [el, b] of boxes(".bar, .crowd, .axis span")) {
    if (b.left < graph.left - 1 || b.right > graph.right + 1) found.push("out of the picture: " + el.textContent);
  }
  for (const [el, b] of boxes(".bar .bl")) if (b.width > 40 && !el.textContent) found.push("a wide bar without a name");
  for (const el of document.querySelectorAll("#details, #tree")) {
    if (el.scrollHeight > el.clientHeight + 1 && el.clientHeight && el.clientHeight < 60) found.push("no room for " + (el.id || el.className));
  }
  for (const word of document.body.innerText.match(/\b(null|undefined|NaN)|\[object \w+/g) || []) found.push("a value that is none: " + word);
  return found;
})()`

// A look is a state of the page in its address, and what is done there.
type look struct {
	name, view string
	do         func(tb *tab)
}

// looks are the states of the page. With FLAME_TEST_PICTURES=DIR,
//
//	FLAME_TEST_PICTURES=DIR go test -run Everyone .
//
// makes pictures of all of them, in both themes and all widths.
var looks = []look{
	{"first", "", nil},
	{"frame", "sel=frame-sign0003", nil},
	{"agent", "sel=frame-agnt0001&under=frame-sign0001", nil},
	{"blocked", "sel=frame-sign0004", nil},
	{"failed", "sel=frame-agnt0002", func(tb *tab) {
		assert.Contains(tb.t, tb.text("#details"), "flame does not know where the transcript of session agent-session-2 is")
		tb.click(`[data-key="fold facts"]`)
	}},
	{"question", "sel=frame-agnt0002", func(tb *tab) { tb.asks("invalidate") }},
	{"conflict", "conflict=converge-r3t5y7u9", func(tb *tab) { tb.until(`document.querySelectorAll("#conflict .take").length >= 2`) }},
	{"time", "by=time&sel=frame-recv0005", nil},
	{"filtered", "q=status:failed,blocked", nil},
	{"wrong", "q=status:fialed agent:nobody", func(tb *tab) {
		tb.until(`document.querySelector("#wrong").innerText && document.querySelector("#list .note")`)
	}},
	{"search", "", func(tb *tab) {
		tb.focus("#search")
		tb.press("retries ")
		tb.until(`document.querySelectorAll("[role=option]").length && document.querySelector("#wrong").innerText.includes("of ")`)
	}},
	{"menu", "", func(tb *tab) {
		tb.click(".opens-menu")
		tb.until(`document.querySelector("#menu:popover-open")`)
	}},
	{"you", "", func(tb *tab) { // on a phone, what is for a person, below the picture
		eval[bool](tb, `([...document.querySelectorAll("[data-tab=you], .pbtn")].forEach((el) => el.click()), true)`)
	}},
	{"keys", "", func(tb *tab) { tb.lists("?") }},
	{"economy", "", func(tb *tab) { tb.lists("e") }},
	{"projects", "", func(tb *tab) { tb.lists("p") }},
}

// lists presses a key that opens a list above the page.
func (tb *tab) lists(key string) {
	tb.press(key)
	tb.until(`document.querySelector("dialog[open]")`)
}

func TestEveryoneCanUseThePage(t *testing.T) {
	_, s := servedShowcase(t)
	empty := newUser(t).serve()
	for _, theme := range []string{"light", "dark"} {
		t.Run(theme, func(t *testing.T) {
			t.Parallel()
			tb := newTab(t)
			tb.expect("/log?") // not all sessions of the scene have a transcript
			tb.theme(theme)
			for _, width := range widths {
				tb.size(width, 900)
				for _, of := range looks {
					tb.fresh(s, of.view)
					if of.do != nil {
						of.do(tb)
					}
					tb.fits(fmt.Sprintf("%s-%s-%d", of.name, theme, width))
				}
				tb.fresh(empty)
				assert.Contains(t, tb.text("#none"), "flame setup", "an empty project says what to do next")
				tb.fits(fmt.Sprintf("empty-%s-%d", theme, width))
			}
		})
	}
}
