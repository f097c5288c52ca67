package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAFramesSideBeginsWithWhatItLeft(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	root := u.id("push", "The harvest")
	apples := u.id("push", "--criteria", "No apple is left", "Pick the apples")
	u.flame("pop", "completed", "All are in the cellar", "--decision", "by hand", "--artifact", "cellar/apples.txt")
	pears := u.id("push", "Pick the pears")
	ladder := u.id("push", "Find a ladder")
	u.flame("pop", "completed", "found")
	s := u.serve()
	tb := newTab(t)
	tb.expect("/log?")
	tb.before(`{
  const real = navigator.clipboard.writeText.bind(navigator.clipboard);
  navigator.clipboard.writeText = (text) => { window.copied = text; return real(text); };
}`)
	tb.open(s.address)
	tb.choose(apples)
	tb.until(`["No apple is left", "Conversation"].every((part) => document.querySelector("#details").innerText.includes(part))`)
	last := -1
	shown := tb.text("#details")
	for _, part := range []string{
		"The harvest", "Pick the apples", "Completed", "Outcome", "All are in the cellar", "Decisions", "by hand", "cellar/apples.txt", "No apple is left",
		"Conversation", "More about it", "History", "Context",
	} {
		at := strings.Index(shown, part)
		assert.Greater(t, at, last, "%s comes next in:\n%s", part, shown)
		last = max(at, last)
	}
	tb.noNothing()

	// Artifacts, ids and commands can be copied.
	copied := func(text string) {
		tb.click(fmt.Sprintf(`[data-key=%s]`, quoted("copy "+text)))
		tb.until(`document.querySelector("#said").innerText === "Copied."`)
		assert.Equal(t, text, eval[string](tb, `window.copied`))
	}
	copied("cellar/apples.txt")
	for text, wanted := range map[string]string{"Copy its id": apples, "Copy flame show …": "flame show " + apples + " --diff"} {
		tb.click(".opens-acts")
		tb.click(`[data-key="menu ` + text + `"]`)
		tb.until(fmt.Sprintf(`window.copied === %s`, quoted(wanted)))
	}

	// Its history is asked for once it is opened.
	assert.NotContains(t, tb.text("#details"), "ended (completed)")
	tb.click(`[data-key="fold history"]`)
	tb.until(`/started[^]*ended \(completed\)/.test(document.querySelector(".events")?.innerText)`)

	// Frames above and below it: links that a person can follow, copy, and go back from.
	tb.choose(pears)
	assert.Contains(t, tb.text("#details"), "Below it 1")
	assert.Equal(t, "#sel="+ladder, eval[string](tb, fmt.Sprintf(`document.querySelector('a[data-key="to %s"]').getAttribute("href")`, ladder)))
	tb.focus(`[data-key="to ` + root + `"]`)
	tb.press(enter)
	tb.until(fmt.Sprintf(`document.querySelector("#details").dataset.frame === %s && location.hash.includes("sel=%s")`, quoted(root), root))
	assert.Empty(t, eval[[]string](tb, ugly))
}

