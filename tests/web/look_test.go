package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// widths are those of a phone, a half of a screen, and a screen, in pixels.
var widths = []int64{400, 800, 1400}

// ugly says what is wrong with how the page looks: it runs out of the window where nobody
// can scroll to it, stands on something else, or is a value that is none.
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
  apart(boxes("#head > *"), 1);
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

func TestThePageFitsItsWindow(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.showcase()
	s := u.serve()
	for _, theme := range []string{"light", "dark"} {
		t.Run(theme, func(t *testing.T) {
			t.Parallel()
			tb := newTab(t)
			tb.expect("/log?") // the scene has no transcripts
			tb.theme(theme)
			for _, width := range widths {
				tb.size(width, 900)
				fits := func(what string) {
					tb.settled()
					name := fmt.Sprintf("%s-%s-%d", what, theme, width)
					tb.keep(name)
					assert.Empty(t, strings.Join(eval[[]string](tb, ugly), "\n"), name)
				}
				tb.fresh(s)
				fits("page")
				tb.fresh(s, "sel=frame-agnt0002")
				fits("agent")
				assert.Contains(t, tb.text("#details"), "it is not known where the transcript of session agent-session-2 is")
				tb.fresh(s, "by=cost&under=frame-recv0001&sel=frame-recv0005")
				fits("cost")
				tb.fresh(s, "status=failed,blocked")
				fits("filtered")
				if width == 800 {
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
