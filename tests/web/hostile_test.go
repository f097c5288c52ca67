package web

import (
	"fmt"
	"strings"
	"testing"

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
