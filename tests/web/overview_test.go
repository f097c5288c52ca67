package web

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// card returns the text of a part of the overview.
func (tb *tab) card(name string) string { tb.t.Helper(); return tb.text(".card." + name) }

func TestTheOverviewLeadsToFrames(t *testing.T) {
	_, s, tb := showcased(t)
	tb.expect("/log?")
	tb.fresh(s)
	tb.until(`document.querySelector(".card.decisions").innerText.includes("at most 8 tries in 3 days")`)
	assert.Equal(t, "2", tb.text(".card.needs .count"), "as in the head: suggestions are offers")
	assert.Contains(t, tb.card("needs"), "Blocked Ask the provider for a test key of the new kind")
	assert.Contains(t, tb.card("needs"), "Waits for a prompt opencode: Load test of the receiver")
	assert.Contains(t, tb.card("needs"), "Suggests a frame Dead letters")
	assert.Contains(t, tb.card("works"), "claude-code Retries with growing pauses")
	assert.Contains(t, tb.card("works"), "tester The outage of 10 minutes loses nothing")
	assert.Contains(t, tb.card("savings"), "12.3 M tokens left out of 243 requests")
	assert.Contains(t, tb.card("failures"), "analyzer Measure what verifying costs")
	leads := func(card, text, frame string) {
		t.Helper()
		const line = `[...document.querySelectorAll(".card.%s li button")].find((el) => el.innerText.includes(%s))`
		eval[bool](tb, fmt.Sprintf("("+line+".click(), true)", card, quoted(text)))
		tb.until(fmt.Sprintf(`location.hash.includes("sel=%s") && document.querySelector("#details code")?.innerText === %[1]q`, frame))
		tb.until(`document.querySelector("#overview").hidden`)
		tb.press("o")
		tb.until(`document.activeElement.id === "overview-title" && !location.hash.includes("sel=") && document.querySelector("#details").hidden`)
	}
	leads("needs", "Blocked", "frame-sign0004")
	leads("needs", "Waits", "frame-load0001")
	leads("needs", "Suggests", "frame-sign0005")
	leads("works", "tester", "frame-agnt0001")
	leads("decisions", "bodies are cut", "frame-revw0001")
	leads("failures", "second database", "frame-recv0007")
	tb.click(`[data-key="economy"]`)
	tb.until(`document.querySelector("dialog[open]")?.innerText.includes("claude-code")`)

	// The head is one row.
	for _, width := range []int64{320, 390, 768, 1440} {
		tb.size(width, 800)
		tb.fresh(s)
		assert.Equal(t, 48, eval[int](tb, `document.querySelector("#head").offsetHeight`), width)
		assert.Empty(t, eval[[]string](tb, `[...document.querySelectorAll("#head > *")].filter((el) => el.offsetWidth).filter((el) => {
  const box = el.getBoundingClientRect();
  return box.top < 0 || box.bottom > 48 || box.left < 0 || box.right > innerWidth;
}).map((el) => el.className)`), width)
		assert.LessOrEqual(t, eval[int](tb, `document.scrollingElement.scrollWidth`), int(width))
		assert.Equal(t, "(2) orchard – flame", eval[string](tb, `document.title`))
		assert.Equal(t, "icon-waits.svg", eval[string](tb, `document.querySelector("link[rel=icon]").getAttribute("href")`))
	}
	status, _, _ := s.ask("GET", "/icon-waits.svg", "")
	assert.Equal(t, 200, status)
}

func TestTheOverviewIsLive(t *testing.T) {
	u, _, s, tb := harvest(t)
	tb.fresh(s)
	assert.Contains(t, tb.card("needs"), "Nothing.")
	tb.until(`document.querySelector(".card.decisions").innerText.includes("flame decision TEXT")`)
	assert.Equal(t, "orchard – flame", eval[string](tb, "document.title"))
	u.flame("decision", "with a ladder")
	tb.until(`document.querySelector(".card.decisions").innerText.includes("with a ladder")`)
	u.id("push", "Pick the apples")
	u.flame("pop", "blocked", "no ladder")
	tb.until(`document.querySelector(".card.needs").innerText.includes("Blocked Pick the apples")`)
	tb.until(`document.title === "(1) orchard – flame" && document.querySelector("link[rel=icon]").getAttribute("href") === "icon-waits.svg"`)
	u.id("push", "Saw the branches")
	u.flame("pop", "failed", "it rains")
	tb.until(`document.querySelector(".card.failures").innerText.includes("Saw the branches")`)
}

// Numbers change all the time; what a person reads or points at stays where it is.
func TestNothingMovesWhileThePageIsLive(t *testing.T) {
	u, s, tb := showcased(t)
	for _, width := range []int64{390, 1440} {
		tb.size(width, 900)
		u.showcase("-touch", "100")
		tb.fresh(s)
		const places = `JSON.stringify("#head,.news,.search,.more,#picture,#agents,#list,#overview,.card.needs,.card.works,.card.usage".split(",")
  .map((name) => { const b = document.querySelector(name).getBoundingClientRect(); return [name, b.left, b.top, b.width]; }))`
		eval[bool](tb, `(window.shifts = [], new PerformanceObserver((list) => {
  for (const e of list.getEntries().filter((e) => e.value > 0.001))
    shifts.push(e.value + " " + e.sources.map((x) => x.node?.className));
}).observe({ type: "layout-shift" }), true)`)
		before := eval[string](tb, places)
		u.showcase("-touch", "2000")
		tb.until(`document.querySelector("#tree").innerText.includes("Change 19")`)
		tb.settled()
		assert.Equal(t, before, eval[string](tb, places))
		assert.Empty(t, eval[[]string](tb, "shifts"))
	}
}

//go:embed testdata/colours.js
var colours string

// Eight colours of agents can be told apart by everybody, and texts on them can be read.
func TestColoursCanBeToldApart(t *testing.T) {
	_, s := servedShowcase(t)
	for _, theme := range []string{"light", "dark"} {
		tb := newTab(t)
		tb.theme(theme)
		tb.fresh(s)
		assert.Empty(t, eval[[]string](tb, colours), theme)
		names := eval[[]string](tb, `[...new Set([...document.querySelectorAll("#tree .who")]
  .filter((el) => el.innerText).map((el) => el.innerText + " " + el.querySelector("i").className))]`)
		require.Greater(t, len(names), 5)
		seen := map[string]string{}
		for _, name := range names {
			who, colour, _ := strings.Cut(name, " dot ")
			assert.Empty(t, seen[colour], "%s has the colour of another name", who)
			seen[colour] = who
		}
	}
}
