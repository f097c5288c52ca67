package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/stretchr/testify/assert"
)

// Texts of any length and script fit the head, the tree and the overview.
func TestAnyGoalFits(t *testing.T) {
	t.Parallel()
	goals := []string{
		strings.Repeat("long ", 2000), strings.Repeat("x", 10_000), strings.Repeat("👩‍👩‍👧‍👦", 400), "מימוש של חתימות " + strings.Repeat("עם ניסיונות ", 30),
		strings.Repeat("漢", 3000), "\u202eright to left override", strings.Repeat("a\u0301", 500), "https://example.org/" + strings.Repeat("a/", 2000),
	}
	u := newUser(t)
	u.id("push", "--", goals[0])
	for i, goal := range goals[1:] {
		u.id("push", "--", goal)
		u.flame("decision", "--", goal)
		u.flame("pop", []string{"blocked", "failed"}[i%2], "--", goal)
	}
	s := u.serve()
	tb := newTab(t)
	for _, width := range []int64{320, 390, 768, 1440} {
		tb.size(width, 900)
		tb.fresh(s)
		tb.until(`document.querySelectorAll(".card.decisions li").length === 5`)
		assert.Empty(t, strings.Join(eval[[]string](tb, ugly), "\n"), width)
		assert.LessOrEqual(t, eval[int](tb, `document.scrollingElement.scrollWidth`), int(width))
		assert.Empty(t, eval[[]string](tb, `[...document.querySelectorAll(".card, .lines button")].filter((el) => {
  const box = el.getBoundingClientRect();
  return box.right > innerWidth || (el.tagName === "BUTTON" && box.height > 60);
}).map((el) => el.className + el.innerText.slice(0, 50))`), width)
		tb.keep(fmt.Sprint("goals-", width))
	}
	tb.focus("#search")
	tb.press("agent:nobody ", strings.Repeat("y", 300))
	tb.until(`document.querySelector("#wrong").innerText.includes("nobody")`)
	assert.Empty(t, strings.Join(eval[[]string](tb, ugly), "\n"))
}

func TestTheOverviewOfTenThousandChildren(t *testing.T) {
	u := newUser(t) // not in parallel: it measures
	u.broad(10_000)
	tb := newTab(t)
	tb.first(u, 10_001, slack*time.Second)
	tb.settled()
	draws := eval[[]float64](tb, timed)
	t.Logf("10,000 children of one frame: the draws take %.0f ms", draws)
	sum := 0.0
	for by := range 3 { // the median of each picture: during some draws the machine may stand still
		var of []float64
		for i := by; i < len(draws); i += 3 {
			of = append(of, draws[i])
		}
		slices.Sort(of)
		sum += of[len(of)/2]
	}
	assert.Less(t, sum/3, 100.0*slack)
	assert.Less(t, eval[int](tb, `document.querySelectorAll("*").length`), 6000)
	tb.until(`document.querySelectorAll(".card.failures li").length === 5`)
	tb.focus("#search")
	tb.press("status:failed since:2020-01-31 ")
	tb.until(`document.querySelector(".space").offsetHeight === 1001 * 28`)
}

// The times of a page are the server's, whatever the clock beside it does.
func TestAClockThatJumps(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.id("push", "The harvest")
	u.id("push", "Pick the apples")
	u.flame("pop", "blocked", "no ladder")
	s := u.serve()
	tb := newTab(t)
	tb.before(`{ const now = Date.now; window.ahead = 0; Date.now = () => now() + ahead; }`)
	tb.fresh(s)
	for _, ahead := range []int{86_400_000, -3 * 86_400_000, 0} {
		eval[bool](tb, fmt.Sprintf(`(window.ahead = %d, true)`, ahead))
		u.id("plan", fmt.Sprint("After ", ahead)) // the next line tells the server's time
		tb.until(fmt.Sprintf(`document.querySelector("#tree").innerText.includes("After %d")`, ahead))
		tb.until(`/^(<1|\d+) m ago$/.test(document.querySelector(".card.needs .side").innerText)`)
		tb.until(`/^(<1|\d+) s$|^\d m/.test(document.querySelector("[role=treeitem] > span:nth-child(3)").innerText)`)
		assert.Empty(t, strings.Join(eval[[]string](tb, ugly), "\n"), ahead)
	}
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
	tb.until(fmt.Sprintf(`document.querySelector(".live.is-live") && document.querySelector("#line-%s .s-blocked")`, id))
	tb.until(`document.querySelector(".card.needs").innerText.includes("Meanwhile") && document.title.startsWith("(1)")`)
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
	tb.until(fmt.Sprintf(`document.querySelector("#details code")?.innerText === %q`, root))
}
