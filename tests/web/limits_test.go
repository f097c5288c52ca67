package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The page shows agents' texts as text, whatever their form.
func TestGoalsAreShownAsText(t *testing.T) {
	t.Parallel()
	goals := []string{
		`<img src=x onerror="window.owned=1">`,
		`</script><script>window.owned=2</script>`,
		`"><svg onload=window.owned=3>`,
		`javascript:window.owned=4`,
		"\x1b[31mred\x1b[0m \x1b]8;;http://evil.example\x07link\x1b]8;;\x07",
		"\u202egnirts desrever\u202c and on",
		"שלום עולם",
		"{{constructor.constructor('window.owned=5')()}} ${window.owned=6}",
		"zero\u200bwidth\u2066isolated",
		"__proto__",
		strings.Repeat("a goal of a hundred kilobytes ", 3500),
	}
	u := newUser(t)
	root := u.id("push", "The root")
	ids := make([]string, len(goals))
	for i, goal := range goals {
		cmd := u.command(t.Context(), "plan", "--", goal)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		ids[i] = frameID.FindString(string(out))
		u.flame("activate", ids[i])
		u.flame("pop", "completed", "--frame", ids[i], "--", "summary: "+goal+" http://evil.example/<b>?a=1&b=2")
	}
	s := u.serve()
	tb := newTab(t)
	tb.expect("/log?")
	tb.open(s.address)
	tb.until(fmt.Sprintf(`document.querySelectorAll("[role=treeitem]").length === %d`, len(goals)+1))
	for i, id := range ids {
		tb.click("#line-" + id)
		tb.until(fmt.Sprintf(`document.querySelector("#details h2") && document.querySelector("#details").dataset.frame === %s`, quoted(id)))
		tb.until(`document.querySelector("#details").innerText.includes("summary: ")`)
		shown := tb.text("#line-" + id + " bdi")
		start := strings.Trim(goals[i], "\x1b\u202e")
		assert.Contains(t, shown, start[:min(len(start), 3)], "the goal is shown")
		assert.NotContains(t, shown, "\x1b")
		tb.keep(fmt.Sprintf("hostile-%d", i))
	}
	for _, view := range []string{"tokens", "cost", "time"} {
		tb.fresh(s, "by="+view, "under="+root)
	}
	tb.press("?")
	tb.until(`document.querySelector("dialog[open]")`)
	assert.True(t, eval[bool](tb, `window.owned === undefined`), "nothing that agents wrote ran")
	assert.Zero(t, eval[int](tb, `document.querySelectorAll("#panes img, #panes script, #panes iframe, #panes a:not([href^=http]):not([href^='#sel='])").length`))
	assert.Empty(t, eval[[]string](tb, "forbidden"))
	assert.Empty(t, strings.Join(eval[[]string](tb, ugly), "\n"))
	assert.Zero(t, eval[int](tb, `document.querySelectorAll("#panes a:not([href^='#sel=']):not([rel='noopener noreferrer'])").length`))
}

// An address may be hostile too.
func TestAnyAddressIsAView(t *testing.T) {
	_, _, s, tb := harvest(t)
	tb.expect("search?q=%00") // which is refused
	for _, view := range []string{
		"by=<script>", "sel=../../etc/passwd", "under=frame-zzzzzzzz", "q=%00%ff", "status=nothing", "since=never", "agent=__proto__", "host=<b>",
		"by=constructor",
	} {
		tb.fresh(s, view)
		assert.Empty(t, strings.Join(eval[[]string](tb, ugly), "\n"), view)
	}
	tb.expect("404")
	tb.do(navigate(s.base + "/#project=../../other&t=" + s.token))
	tb.until(`document.querySelector("#state:not([hidden])")?.innerText.includes("no such project")`)
}

// slack is the factor by which a measurement may exceed its limit: all tests of the repository
// share a machine of few cores, and the browser has more processes than that.
const slack = 3

// Tests that measure are not parallel.

