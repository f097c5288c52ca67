package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The goal of a change contains its time; both times are by this machine's clock.
func TestAChangeIsOnThePageWithinASecond(t *testing.T) {
	u := newUser(t) // not in parallel: it measures
	id := u.id("push", "The harvest")
	s := u.serve()
	tb := newTab(t)
	tb.expect("/log?")
	tb.open(s.address)
	eval[bool](tb, `(window.seen = [], new MutationObserver(() => {
  const goal = document.querySelector("[role=treeitem] bdi")?.innerText || "";
  if (/^[0-9]+$/.test(goal) && seen.at(-1)?.[0] !== goal) seen.push([goal, Date.now() - Number(goal)]);
}).observe(document.getElementById("tree"), { subtree: true, childList: true, characterData: true }), true)`)
	const changes = 30
	for i := range changes {
		goal := fmt.Sprint(time.Now().UnixMilli())
		u.flame("goal", "--frame", id, goal)
		tb.until(fmt.Sprintf(`window.seen.length === %d`, i+1))
	}
	seen := eval[[]float64](tb, `seen.map((s) => s[1])`)
	slices.Sort(seen)
	middle, late := seen[len(seen)/2], seen[len(seen)*95/100]
	t.Logf("from the start of a command to the page: %.0f ms (median), %.0f ms (p95)", middle, late)
	assert.Less(t, late, 1000.0*slack)
}

func TestAPageFindsARestartedServer(t *testing.T) {
	u, root, s, tb := harvest(t)
	tb.expect("ERR_") // while it is gone
	tb.expect("/log?")
	tb.open(s.address)
	tb.choose(root)
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGSTOP)) // a silent server counts as gone
	tb.until(`document.querySelector(".live.is-gone")`)
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGCONT))
	tb.until(`document.querySelector(".live.is-live")`)
	s.kill()
	tb.until(`document.querySelector(".live.is-gone")`)
	tb.until(`document.querySelector("#state:not([hidden])")?.innerText.includes("The server is gone")`)
	assert.Contains(t, tb.text("#tree"), "The harvest", "the shown frames stay")
	id := u.id("push", "Meanwhile")
	again := u.serve()
	assert.Equal(t, s.base, again.base, "at the same address")
	assert.Equal(t, s.token, again.token)
	tb.until(fmt.Sprintf(`document.querySelector(".live.is-live") && document.getElementById("line-%s")`, id))
	tb.until(`document.querySelector("#state").hidden`)
	assert.Contains(t, eval[string](tb, "location.hash"), root, "what was selected still is")
}

// events reads the stream of a project as a page does.
func (s *server) events(t *testing.T) (next func() map[string]any) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"/api/"+s.project+"/live", nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+s.token)
	answer, err := httpClient.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { answer.Body.Close() })
	require.Equal(t, http.StatusOK, answer.StatusCode)
	in := json.NewDecoder(answer.Body)
	return func() (line map[string]any) {
		require.NoError(t, in.Decode(&line))
		return line
	}
}

// An agent's terminal, a page and a slow page: none blocks the others.
func TestABusyProjectIsDrawnAndRequestedInMeasure(t *testing.T) {
	u := newUser(t) // not in parallel: it measures
	u.imported(200)
	s := u.serve()
	slow := s.events(t) // the test reads it only once
	tb := newTab(t)
	tb.expect("/log?")
	tb.fresh(s, "sel=frame-00000000")
	const counts = `[
  Number(document.documentElement.getAttribute("data-drawn")), performance.now(),
  performance.getEntriesByType("resource").filter((e) => e.name.includes("/frame?")).length,
]`
	before := eval[[]float64](tb, counts)
	u.showcase("-touch", "20000")
	tb.until(`document.querySelector("#details h2").innerText.includes("Change 19800")`)
	after := eval[[]float64](tb, counts)
	draws, seconds, asked := after[0]-before[0], (after[1]-before[1])/1000, after[2]-before[2]
	t.Logf("%.0f draws in %.1f s while frames changed without a pause, all about the selected one asked for %.0f times", draws, seconds, asked)
	assert.Greater(t, draws, 1.0)
	assert.LessOrEqual(t, draws, 4*seconds+1)
	assert.LessOrEqual(t, asked, seconds+1)
	assert.NotNil(t, slow()["board"])
}

