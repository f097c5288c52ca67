package web

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// widths are those of a phone, a half of a screen, and a screen, in pixels.
var widths = []int64{390, 768, 1440}

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
  for (const svg of document.querySelectorAll("svg.picture")) {
    const edge = svg.getBoundingClientRect();
    const drawn = [...svg.querySelectorAll("text")].filter((el) => el.textContent && el.closest("[visibility=visible]"));
    const texts = drawn.map(boxOf);
    for (const [el, b] of texts) if (b.left < edge.left - 1 || b.right > edge.right + 1) found.push("out of the picture: " + el.textContent);
    apart(texts, 4);
  }
  for (const el of document.querySelectorAll("#details, #tree, #picture .scroll, .lanes")) {
    if (el.scrollHeight > el.clientHeight + 1 && el.clientHeight && el.clientHeight < 60) found.push("no room for " + (el.id || el.className));
  }
  for (const word of document.body.innerText.match(/\b(null|undefined|NaN)|\[object \w+/g) || []) found.push("a value that is none: " + word);
  return found;
})()`

func TestEveryoneCanUseThePage(t *testing.T) {
	_, s := servedShowcase(t)
	empty := newUser(t).serve()
	for _, theme := range []string{"light", "dark"} {
		t.Run(theme, func(t *testing.T) {
			t.Parallel()
			tb := newTab(t)
			tb.expect("/log?") // the scene has no transcripts
			tb.theme(theme)
			for _, width := range widths {
				tb.size(width, 900)
				fits := func(what string) { tb.fits(fmt.Sprintf("%s-%s-%d", what, theme, width)) }
				tb.fresh(s)
				fits("page")
				tb.fresh(s, "sel=frame-agnt0002&under=frame-sign0001")
				fits("agent")
				tb.asks("invalidate")
				fits("question")
				tb.press(escape)
				tb.until(`!document.querySelector("dialog")`)
				assert.Contains(t, tb.text("#details"), "flame does not know where the transcript of session agent-session-2 is")
				tb.fresh(s, "by=cost&under=frame-recv0001&sel=frame-recv0005")
				fits("cost")
				tb.fresh(s, "status=failed,blocked")
				fits("filtered")
				tb.fresh(s, "q=status:fialed agent:nobody")
				tb.until(`document.querySelector("#wrong").innerText && document.querySelector("#list .note").innerText`)
				fits("wrong")
				tb.focus("#search")
				tb.press(" ")
				tb.until(`document.querySelectorAll("[role=option]").length`)
				fits("completions")
				tb.fresh(s)
				tb.click(".more")
				tb.until(`document.querySelector("#menu:popover-open")`)
				fits("menu")
				tb.fresh(empty)
				assert.Contains(t, tb.text("#none"), "flame setup", "an empty project says what to do next")
				fits("empty")
				tb.fresh(s)
				if width == 768 {
					continue // the lists are as wide as on a screen
				}
				for name, key := range map[string]string{"keys": "?", "news": "n", "economy": "e", "projects": "p"} {
					tb.press(key)
					tb.until(`document.querySelector("dialog[open]")`)
					fits(name)
					tb.press(escape)
					tb.until(`!document.querySelector("dialog")`)
				}
			}
		})
	}
}
