package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// longLog has the server return a log of so many rounds, each a text and a call. It counts the
// requests by path in `asked`.
const longLog = `
window.asked = {};
window.told = %d;
const real = window.fetch;
window.fetch = (path, ...more) => {
  const url = new URL(path, location.href);
  const name = url.pathname.split("/").pop();
  asked[name] = (asked[name] || 0) + 1;
  const give = (value) => Promise.resolve(new Response(JSON.stringify(value)));
  const at = (name, otherwise) => Number(url.searchParams.get(name) ?? otherwise);
  if (name === "round") {
    const i = at("round");
    const parts = [{ type: "text", text: "words " + i }, { type: "tool_call", tool: "look", input: { at: "tree " + i } }];
    return give({ more: 0, messages: [{ role: "assistant", parts }] });
  }
  if (name !== "log") return real(path, ...more);
  const from = at("from", Math.max(told - 20, 0));
  const rounds = [];
  for (let i = from; i < Math.min(from + Math.min(at("count", 20), 500), told); i++) rounds.push({ n: i, role: "assistant", text: "words " + i, size: 1 });
  return give({ total: told, from, rounds, models: [] });
};
`

func TestAReadersStateInTheDetailsStays(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.id("push", "The harvest")
	apples := u.id("push", "Pick the apples")
	u.flame("decision", "see https://example.org/apples about it")
	s := u.serve()
	tb := newTab(t)
	tb.before(fmt.Sprintf(longLog, 1002))
	tb.open(s.address)
	tb.choose(apples)
	shown := func(n int) {
		tb.until(fmt.Sprintf(`document.querySelectorAll(".log > li").length === %d`, n))
	}
	shown(20)
	tb.click(`[data-key=earlier]`)
	shown(70)
	for _, n := range []int{570, 1002} {
		tb.click(`[data-key=first]`)
		shown(n)
	}
	tb.click(`[data-key="fold round 3"]`)
	tb.until(`document.querySelector(".turn .call summary")`)
	tb.click(`.turn .call summary`)
	tb.until(`document.querySelector(".call[open] pre")?.innerText.includes("tree 3")`)
	tb.click(`[data-key="fold context"]`)
	tb.until(`[...document.querySelectorAll("#details details[open] pre")].some((el) => el.innerText.includes("Pick the apples"))`)
	eval[bool](tb, `(window.held = document.querySelector(".call[open]"), getSelection().selectAllChildren(held.querySelector("pre")),
  document.querySelector("#details a").focus(), true)`)
	for i, change := range []func(){
		func() { u.flame("artifact", "a ladder") },
		func() { u.flame("goal", "--frame", apples, "Pick the pears") },
		func() { eval[int](tb, `told = 1003`); u.flame("artifact", "a basket") },
	} {
		change()
		tb.until([]string{
			`document.querySelector("#details").innerText.includes("a ladder")`,
			`[...document.querySelectorAll("#details details[open] pre")].some((el) => el.innerText.includes("Pick the pears"))`,
			`document.querySelectorAll(".log > li").length === 1003`,
		}[i])
		assert.True(t, eval[bool](tb, `held.isConnected && held.open`), "a call that was opened stays as it is")
		assert.Contains(t, eval[string](tb, `getSelection().toString()`), "tree 3", "what is selected stays")
		assert.Equal(t, "A", eval[string](tb, `document.activeElement.tagName`), "the focus stays on a link")
		assert.GreaterOrEqual(t, eval[int](tb, `document.querySelectorAll(".log > li").length`), 1002)
	}
	tb.focus("[type=search]")
	tb.press("app")
	u.flame("artifact", "a sack")
	tb.until(`document.querySelector("#details").innerText.includes("a sack")`)
	assert.Equal(t, "app", eval[string](tb, `document.activeElement.value`))
	tb.noNothing()
}

// noNothing fails if the page shows a missing value.
func (tb *tab) noNothing() {
	assert.NotRegexp(tb.t, `\b(null|undefined|NaN)\b|\[object`, tb.text("body"))
}