// The times of a page are the server's, whatever the clock beside it does. They are relative, and exact
// with their zone; when the computer slept, both clocks have gone on.
func TestAClockThatJumps(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.id("push", "The harvest")
	id := u.id("push", "Pick the apples")
	u.flame("pop", "blocked", "no ladder")
	s := u.serve()
	tb := newTab(t)
	tb.expect("/log?")
	tb.before(`{
  const [now, parse] = [Date.now, JSON.parse];
  window.ahead = window.later = 0;
  Date.now = () => now() + ahead + later;
  JSON.parse = (...given) => {
    const told = parse(...given);
    if (told?.now) told.now += later;
    return told;
  };
}`)
	tb.fresh(s)
	for _, ahead := range []int{86_400_000, -3 * 86_400_000, 0} {
		eval[bool](tb, fmt.Sprintf(`(window.ahead = %d, true)`, ahead))
		u.id("plan", fmt.Sprint("After ", ahead)) // the next line tells the server's time
		tb.until(fmt.Sprintf(`document.querySelector("#tree").innerText.includes("After %d")`, ahead))
		tb.until(`/^(just now|\d+ [sm] ago)$/.test(document.querySelector("#overview .needs time").innerText)`)
		assert.NotZero(t, eval[int](tb, `[...document.querySelectorAll(".bar")].filter((el) => el.getBoundingClientRect().width > 100).length`), ahead)
		assert.Empty(t, strings.Join(eval[[]string](tb, ugly), "\n"), ahead)
	}
	tb.choose(id)
	const when = `document.querySelector(".meta time")`
	tb.until(when + `.innerText.match(/just now|\d+ [sm] ago/)`)
	assert.Regexp(t, `20\d\d.*(UTC|GMT)`, eval[string](tb, when+`.title`), "with the time zone")
	eval[bool](tb, `(window.later = 2 * 3600000 + 5000, true)`)
	tb.until(`/^2 h( \d m)? ago$/.test(` + when + `.innerText)`)
}

// A computer that sleeps stops its pages; afterwards they show what happened meanwhile.
func TestAPageThatSlept(t *testing.T) {
	u, _, s, tb := harvest(t)
	tb.expect("ERR_")
	tb.fresh(s)
	call(tb, page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: "frozen"})
	s.kill() // the connection is gone when it wakes
	id := u.id("push", "Meanwhile")
	u.flame("pop", "blocked", "asleep")
	u.serve()
	call(tb, page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: "active"})
	tb.until(fmt.Sprintf(`document.querySelector(".live.is-live") && document.querySelector("#line-%s .st-blocked")`, id))
	tb.until(`document.querySelector("#overview .needs").innerText.includes("Meanwhile") && document.title.startsWith("(1)")`)
	tb.until(`document.querySelector("#state").hidden`)
}

// A page of another version loads itself anew, once, and keeps what it shows.
func TestAServerOfAnotherVersion(t *testing.T) {
	_, root, s, tb := harvest(t)
	tb.expect("/log?")
	tb.before(`
const real = fetch;
sessionStorage.setItem("loads", Number(sessionStorage.getItem("loads") || 0) + 1);
window.fetch = (path, ...more) => (String(path) === "start.json" && sessionStorage.getItem("loads") === "2"
  ? real(path, ...more).then((answer) => answer.json()).then((told) => new Response(JSON.stringify({ ...told, version: "of long ago" })))
  : real(path, ...more));`)
	tb.do(navigate(s.base + "/#q=harvest&sel=" + root + "&t=" + s.token))
	loads := eval[string](tb, `sessionStorage.getItem("loads")`)
	eval[bool](tb, `(sessionStorage.setItem("loads", "1"), location.reload(), true)`) // the next load is the second
	tb.until(`sessionStorage.getItem("loads") === "3" && document.querySelector(".live.is-live")`)
	tb.settled()
	assert.Equal(t, "3", eval[string](tb, `sessionStorage.getItem("loads")`), "no more than once (%s before)", loads)
	assert.Equal(t, "harvest", eval[string](tb, `document.querySelector("#search").value`))
	tb.until(fmt.Sprintf(`document.querySelector("#details").dataset.frame === %q`, root))
}

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
