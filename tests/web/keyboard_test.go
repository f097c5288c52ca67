package web

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
)

// focused describes the focus: its id, its key or its text.
const focused = `(() => {
  const el = document.activeElement;
  return el.id || el.getAttribute("data-key") || el.getAttribute("aria-label") || (el.value && el.name + " " + el.value) || el.textContent || el.tagName;
})()`

// chosen is the goal of the selected line of the tree.
const chosen = `(document.querySelector("[aria-selected=true] bdi")?.innerText)`

// selects waits until the line of a goal is selected, and named to screen readers.
func (tb *tab) selects(goal string) {
	tb.until(fmt.Sprintf(`%s === %s`, chosen, quoted(goal)))
	tb.until(`document.getElementById("tree").getAttribute("aria-activedescendant") === document.querySelector("[aria-selected=true]").id`)
}

// shift presses Tab to go back.
func (tb *tab) shift() {
	tb.do(chromedp.KeyEvent(tabKey, chromedp.KeyModifiers(modifierShift)))
}

func TestTheWholePageWorksByKeys(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	root := u.id("push", "The harvest")
	apples := u.id("push", "Pick the apples")
	u.id("push", "Find a ladder")
	u.flame("pop", "completed", "found")
	u.id("plan", "Press them")
	s := u.serve()
	tb := newTab(t)
	tb.expect("/log?")
	tb.expect("/pop") // one is refused
	tb.open(s.address)

	// From the address bar, past the head, to the tree.
	tb.press(tabKey)
	assert.Equal(t, "To the list", eval[string](tb, focused))
	tb.press(enter)
	tb.until(`document.activeElement.id === "tree"`)
	assert.NotContains(t, eval[string](tb, "location.hash"), "tree", "the address says what is shown")

	// The tree.
	tb.press(arrowDown)
	tb.selects("The harvest")
	tb.press(arrowDown)
	tb.selects("Pick the apples")
	tb.press(arrowRight)
	tb.selects("Find a ladder")
	tb.press(arrowLeft)
	tb.selects("Pick the apples")
	tb.press(arrowLeft)
	tb.until(fmt.Sprintf(`document.querySelector("#line-%s[aria-expanded=false]")`, apples))
	tb.until(`![...document.querySelectorAll("[role=treeitem]")].some((el) => el.innerText.includes("ladder"))`)
	tb.press(arrowRight)
	tb.until(fmt.Sprintf(`document.querySelector("#line-%s[aria-expanded=true]")`, apples))
	tb.press(end)
	tb.selects("Press them")
	tb.press(home)
	tb.selects("The harvest")
	tb.press("F", "i") // the beginning of a goal
	tb.selects("Find a ladder")

	// Zoom, and back by the browser.
	tb.press(arrowUp)
	tb.selects("Pick the apples")
	tb.press("z")
	tb.until(fmt.Sprintf(`location.hash.includes("under=%s") && document.querySelector(".way [aria-current=true]")?.innerText === "Pick the apples"`, apples))
	tb.press("u")
	tb.until(fmt.Sprintf(`location.hash.includes("under=%s") && document.querySelector(".way [aria-current=true]")?.innerText === "The harvest"`, root))
	tb.press("0")
	tb.until(`!location.hash.includes("under")`)
	eval[bool](tb, `(history.back(), true)`)
	tb.until(fmt.Sprintf(`location.hash.includes("under=%s")`, root))
	tb.press("0", "t")
	tb.until(`location.hash.includes("by=time") && document.querySelector(".pbar [title=t]").getAttribute("aria-pressed") === "true"`)
	tb.press("c")
	tb.until(`!location.hash.includes("by=")`)

	// Search and filters.
	tb.press("/")
	tb.until(`document.activeElement.type === "search"`)
	tb.press("ladder")
	tb.until(`document.querySelectorAll("[role=treeitem]").length === 3`)
	tb.press(escape)
	tb.until(`document.querySelectorAll("[role=treeitem]").length === 4 && document.activeElement.id === "tree"`)

	// The lists.
	for _, key := range []string{"?", "e", "p"} {
		tb.press(key)
		tb.until(`document.querySelector("dialog[open]")?.contains(document.activeElement)`)
		tb.press(escape)
		tb.until(`!document.querySelector("dialog") && document.activeElement.id === "tree"`)
	}

	// Details, and an action on them: the focus stays.
	tb.press(".")
	tb.selects("Pick the apples")
	tb.press(enter)
	tb.until(`document.activeElement.id === "details"`)
	tb.settled()
	for range 6 {
		if eval[string](tb, focused) == "menu" {
			break
		}
		tb.press(tabKey)
	}
	assert.Equal(t, "menu", eval[string](tb, focused))
	tb.press(enter)
	tb.until(focused + ` === "do activate"`)
	tb.press(arrowDown)
	tb.until(focused + ` === "do pop"`)
	tb.press(enter)
	tb.until(`document.querySelector("dialog[open]")?.contains(document.activeElement)`)
	tb.press(tabKey)
	tb.until(`document.activeElement.tagName === "TEXTAREA"`)
	tb.press("picked")
	tb.press(tabKey)
	tb.press(enter)
	tb.status(apples, "completed")
	tb.until(`!document.querySelector("dialog")`)
	tb.until(`document.querySelector("#details").contains(document.activeElement)`)
	tb.settled()
	tb.until(`document.querySelector("#details").contains(document.activeElement)`)
	tb.shift()
	assert.NotEqual(t, "BODY", eval[string](tb, `document.activeElement.tagName`))
}

// Keys other than letters.
const (
	enter      = kb.Enter
	escape     = kb.Escape
	tabKey     = kb.Tab
	arrowUp    = kb.ArrowUp
	arrowDown  = kb.ArrowDown
	arrowLeft  = kb.ArrowLeft
	arrowRight = kb.ArrowRight
	home       = kb.Home
	end        = kb.End

	modifierShift = kb.ModifierShift
)

func navigate(address string) chromedp.Action[chromedp.Void] { return chromedp.Navigate(address) }
