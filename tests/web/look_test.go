package web

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// findings are all that axe finds: barriers for people who do not see, or do not use a mouse.
const findings = `axe.run(document, { resultTypes: ["violations"] }).then((told) => told.violations
  .map((v) => v.id + " (" + v.impact + "): " + v.nodes.slice(0, 5).map((n) => n.target.join(" ") + ": " + n.failureSummary).join("; ")))`

// fits checks that everybody can use the page as it is now: its layout, and by axe, whose file
// FLAME_TEST_AXE names.
func (tb *tab) fits(name string) {
	tb.settled()
	tb.keep(name)
	assert.Empty(tb.t, strings.Join(eval[[]string](tb, ugly), "\n"), name)
	file := os.Getenv("FLAME_TEST_AXE")
	if file == "" && os.Getenv("CI") != "true" {
		return
	}
	if !eval[bool](tb, `Boolean(window.axe)`) {
		program, err := os.ReadFile(file)
		require.NoError(tb.t, err)
		eval[any](tb, string(program)+"; undefined")
	}
	assert.Empty(tb.t, strings.Join(eval[[]string](tb, findings), "\n"), name)
}

// The page's own modules, in the browser: the language of the filter, thousands of random trees laid out, and
// figures in the form that flame's texts have.
var (
	//go:embed testdata/filter.js
	filterTables string
	//go:embed testdata/layout.js
	layoutProperties string
)

func TestTheModulesKeepTheirPromises(t *testing.T) {
	_, _, s, tb := harvest(t)
	amounts, err := os.ReadFile(filepath.Join("..", "..", "core", "testdata", "amounts.json"))
	require.NoError(t, err)
	forms := fmt.Sprintf(`(async () => {
  const { amount, money, less, duration, percent } = await import("./words.js");
  const forms = { amount, money, less, span: duration, percent };
  return Object.entries(%s).flatMap(([name, rows]) => 
    rows.filter(([n, text]) => forms[name](n) !== text).map(([n, text]) => `+"`${name}: ${forms[name](n)}, not ${text}`"+`));
})()`, amounts)
	for i, table := range []string{filterTables, layoutProperties, forms} {
		tb.fresh(s)
		assert.Empty(t, eval[[]string](tb, table), i)
	}
}

// shown are the goals of the lines of the tree.
const shown = `[...document.querySelectorAll("[role=treeitem] bdi")].map((el) => el.innerText).join("; ")`

// active is the text of the completion that is named to screen readers.
const active = `document.getElementById(document.querySelector("#search").getAttribute("aria-activedescendant"))?.textContent`

