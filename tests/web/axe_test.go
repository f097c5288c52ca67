package web

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// axe returns the program that finds barriers for people who do not see, or do not use a mouse.
// FLAME_TEST_AXE names its file.
func axe(t *testing.T) string {
	t.Helper()
	file := os.Getenv("FLAME_TEST_AXE")
	if file == "" && os.Getenv("CI") != "true" {
		t.Skip("FLAME_TEST_AXE does not name axe.min.js")
	}
	program, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(program)
}

// findings are all of axe's findings.
const findings = `axe.run(document, { resultTypes: ["violations"] }).then((told) => told.violations
  .map((v) => v.id + " (" + v.impact + "): " + v.nodes.slice(0, 5).map((n) => n.target.join(" ") + ": " + n.failureSummary).join("; ")))`

func TestEveryoneCanUseThePage(t *testing.T) {
	t.Parallel()
	program := axe(t)
	u := newUser(t)
	u.showcase()
	s := u.serve()
	for _, theme := range []string{"light", "dark"} {
		t.Run(theme, func(t *testing.T) {
			t.Parallel()
			tb := newTab(t)
			tb.expect("/log?") // the scene has no transcripts
			tb.theme(theme)
			check := func(what string) {
				tb.settled()
				if !eval[bool](tb, `Boolean(window.axe)`) {
					eval[any](tb, program+"; undefined")
				}
				assert.Empty(t, strings.Join(eval[[]string](tb, findings), "\n"), what)
			}
			for _, width := range []int64{1440, 390} {
				tb.size(width, 900)
				at := fmt.Sprintf(" at %d", width)
				tb.fresh(s)
				check("the page" + at)
				tb.fresh(s, "q=status:fialed agent:nobody")
				check("a wrong filter" + at)
				tb.focus("#search")
				tb.press(" ", arrowDown)
				tb.until(active)
				check("completions" + at)
				tb.fresh(s)
				tb.click(".more")
				tb.until(`document.querySelector("#menu:popover-open")`)
				check("the menu" + at)
				tb.fresh(s, "sel=frame-agnt0002&under=frame-sign0001")
				check("a frame" + at)
				for _, key := range []string{"?", "n", "e", "p"} {
					tb.press(key)
					tb.until(`document.querySelector("dialog[open]")`)
					check("the dialog of " + key + at)
					tb.press(escape)
					tb.until(`!document.querySelector("dialog")`)
				}
				tb.asks("invalidate")
				check("a question" + at)
				tb.press(escape)
				tb.until(`!document.querySelector("dialog")`)
			}
		})
	}
}

func TestEveryoneCanReadALog(t *testing.T) {
	t.Parallel()
	program := axe(t)
	u := newUser(t)
	talk := u.talk("Plant the apples")
	talk.answers("I dig.", [3]string{"Bash", "dig", "Error: a stone"}, [3]string{"Bash", "dig there", strings.Repeat("clay ", 2000)})
	talk.hook("Stop", map[string]any{})
	s := u.serve()
	for _, theme := range []string{"light", "dark"} {
		tb := newTab(t)
		tb.theme(theme)
		tb.chooseTalk(s, 2)
		for _, fold := range []string{"fold round 1", "fold call 1", "fold history", "fold shell", "fold context"} {
			tb.focus(`[data-key^="` + fold + `"]`)
			tb.press(enter)
			tb.until(`document.activeElement.closest("details")?.open`)
			tb.settled()
		}
		eval[any](tb, program+"; undefined")
		for _, width := range []int64{1400, 390} {
			tb.size(width, 900)
			tb.settled()
			assert.Empty(t, strings.Join(eval[[]string](tb, findings), "\n"), "%s at %d", theme, width)
			assert.Empty(t, eval[[]string](tb, ugly), "%s at %d", theme, width)
		}
	}
}