func TestABusyAgentIsRequestedInMeasureAndCancelled(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.host()
	u.id("push", "The harvest")
	work := "for i in $(seq 1 6000); do say line $i; sleep 0.05; done"
	agent := agentID.FindString(u.flame("agents", "spawn", "builder", work, "--description", "Build the press", "--budget-tokens", "2000000"))
	require.NotEmpty(t, agent)
	s := u.serve()
	tb := newTab(t)
	tb.before(fmt.Sprintf(longLog, 0))
	tb.open(s.address)
	tb.until(`document.querySelector("#overview .works .said")?.textContent.includes("line")`)
	frame := eval[string](tb, `[...document.querySelectorAll("[role=treeitem]")].find((el) => el.innerText.includes("Build the press")).dataset.id`)
	tb.click("#line-" + frame)
	tb.until(`document.querySelector('[data-key="fold task"]')`)
	tb.click(`[data-key="fold task"]`)
	const words = `document.querySelector("#details .now, #details .text")?.textContent`
	before := eval[[]float64](tb, `[asked.agent, performance.now()]`)
	line := eval[string](tb, words)
	for range 5 { // changes
		tb.until(fmt.Sprintf(words+` !== %s`, quoted(line)))
		line = eval[string](tb, words)
	}
	after := eval[[]float64](tb, `[asked.agent, performance.now()]`)
	assert.LessOrEqual(t, after[0]-before[0], (after[1]-before[1])/1000+1, "once a second, however often it changes")
	assert.Contains(t, tb.text("#details"), "for i in $(seq", "its task stays open")
	tb.click(`[data-key="fold facts"]`)
	tb.until(`document.querySelector(".facts").innerText.includes("2 M tokens")`) // a limit of tokens is no time
	tb.noNothing()

	tb.until(`document.querySelector(".totals").innerText.includes("1 at work")`)
	tb.asks("cancel")
	assert.Contains(t, tb.text("dialog"), agent)
	tb.agree()
	tb.status(frame, "blocked")
	tb.until(`!document.querySelector('[data-key="do cancel"]')`)
	assert.Contains(t, u.flame("agents", "show", agent), "cancelled")
}

func TestTheDetailsOfAFrameThatDisappears(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	apples := u.id("push", "Pick the apples")
	s := u.serve()
	tb := newTab(t)
	tb.before(fmt.Sprintf(longLog, 3) + `
const quick = window.fetch;
window.late = [];
window.fetch = async (path, ...more) => {
  if (String(path).includes("/frame?")) await new Promise((go) => late.push(go));
  return quick(path, ...more);
};`)
	tb.open(s.address)
	tb.click("#line-" + apples)
	tb.until(`late.length === 1 && document.querySelector(".log")`) // each answer is shown as it comes
	eval[bool](tb, `(location.hash = "", true)`)
	tb.until(`document.querySelector("#details").hidden`)
	eval[bool](tb, `(late.forEach((go) => go()), true)`)
	tb.settled()
	assert.Empty(t, eval[string](tb, `document.querySelector("#details").textContent`))
}

// What a running agent said last is the same on the page and in the terminal.
func TestTheLastWordsOfAnAgentAreTheSameInTheTerminal(t *testing.T) {
	u, s, tb := showcased(t)
	tb.fresh(s, "sel=frame-agnt0001")
	tb.until(`document.querySelectorAll("#details .now .one").length`)
	const words = `[...document.querySelectorAll("#details .now .one, #details .now .did")].map((el) => el.textContent)`
	shown := eval[[]string](tb, words)
	told := u.flame("agents", "show", "agent-k3x9a1b2", "-v")
	for _, text := range shown {
		assert.Contains(t, told, text)
	}
	_, now, _ := strings.Cut(u.flame("agents", "show", "agent-k3x9a1b2"), "Now:\n")
	now, _, _ = strings.Cut(now, "Task:")
	assert.Equal(t, 2, strings.Count(now, "\n- ")+1, "two without -v")
}
