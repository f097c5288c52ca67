package web

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// brought makes a project of frames as an export has them.
func (u *user) brought(frames ...map[string]any) {
	u.t.Helper()
	all := map[string]any{}
	for _, f := range frames {
		for _, name := range []string{"artifacts", "decisions"} {
			if f[name] == nil {
				f[name] = []string{}
			}
		}
		all[f["sessionID"].(string)] = f
	}
	content, err := json.Marshal(map[string]any{"version": 1, "frames": all, "rootFrameIDs": []string{}})
	require.NoError(u.t, err)
	file := filepath.Join(u.t.TempDir(), "state.json")
	require.NoError(u.t, os.WriteFile(file, content, 0o600))
	u.flame("import", file)
}

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
	tb.until(`["No apple is left", "Log"].every((part) => document.querySelector("#details").innerText.includes(part))`)
	last := -1
	shown := tb.text("#details")
	for _, part := range []string{
		"Pick the apples", "completed", apples, "All are in the cellar", "by hand", "cellar/apples.txt", "No apple is left",
		"Figures", "Log", "History", "Around it", "In a shell",
	} {
		at := strings.Index(shown, part)
		assert.Greater(t, at, last, "%s comes next in:\n%s", part, shown)
		last = max(at, last)
	}
	tb.noNothing()

	// Artifacts, ids and commands can be copied.
	copied := func(text string) {
		t.Helper()
		tb.click(fmt.Sprintf(`[data-key=%s]`, quoted("copy "+text)))
		tb.until(`document.querySelector("#said").innerText === "Copied."`)
		assert.Equal(t, text, eval[string](tb, `window.copied`))
	}
	copied("cellar/apples.txt")
	copied(apples)
	tb.click(`[data-key="fold shell"]`)
	copied("flame events --frame " + apples)
	for _, command := range eval[[]string](tb, `[...document.querySelectorAll(".shell code")].map((el) => el.innerText)`) {
		if strings.Contains(command, "show") || strings.Contains(command, "tree") || strings.Contains(command, "events") || strings.Contains(command, "context") {
			assert.NotEmpty(t, u.flame(strings.Fields(command)[1:]...), command)
		}
	}

	// Its history is asked for once it is opened.
	assert.NotContains(t, tb.text("#details"), "ended (completed)")
	tb.click(`[data-key="fold history"]`)
	tb.until(`/started[^]*ended \(completed\)/.test(document.querySelector(".events")?.innerText)`)

	// Around it: links that a person can follow, copy, and go back from.
	tb.click(`[data-key="to ` + pears + `"]`)
	tb.until(fmt.Sprintf(`document.querySelector("#details code").innerText === %s`, quoted(pears)))
	assert.Contains(t, tb.text("#details"), "1 frame below it")
	assert.Equal(t, "#sel="+ladder, eval[string](tb, fmt.Sprintf(`document.querySelector('[data-key="to %s"]').getAttribute("href")`, ladder)))
	tb.focus(`[data-key="to ` + root + `"]`) // what comes from the server may move it
	tb.press(enter)
	tb.until(fmt.Sprintf(`document.querySelector("#details code").innerText === %s && location.hash.includes("sel=%s")`, quoted(root), root))
	assert.Empty(t, eval[[]string](tb, ugly))
}

func TestTimesAreRelativeAndExact(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.id("push", "The harvest")
	id := u.id("push", "Pick the apples")
	u.flame("pop", "completed", "done")
	s := u.serve()
	tb := newTab(t)
	tb.expect("/log?")
	tb.before(`{ // the clocks of the page and of the server, which are one computer's
  const [now, parse] = [Date.now, JSON.parse];
  window.later = 0;
  Date.now = () => now() + later;
  JSON.parse = (...given) => {
    const told = parse(...given);
    if (told?.now) told.now += later;
    return told;
  };
}`)
	tb.open(s.address)
	tb.choose(id)
	const when = `document.querySelector(".state time")`
	tb.until(when + `.innerText.match(/just now|\d+ [sm] ago/)`)
	assert.Regexp(t, `20\d\d.*(UTC|GMT)`, eval[string](tb, when+`.title`), "with the time zone")
	eval[bool](tb, `(window.later = 2 * 3600000 + 5000, true)`) // the computer slept
	tb.until(when + `.innerText === "2 h ago"`)
}