func TestTheFieldCompletesTerms(t *testing.T) {
	_, s, tb := showcased(t)
	tb.fresh(s)
	tb.focus("#search")
	tb.until(`document.querySelector("#search").getAttribute("aria-expanded") === "true" && document.querySelectorAll("[role=option]").length === 7`)
	tb.keep("completion-keys")
	tb.press("stat")
	tb.press(arrowDown)
	tb.until(active + `?.startsWith("status:")`)
	tb.press(enter)
	tb.until(`document.querySelector("#search").value === "status:"`)
	tb.press("fa")
	tb.press(arrowDown)
	tb.until(active + `?.startsWith("failed")`)
	tb.keep("completion-values")
	tb.press(enter)
	tb.until(`document.querySelector("#search").value === "status:failed "`)
	tb.until(`document.querySelector("#search").getAttribute("aria-expanded") === "false" && document.activeElement.id === "search"`)
	tb.until(`document.querySelectorAll("[role=treeitem]").length === 6`)
	assert.Contains(t, eval[string](tb, shown), "Measure what verifying costs")
	tb.until(`location.hash.includes("status%3Afailed")`)

	// By the mouse, together with words; the server finds those.
	tb.press("analy")
	tb.until(`document.querySelector("[role=option]")?.innerText.startsWith("agent:analyzer")`)
	tb.click("[role=option]")
	tb.until(`document.querySelector("#search").value === "status:failed agent:analyzer " && document.activeElement.id === "search"`)
	tb.press("cgo")
	tb.until(`document.querySelector("#wrong").innerText.startsWith("1 of ")`)
	tb.until(shown + ` === "Signatures by Ed25519, and retries that do not pile up; Verify signatures over the raw body; Measure what verifying costs"`)

	// A link shows the same; Esc first closes the completions, and then clears.
	tb.until(`location.hash.includes("cgo")`)
	hash := eval[string](tb, "location.hash")
	tb.fresh(s, hash[1:])
	tb.until(`document.querySelectorAll("[role=treeitem]").length === 3`)
	tb.focus("#search")
	tb.press(end, " st")
	tb.until(`document.querySelector("#search").getAttribute("aria-expanded") === "true"`)
	tb.press(escape)
	tb.until(`document.querySelector("#search").getAttribute("aria-expanded") === "false" && document.querySelector("#search").value.includes("cgo")`)
	tb.press(escape)
	tb.until(`document.querySelector("#search").value === "" && document.activeElement.id === "tree" && !location.hash.includes("q=")`)

	// What was typed last is searched for after a pause, but not if Esc has cleared it.
	assert.Empty(t, eval[string](tb, `new Promise((done) => {
  const field = document.querySelector("#search");
  const escape = () => field.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true }));
  field.focus();
  field.value = "cgo";
  field.dispatchEvent(new Event("input"));
  escape();
  escape();
  setTimeout(() => done(field.value), 500); // behind the timer of the search, and a draw
})`))

	// A wrong term is named in place.
	tb.fresh(s, "q=status:fialed")
	tb.until(`document.querySelector("#wrong").innerText.includes("There is no status “fialed”. Did you mean failed?")`)
	assert.Equal(t, "true", eval[string](tb, `document.querySelector("#search").getAttribute("aria-invalid")`))
	assert.Greater(t, eval[int](tb, `document.querySelectorAll("[role=treeitem]").length`), 10, "it hides nothing")
	tb.keep("wrong-term")
	tb.focus("#search")
	tb.press(end)
	tb.until(`document.querySelector("#wrong").innerText.includes("“fialed”")`) // at once
	tb.press(" status:fai")
	tb.until(`!document.querySelector("#wrong").innerText.includes("“fai”")`) // it may become failed
	tb.press(enter)
	tb.until(`document.querySelector("#wrong").innerText.includes("“fai”")`) // that was all
	tb.press("led agent:nobody ")
	assert.Contains(t, tb.text("#wrong"), "No frame here has the agent “nobody”")
	tb.until(`document.querySelector("#list .note").innerText.includes("No frame matches")`)
	tb.fresh(s, "status=failed&since=week")
	tb.until(`document.querySelector("#search").value === "status:failed since:7d"`)
	tb.until(`document.querySelectorAll("[role=treeitem]").length === 6`)
}

func TestTheMenuWorksByKeys(t *testing.T) {
	_, root, s, tb := harvest(t)
	tb.expect("/log?")
	tb.open(s.address)
	tb.choose(root)
	tb.focus(".opens-menu")
	tb.press(enter)
	tb.until(`document.activeElement.textContent === "Overviewo" && document.querySelector(".opens-menu").getAttribute("aria-expanded") === "true"`)
	tb.press(arrowUp)
	tb.until(`document.activeElement.textContent === "Keys?"`)
	tb.press(arrowDown, arrowDown)
	tb.until(`document.activeElement.textContent === "What folding savede"`)
	tb.press("z") // a letter is no key of the page here
	tb.press(escape)
	tb.until(`!document.querySelector("#menu:popover-open") && document.activeElement.className.includes("opens-menu")`)
	assert.NotContains(t, eval[string](tb, "location.hash"), "under=")
	tb.press(enter)
	tb.until(`document.activeElement.textContent === "Overviewo"`)
	tb.press(enter)
	tb.until(`document.activeElement.id === "overview-title" && !location.hash.includes("sel=")`)
	tb.focus(".opens-menu")
	tb.press(enter)
	tb.until(`document.activeElement.textContent === "Overviewo"`)
	for range 3 {
		tb.press(arrowDown)
	}
	tb.press(enter)
	tb.until(`location.hash.includes("archived=1") && document.querySelector("[role=menuitemcheckbox]").getAttribute("aria-checked") === "true"`)
}
