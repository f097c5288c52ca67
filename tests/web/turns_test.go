package web

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// goals are those of the list, as it is drawn.
const goals = `[...document.querySelectorAll("#tree bdi")].map((el) => el.innerText).join()`

// TestShortTurnsAreGathered shows earlier turns that left no file and no check in one line, which a click or a
// key opens.
func TestShortTurnsAreGathered(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	talk := u.talk("Do 1")
	for n := range 10 {
		if n > 0 {
			talk.hook("UserPromptSubmit", map[string]any{"prompt": fmt.Sprint("Do ", n+1)})
			talk.says(fmt.Sprint("Do ", n+1))
		}
		if n == 0 || n == 4 {
			file := map[string]any{"file_path": filepath.Join(u.project, "a.go")}
			talk.hook("PostToolUse", map[string]any{"tool_name": "Write", "tool_input": file})
		}
		talk.answers("", [3]string{"Bash", "look", "so"})
		talk.answers(fmt.Sprint("Did ", n+1))
		talk.hook("Stop", map[string]any{"last_assistant_message": fmt.Sprint("Did ", n+1)})
	}
	s := u.serve()
	tb := newTab(t)
	tb.open(s.address)
	lines := func(middle ...string) {
		all := append(append([]string{"Do 1", "Do 1"}, middle...), "Do 5", "Do 6", "Do 7", "Do 8", "Do 9", "Do 10")
		tb.until(goals + " === " + quoted(strings.Join(all, ",")))
	}
	lines("3 short turns")

	tb.focus("#tree")
	tb.press(home)
	tb.selects("Do 1")
	tb.press(arrowDown)
	tb.until(`document.querySelector("[aria-selected=true]").getAttribute("aria-level") === "2"`)
	tb.press(arrowDown)
	tb.selects("3 short turns")
	tb.press(arrowRight)
	lines("3 short turns", "Do 2", "Do 3", "Do 4")
	tb.fits("short turns")
	tb.press(arrowDown)
	tb.selects("Do 2")
	tb.press(arrowDown)
	tb.selects("Do 3")
	tb.press(arrowLeft)
	tb.selects("3 short turns")
	tb.press(arrowLeft)
	lines("3 short turns")
	tb.press(arrowLeft)
	tb.selects("Do 1")

	tb.click("[id^=line-turns]")
	lines("3 short turns", "Do 2", "Do 3", "Do 4")
	tb.click("[id^=line-turns]")
	lines("3 short turns")
	tb.press("/", "D", "o", " ", "3")
	tb.until(goals + ` === "Do 1,Do 3"`)

	// A link to one of them opens the line.
	id := eval[string](tb, `document.querySelectorAll("#tree [role=treeitem]")[1].getAttribute("data-id")`)
	tb.fresh(s, "sel="+id)
	lines("3 short turns", "Do 2", "Do 3", "Do 4")
	tb.selects("Do 3")
	assert.Equal(t, "3", eval[string](tb, `document.querySelector("[aria-selected=true]").getAttribute("aria-level")`))
}
