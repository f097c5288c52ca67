package web

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// part returns the text of a part of the overview.
func (tb *tab) part(name string) string { return tb.text("#overview ." + name) }

func TestTheOverviewLeadsToFrames(t *testing.T) {
	_, s, tb := showcased(t)
	tb.expect("/log?")
	tb.fresh(s)
	tb.until(`document.querySelector("#overview .decisions")?.innerText.includes("at most 8 tries in 3 days")`)
	assert.Equal(t, "3", tb.text("#overview .needs .n"), "as in the head: suggestions are for agents")
	for _, line := range [][]string{
		{"needs", "Agents disagree", "Pauses with a cap and equal jitter · Pauses with full jitter", "Settle"},
		{"needs", "Ask the provider for a test key of the new kind", "Unblock"},
		{"needs", "Load test: 10,000 events in a minute", "Waits for your prompt in OpenCode"},
		{"works", "Retries with growing pauses"}, {"works", "The outage of 10 minutes loses nothing"},
		{"done", "Measure what verifying costs", "the host ended with status 1"},
		{"foot", "today", "yesterday", "folding left out about 12.3 M tokens of messages"},
	} {
		for _, text := range line[1:] {
			assert.Contains(t, tb.part(line[0]), text)
		}
	}
	leads := func(part, text, frame string) {
		const line = `[...document.querySelectorAll("#overview .%s .lead")].find((el) => el.innerText.includes(%s))`
		eval[bool](tb, fmt.Sprintf("("+line+".click(), true)", part, quoted(text)))
		tb.until(fmt.Sprintf(`location.hash.includes("sel=%s") && document.querySelector("#details").dataset.frame === %[1]q`, frame))
		tb.until(`document.querySelector("#overview").hidden`)
		tb.press("o")
		tb.until(`document.activeElement.id === "overview-title" && !location.hash.includes("sel=") && document.querySelector("#details").hidden`)
	}
	leads("needs", "test key", "frame-sign0004")
	leads("needs", "Waits", "frame-load0001")
	leads("works", "outage", "frame-agnt0001")
	tb.click(`[data-key="decisions all"]`)
	leads("decisions", "bodies are cut", "frame-revw0001")
	leads("done", "second database", "frame-recv0007")
	tb.click(`[data-key="economy"]`)
	tb.until(`document.querySelector("dialog[open]")?.innerText.includes("Claude Code")`)

	// The head is one row.
	for _, width := range []int64{320, 390, 1024, 1440} {
		tb.size(width, 800)
		tb.fresh(s)
		assert.Equal(t, 48, eval[int](tb, `document.querySelector("#head").offsetHeight`), width)
		assert.Empty(t, eval[[]string](tb, `[...document.querySelectorAll("#head > *")].filter((el) => el.offsetWidth).filter((el) => {
  const box = el.getBoundingClientRect();
  return box.top < 0 || box.bottom > 48 || box.left < 0 || box.right > innerWidth;
}).map((el) => el.className)`), width)
		assert.LessOrEqual(t, eval[int](tb, `document.scrollingElement.scrollWidth`), int(width))
		assert.Equal(t, "(3) orchard – flame", eval[string](tb, `document.title`))
		assert.Equal(t, "icon-waits.svg", eval[string](tb, `document.querySelector("link[rel=icon]").getAttribute("href")`))
	}
	status, _, _ := s.ask("GET", "/icon-waits.svg", "")
	assert.Equal(t, 200, status)
}

// said are the lines of the overview in words: what stands in each part, and the reason beside it.
const said = `Object.fromEntries([...document.querySelectorAll("#overview section")].map((part) => [part.className,
  [...part.querySelectorAll(".item .lead")].map((el) => [...el.querySelectorAll(".t, .x, .s")].map((x) => x.textContent).join(": "))]))`

