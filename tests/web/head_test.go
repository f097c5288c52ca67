package web

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