// What is too long, too wide or too many, and clocks that jumped.
func TestOddFrames(t *testing.T) {
	t.Parallel()
	const now = 1_760_000_000_000
	goals := []string{
		strings.Repeat("A very long goal. ", 600), strings.Repeat("x", 10_000), strings.Repeat("שלום ", 2000), strings.Repeat("👩‍👩‍👧‍👦", 1500),
	}
	frames := []map[string]any{{"sessionID": "frame-00000000", "status": "in_progress", "title": "The root", "createdAt": now, "updatedAt": now}}
	for i, goal := range goals {
		frames = append(frames, map[string]any{
			"sessionID": fmt.Sprintf("frame-0000000%d", i+1), "parentSessionID": "frame-00000000", "status": "completed", "title": goal,
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
	for _, width := range []int64{1400, 390} {
		tb.size(width, 900)
		for _, f := range frames {
			id := f["sessionID"].(string)
			tb.fresh(s, "sel="+id)
			tb.until(fmt.Sprintf(`document.querySelector("#details code")?.innerText === %s`, quoted(id)))
			assert.Empty(t, strings.Join(eval[[]string](tb, ugly), "\n"), "%s at %d", id, width)
			assert.Less(t, eval[float64](tb, `document.querySelector("#details h2").offsetHeight`), 500.0, "%s at %d", id, width)
			tb.keep(fmt.Sprintf("odd-%s-%d", id, width))
			if goal := f["title"].(string); len(goal) > 1000 {
				tb.click(`[data-key="fold whole goal"]`)
				tb.until(fmt.Sprintf(`(window.all = document.querySelector("#details details[open] p")?.textContent)?.length > 5000 && %s.startsWith(all)`, quoted(goal)))
			}
		}
	}
	assert.Regexp(t, `, \d{5} d$`, tb.text(".range"), "one began in 1970")
	wide := eval[int](tb, `[...document.querySelectorAll(".box[visibility=visible] > rect")].filter((el) => el.width.baseVal.value > 4).length`)
	assert.Greater(t, wide, 2)
}

func TestTenThousandChildrenOfOneFrame(t *testing.T) {
	u := newUser(t) // not in parallel: it measures
	const begun = 1_760_000_000_000
	frames := []map[string]any{{"sessionID": "frame-root0000", "status": "in_progress", "title": "The root", "createdAt": begun, "updatedAt": begun}}
	for i := range 10_000 {
		from := begun + i*500
		frames = append(frames, map[string]any{
			"sessionID": fmt.Sprintf("frame-%08d", i), "parentSessionID": "frame-root0000", "status": "completed", "title": fmt.Sprintf("Child %d", i),
			"createdAt": from, "updatedAt": from + 20_000, // forty at a time
		})
	}
	u.brought(frames...)
	s := u.serve()
	tb := newTab(t)
	tb.expect("/log?")
	tb.theme("light")
	tb.fresh(s, "sel=frame-root0000")
	tb.click(`[data-key="fold children"]`)
	tb.until(`document.querySelectorAll('#details [data-key^="to "]').length === 10`)
	tb.click(`[data-key="more children"]`)
	tb.until(`document.querySelectorAll('#details [data-key^="to "]').length === 110`)
	tb.click(`[data-key="to frame-00000100"]`)
	tb.until(`document.querySelector("#details code").innerText === "frame-00000100"`)
	assert.Contains(t, tb.text("#details"), "9999 frames beside it")
	tb.movesSmoothly()
	assert.Less(t, eval[int](tb, `document.querySelectorAll("*").length`), 12_000)
}