// timed returns how long the page draws each time, in ms: from the timer that begins it to its
// end, styles and places included.
const timed = `(async () => {
  const took = [];
  for (let i = 0; i < 21; i++) {
    const key = ["t", "c"][i % 2];
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    const begun = performance.now();
    await new Promise((done) => {
      new MutationObserver((all, self) => { self.disconnect(); done(); }).observe(document.documentElement, { attributes: true });
    });
    document.body.getBoundingClientRect();
    took.push(performance.now() - begun);
  }
  return took;
})()`

func TestTwentyThousandFramesAreDrawnInTime(t *testing.T) {
	u := newUser(t)
	u.imported(20_000)
	tb := newTab(t)
	tb.expect("/log?")
	took := tb.first(u, 20_000, slack*time.Second)
	t.Logf("20,000 frames: the first picture after %v", took)
	assert.Less(t, took, slack*time.Second)
	tb.settled()
	assert.Less(t, eval[int](tb, `document.querySelectorAll("[role=treeitem]").length`), 200, "only lines that can be seen are made")
	assert.Less(t, eval[int](tb, `document.querySelectorAll(".bar").length`), 4000, "only boxes that can be seen are made")
	u.showcase("-touch", "2000") // some used tokens
	tb.until(`document.querySelector(".way").innerText.includes("tokens") && document.querySelector(".crowd")`)
	draws := eval[[]float64](tb, timed)
	slices.Sort(draws)
	t.Logf("a draw: %.0f ms (median), %.0f ms (the longest of %d), with up to 16 ms of waiting for its turn", draws[len(draws)/2], draws[len(draws)-1], len(draws))
	assert.Less(t, draws[len(draws)/2], 60.0*slack)

	// Changes do not add up in the page's memory.
	heap := func() float64 {
		tb.settled()
		return eval[float64](tb, `(gc(), gc(), performance.memory.usedJSHeapSize / 1048576)`)
	}
	changes := func(last string) {
		for range 10 {
			u.showcase("-touch", "1000")
		}
		u.flame("goal", "--frame", "frame-00000000", last)
		tb.until(fmt.Sprintf(`document.body.innerText.includes(%s)`, quoted(last)))
	}
	changes("The first ones")
	before := heap()
	changes("The last ones")
	after := heap()
	t.Logf("the page's memory: %.1f MB before 10,000 changes, %.1f MB after", before, after)
	assert.Less(t, after, before*1.1+2)
	assert.Less(t, eval[int](tb, `document.querySelectorAll("*").length`), 6000)
}

func TestAHundredThousandFramesAreShown(t *testing.T) {
	u := newUser(t)
	u.imported(100_000)
	tb := newTab(t)
	took := tb.first(u, 100_000, slack*10*time.Second)
	t.Logf("100,000 frames: the first picture after %v", took)
	assert.Less(t, took, slack*10*time.Second)
	tb.until(`document.querySelectorAll("[role=treeitem]").length > 10`)
	u.flame("goal", "--frame", "frame-00099900", "Still live")
	tb.until(`document.querySelector("[role=treeitem] bdi").innerText === "Still live"`)
}

// first opens the page of a new server, and returns the time from the request until the tree and
// the picture of so many frames were there. If that is more than most, the machine may have stood
// still: the fastest of three servers counts.
func (tb *tab) first(u *user, frames int, most time.Duration) time.Duration {
	fastest := time.Hour
	for try := range 3 {
		s := u.serve()
		tb.do(chromedp.Navigate(s.address))
		tb.until(fmt.Sprintf(`document.querySelector(".space")?.offsetHeight === %d * 28 && document.querySelector(".bar, .crowd")`, frames))
		fastest = min(fastest, time.Duration(eval[float64](tb, `drawn`)*float64(time.Millisecond)))
		if fastest < most || try == 2 {
			break
		}
		tb.do(chromedp.Navigate("about:blank"))
		tb.expect("ERR_") // of the stream of the page before, which the browser may keep for a while
		s.kill()
	}
	tb.t.Cleanup(tb.close)
	return fastest
}