// The first view is one, drawn by the page and printed by flame.
func TestFlameSaysWhatThePageSays(t *testing.T) {
	u, s, tb := showcased(t)
	tb.fresh(s)
	tb.until(`document.querySelector("#overview .decisions")`)
	for _, part := range []string{"done", "decisions"} {
		tb.click(fmt.Sprintf(`[data-key=%q]`, part+" all"))
	}
	page := eval[map[string][]string](tb, said)
	type item struct {
		Text, Why string
		At        int64
	}
	var told struct {
		Since                       int64
		Needs, Works, Done, Decided []item
		Spent                       string
	}
	require.NoError(t, json.Unmarshal([]byte(u.flame("--json")), &told))
	text := u.flame()
	for part, items := range map[string][]item{"needs": told.Needs, "works": told.Works, "done": told.Done, "decisions": told.Decided} {
		var lines []string
		for _, i := range items {
			if part == "done" && i.At < told.Since {
				continue
			}
			line := i.Text
			if i.Why != "" {
				line += ": " + i.Why
			}
			if lines = append(lines, line); len(lines) <= 8 && i.At >= told.Since {
				assert.Contains(t, text, line)
			}
		}
		assert.NotEmpty(t, lines, part)
		assert.Equal(t, lines, page[part], part)
	}
	assert.Equal(t, told.Spent, tb.part("foot"))
	assert.Contains(t, text, told.Spent)
}

// What is empty is not drawn, and neither is what is zero.
func TestTheOverviewIsLive(t *testing.T) {
	u, root, s, tb := harvest(t)
	tb.fresh(s)
	assert.Equal(t, 1, eval[int](tb, `document.querySelectorAll("#overview section, #overview .foot, .totals > :not(:empty)").length`))
	assert.Contains(t, tb.part("works"), "Nobody works in it now")
	assert.True(t, eval[bool](tb, `document.querySelector(".news").hidden`))
	assert.NotContains(t, tb.text("body"), "$0")
	assert.Equal(t, "orchard – flame", eval[string](tb, "document.title"))
	u.flame("decision", "with a ladder")
	tb.until(`document.querySelector("#overview .decisions")?.innerText.includes("with a ladder")`)
	u.id("push", "Pick the apples")
	u.flame("pop", "blocked", "no ladder")
	tb.until(`document.querySelector("#overview .needs")?.innerText.includes("Pick the apples")`)
	tb.until(`document.title === "(1) orchard – flame" && document.querySelector("link[rel=icon]").getAttribute("href") === "icon-waits.svg"`)
	u.id("push", "Saw the branches")
	u.flame("pop", "completed", "sawn")
	u.id("push", "Burn them")
	u.flame("pop", "failed", "it rains")
	tb.until(`/Burn them[^]*Saw the branches/.test(document.querySelector("#overview .done")?.innerText)`) // what failed comes first

	// Below what ended as a whole nobody waits for anything.
	tb.click("#overview .needs .act")
	tb.until(`document.querySelector("dialog[open]")?.innerText.includes("Activate")`)
	tb.press(escape)
	u.flame("pop", "completed", "over", "--force", "--frame", root)
	tb.until(`!document.querySelector("#overview .needs") && document.title === "orchard – flame"`)

	// After some time away, only what ended meanwhile is listed.
	eval[bool](tb, `(async () => {
  const name = "flame looked " + (await (await fetch("start.json")).json()).project;
  const left = () => localStorage.setItem(name, JSON.stringify({ left: Date.now() - 3600000, since: 0 }));
  addEventListener("pagehide", left);
  document.addEventListener("visibilitychange", left);
  return true;
})()`)
	tb.fresh(s)
	tb.until(`document.querySelector("#overview .done h3")?.innerText.startsWith("Finished since you looked")`)
}

// Numbers change all the time; what a person reads or points at stays where it is.
func TestNothingMovesWhileThePageIsLive(t *testing.T) {
	u, s, tb := showcased(t)
	for _, width := range []int64{390, 1440} {
		tb.size(width, 900)
		u.showcase("-touch", "100")
		tb.fresh(s)
		const places = `JSON.stringify("#head,.news,.search,.opens-menu,#picture,#list,#overview,#overview .needs,#overview .works".split(",")
  .map((name) => { const b = document.querySelector(name).getBoundingClientRect(); return [name, b.left, b.top]; }))`
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

// Statuses can be told apart by everybody, and texts can be read.
func TestColoursCanBeToldApart(t *testing.T) {
	_, s := servedShowcase(t)
	for _, theme := range []string{"light", "dark"} {
		tb := newTab(t)
		tb.theme(theme)
		tb.fresh(s)
		assert.Empty(t, eval[[]string](tb, colours), theme)
	}
}
