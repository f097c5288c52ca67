package web

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBackFromAnotherProjectIsTheFirstOne(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.id("push", "The harvest")
	other := *u
	other.project = filepath.Join(filepath.Dir(u.project), "cellar")
	require.NoError(t, os.MkdirAll(filepath.Join(other.project, ".flame"), 0o755))
	other.id("push", "The cider")
	s := u.serve()
	tb := newTab(t)
	tb.expect("/log?")
	tb.before(`window.paths = []; const real = fetch; window.fetch = (path, ...more) => {
		if (!String(path).startsWith("hello?")) paths.push(String(path)); // that is about the server, not a project
		return real(path, ...more);
	};`)
	tb.open(s.address)
	tb.until(`document.querySelector("[role=treeitem]")?.innerText.includes("The harvest")`)
	tb.press("p")
	tb.until(`[...document.querySelectorAll("dialog button")].some((el) => el.innerText.includes("cellar"))`)
	eval[bool](tb, `([...document.querySelectorAll("dialog button")].find((el) => el.innerText.includes("cellar")).click(), true)`)
	tb.until(`document.querySelector("[role=treeitem]")?.innerText.includes("The cider")`)
	eval[bool](tb, `(history.back(), true)`)
	tb.until(`document.querySelector("[role=treeitem]")?.innerText.includes("The harvest")`)
	tb.until(`document.querySelector(".project").innerText === "orchard"`)
	eval[bool](tb, `(paths.length = 0, true)`)
	later := u.id("push", "Pick the apples")
	tb.choose(later)
	asked := eval[[]string](tb, `paths`)
	require.NotEmpty(t, asked)
	for _, path := range asked {
		assert.Contains(t, path, s.project, "requests are about the shown project")
	}
}

// A browser has six connections to a server for all its pages.
func TestAHiddenPageHoldsNoConnection(t *testing.T) {
	u, _, s, tb := harvest(t)
	tb.expect("/log?")
	tb.before(`
window.isHidden = false;
Object.defineProperty(document, "hidden", { get: () => isHidden });
window.hide = (is) => { isHidden = is; document.dispatchEvent(new Event("visibilitychange")); };`)
	tb.open(s.address)
	eval[bool](tb, `(hide(true), true)`)
	tb.until(`!document.querySelector(".live.is-live")`)
	eval[bool](tb, fmt.Sprintf(`(async () => {
  window.others = new AbortController();
  const options = { headers: { Authorization: "Bearer " + sessionStorage.getItem("flame token") }, signal: others.signal };
  for (let i = 0; i < 5; i++) await fetch("api/%s/live", options);
  await fetch("start.json");
  return true;
})()`, s.project))
	id := u.id("push", "Meanwhile")
	assert.False(t, eval[bool](tb, fmt.Sprintf(`Boolean(document.getElementById("line-%s"))`, id)))
	eval[bool](tb, `(others.abort(), hide(false), true)`)
	tb.until(fmt.Sprintf(`document.querySelector(".live.is-live") && document.getElementById("line-%s")`, id))
}

func TestTheAddressChangesInMeasure(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.imported(2000)
	s := u.serve()
	tb := newTab(t)
	tb.expect("/log?")
	tb.before(`
window.replaced = 0;
window.hasEnough = false;
const real = history.replaceState;
history.replaceState = function (...given) {
  replaced++;
  if (window.hasEnough) throw new DOMException("too often", "SecurityError");
  return real.apply(this, given);
};`)
	tb.fresh(s)
	tb.focus("#tree")
	begun := eval[[]float64](tb, `[replaced, performance.now()]`)
	eval[bool](tb, `(async () => {
  for (let i = 0; i < 150; i++) {
    document.querySelector("#tree").dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true, cancelable: true }));
    await new Promise((go) => setTimeout(go, 5));
  }
  return true;
})()`)
	last := eval[string](tb, `document.querySelector("[aria-selected=true]").dataset.id`)
	tb.until(fmt.Sprintf(`location.hash.includes(%s)`, quoted(last)))
	done := eval[[]float64](tb, `[replaced, performance.now()]`)
	assert.LessOrEqual(t, done[0]-begun[0], 3*(done[1]-begun[1])/1000+2)
	eval[bool](tb, `(hasEnough = true)`) // a browser that has enough
	tb.press(home)
	tb.until(`document.querySelector("[aria-selected=true]")?.getAttribute("aria-posinset") === "1"`)

	seen := func() {
		tb.until(`(() => {
  const line = document.querySelector("[aria-selected=true]")?.getBoundingClientRect();
  const box = document.querySelector("#tree").getBoundingClientRect();
  return line && line.top >= box.top - 1 && line.bottom <= box.bottom + 1 && document.querySelector("#details").dataset.frame === "frame-00000013";
})()`)
	}
	tb.fresh(s, "sel=frame-00000013") // a link's selection, one of the last lines, is scrolled to
	seen()
	tb.fresh(s, "under=frame-00001900")
	eval[bool](tb, `(location.hash = "#sel=frame-00000013", true)`) // in newly created lines
	seen()
}

func TestSearchResultsAreRenewed(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.id("push", "The harvest of apples")
	s := u.serve()
	tb := newTab(t)
	tb.before(`
const real = fetch;
let failed = false;
window.fetch = (path, ...more) => {
  if (String(path) !== "start.json" || failed) return real(path, ...more);
  failed = true;
  return Promise.reject(new TypeError("failed"));
};`)
	tb.open(s.address) // though the first thing that it asked for failed
	tb.press("/", "apples")
	tb.until(`document.querySelector("#wrong").innerText === "1 of 1 frames matches"`)
	id := u.id("push", "Pick the apples")
	u.id("push", "Pick the pears")
	tb.until(fmt.Sprintf(`document.getElementById("line-%s")`, id))
	tb.until(`document.querySelectorAll("[role=treeitem]").length === 2`)
}
