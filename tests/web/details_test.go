package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