// What is too long, too wide or too many, in any script, and clocks that jumped.
func TestOddFrames(t *testing.T) {
	t.Parallel()
	const now = 1_760_000_000_000
	goals := []string{
		strings.Repeat("A very long goal. ", 600), strings.Repeat("x", 10_000), strings.Repeat("שלום ", 2000), strings.Repeat("👩‍👩‍👧‍👦", 1500),
		strings.Repeat("漢", 3000), "\u202eright to left override", strings.Repeat("a\u0301", 500), "https://example.org/" + strings.Repeat("a/", 2000),
	}
	frames := []map[string]any{{"sessionID": "frame-00000000", "status": "in_progress", "title": goals[0], "createdAt": now, "updatedAt": now}}
	for i, goal := range goals {
		frames = append(frames, map[string]any{
			"sessionID": fmt.Sprintf("frame-0000000%d", i+1), "parentSessionID": "frame-00000000", "status": []string{"blocked", "failed"}[i%2], "title": goal,
			"createdAt": now + i, "updatedAt": now + 5000, "compactionSummary": goal, "artifacts": []string{goal}, "successCriteria": goal,
		})
	}
	for i, at := range [][2]int{{now + 9000, now}, {4_000_000_000_000, 4_000_000_001_000}, {1, now}, {now, 9_000_000_000_000}} {
		frames = append(frames, map[string]any{
			"sessionID": fmt.Sprintf("frame-1000000%d", i), "parentSessionID": "frame-00000000", "status": "completed", "title": "Odd",
			"createdAt": at[0], "updatedAt": at[1],
		})
	}
	u := newUser(t)
	u.brought(frames...)
	s := u.serve()
	tb := newTab(t)
	tb.expect("/log?")
	for _, width := range []int64{1400, 390, 320} {
		tb.size(width, 900)
		tb.fresh(s)
		tb.until(`document.querySelectorAll("#overview .needs li").length > 3`)
		assert.Empty(t, strings.Join(eval[[]string](tb, ugly), "\n"), width)
		assert.LessOrEqual(t, eval[int](tb, `document.scrollingElement.scrollWidth`), int(width))
		assert.Empty(t, eval[[]string](tb, `[...document.querySelectorAll("#overview section, #overview .lead")].filter((el) => {
  const box = el.getBoundingClientRect();
  return box.right > innerWidth || (el.tagName === "BUTTON" && box.height > 110);
}).map((el) => el.className + el.innerText.slice(0, 50))`), width)
		for _, f := range frames {
			if width == 320 {
				break // the details are as wide as at 390, but for margins
			}
			id := f["sessionID"].(string)
			tb.fresh(s, "sel="+id)
			tb.until(fmt.Sprintf(`document.querySelector("#details").dataset.frame === %s`, quoted(id)))
			assert.Empty(t, strings.Join(eval[[]string](tb, ugly), "\n"), "%s at %d", id, width)
			assert.Less(t, eval[float64](tb, `document.querySelector("#details h2").offsetHeight`), 500.0, "%s at %d", id, width)
			tb.keep(fmt.Sprintf("odd-%s-%d", id, width))
			if goal := f["title"].(string); len(goal) > 5000 && id != "frame-00000000" {
				tb.click(`[data-key="whole goal"]`)
				tb.until(fmt.Sprintf(`(window.all = document.querySelector("#details h2")?.textContent)?.length > 2500 && %s.startsWith(all)`, quoted(goal)))
			}
		}
	}
	tb.focus("#search")
	tb.press("agent:nobody ", strings.Repeat("y", 300))
	tb.until(`document.querySelector("#wrong").innerText.includes("nobody")`)
	assert.Empty(t, strings.Join(eval[[]string](tb, ugly), "\n"))
	tb.size(1400, 900)
	tb.fresh(s)
	tb.press("t")
	tb.until(`[...document.querySelectorAll(".axis .tick")].some((el) => / (19[789]|20[0-2])\d /.test(el.innerText))`) // one began in 1970
	wide := eval[int](tb, `[...document.querySelectorAll(".bar")].filter((el) => el.offsetWidth > 4).length`)
	assert.Greater(t, wide, 2)
}

func TestTenThousandChildrenOfOneFrame(t *testing.T) {
	u := newUser(t) // not in parallel: it measures
	const begun = 1_760_000_000_000
	frames := []map[string]any{{"sessionID": "frame-root0000", "status": "in_progress", "title": "The root", "createdAt": begun, "updatedAt": begun}}
	for i := range 10_000 {
		from, status := begun+i*500, "completed"
		if i%10 == 0 {
			status = "failed"
		}
		frames = append(frames, map[string]any{
			"sessionID": fmt.Sprintf("frame-%08d", i), "parentSessionID": "frame-root0000", "status": status, "title": fmt.Sprintf("Child %d", i),
			"createdAt": from, "updatedAt": from + 20_000, // forty at a time
		})
	}
	u.brought(frames...)
	tb := newTab(t)
	tb.expect("/log?")
	tb.theme("light")
	tb.first(u, 10_001, slack*time.Second)
	tb.settled()
	draws := eval[[]float64](tb, timed)
	t.Logf("10,000 children of one frame: the draws take %.0f ms", draws)
	slices.Sort(draws)
	assert.Less(t, draws[len(draws)/2], 100.0*slack)
	tb.focus("#search")
	tb.press("status:failed since:2020-01-31 ")
	tb.until(`document.querySelector(".space").offsetHeight === 1001 * 28`)
	tb.press(escape, escape)
	tb.click("#line-frame-root0000")
	tb.until(`document.querySelectorAll('#details .below li').length === 8`)
	tb.until(`document.querySelector("#details").innerText.includes("there is no log")`) // what comes later moves the button
	tb.click(`[data-key="more below"]`)
	tb.until(`document.querySelectorAll('#details .below li').length === 108`)
	tb.click(`a[data-key="to frame-00000100"]`)
	tb.until(`document.querySelector("#details").dataset.frame === "frame-00000100"`)
	assert.Less(t, eval[int](tb, `document.querySelectorAll("*").length`), 12_000)
}
