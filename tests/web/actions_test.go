package web

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// host gives the user a host that does the first paragraph of its task as shell commands:
// the one of the scripts.
func (u *user) host() {
	script, err := os.ReadFile(filepath.Join("..", "testdata", "script", "agents.txtar"))
	require.NoError(u.t, err)
	_, program, found := strings.Cut(string(script), "-- bin/claude --\n")
	require.True(u.t, found)
	program, _, _ = strings.Cut(program, "\n-- ")
	require.NoError(u.t, os.WriteFile(filepath.Join(u.home, "bin", "claude"), []byte(program), 0o755))
	u.env = append(u.env, "FLAME_AGENT_ON_SESSION_END=keep")
}

var (
	agentID       = regexp.MustCompile(`agent-[a-z0-9]{8}`)
	convergenceID = regexp.MustCompile(`converge-[a-z0-9]{8}`)
)

// choose selects a frame, and waits until all its details are shown.
func (tb *tab) choose(id string) {
	tb.until(fmt.Sprintf(`document.getElementById("line-%s")`, id))
	tb.click("#line-" + id)
	tb.until(fmt.Sprintf(`document.querySelector("#details").dataset.frame === %s`, quoted(id)))
	tb.settled()
}

// asks presses a button of the selected frame, and waits for its question.
func (tb *tab) asks(action string) {
	tb.click(".opens-acts")
	tb.until(`document.querySelector("#acts:popover-open")`)
	tb.click(fmt.Sprintf(`[data-key="do %s"]`, action))
	tb.until(`document.querySelector("dialog[open]")`)
}

// agree answers a question with yes, and waits until the action is done.
func (tb *tab) agree() {
	tb.click("dialog [type=submit]:not(.close)")
	tb.until(`!document.querySelector("dialog") && document.querySelector("#said").innerText`)
}

// status waits until a frame has a status.
func (tb *tab) status(id, status string) {
	tb.until(fmt.Sprintf(`document.querySelector("#line-%s .st-%s")`, id, status))
}

func TestEveryActionOnAFrame(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	root := u.id("push", "The harvest")
	apples := u.id("push", "Pick the apples")
	planned := make([]string, 3)
	for i, goal := range []string{"Press them", "Fill the bottles", "Label them"} {
		planned[i] = u.id("plan", goal)
	}
	s := u.serve()
	tb := newTab(t)
	tb.expect("/log?") // work at a shell has no log
	tb.expect("/pop")  // one is refused
	tb.open(s.address)

	tb.choose(root)
	tb.asks("pop")
	tb.focus("dialog textarea")
	tb.press("All is done")
	tb.click("dialog [type=submit]:not(.close)") // refused: something below it is open
	tb.until(fmt.Sprintf(`document.querySelector("dialog .wrong:not([hidden])")?.innerText.includes("%s")`, apples))
	assert.Equal(t, "All is done", eval[string](tb, `document.querySelector("dialog textarea").value`), "what was typed stays")
	tb.click("dialog .close")
	tb.until(`!document.querySelector("dialog")`)

	tb.choose(planned[0])
	tb.asks("activate")
	tb.agree()
	tb.status(planned[0], "in_progress")
	assert.Contains(t, u.flame("show", planned[0]), "in_progress")

	tb.choose(planned[0])
	tb.asks("pop")
	eval[bool](tb, `(document.querySelector("dialog select").value = "failed") !== ""`)
	tb.focus("dialog textarea")
	tb.press("The press is broken")
	tb.agree()
	tb.status(planned[0], "failed")
	tb.until(`document.querySelector("#details").innerText.includes("The press is broken")`)
	assert.Contains(t, u.flame("show", planned[0]), "The press is broken")

	tb.choose(apples)
	tb.asks("goal")
	assert.Equal(t, "Pick the apples", eval[string](tb, `document.querySelector("dialog input").value`))
	eval[bool](tb, `(document.querySelector("dialog input").value = "") === ""`)
	tb.focus("dialog input")
	tb.press("Pick the pears")
	tb.agree()
	tb.until(fmt.Sprintf(`document.querySelector("#line-%s bdi").innerText === "Pick the pears"`, apples))
	assert.Contains(t, u.flame("show", apples), "Pick the pears")

	tb.asks("invalidate")
	cascade := tb.text("dialog")
	assert.Contains(t, cascade, "2 planned frames")
	assert.Contains(t, cascade, "Fill the bottles")
	assert.Contains(t, cascade, "Label them")
	assert.NotContains(t, cascade, "Press them")
	tb.click("dialog [type=submit]:not(.close)") // a reason is required
	assert.True(t, eval[bool](tb, `Boolean(document.querySelector("dialog :invalid"))`))
	tb.focus("dialog input")
	tb.press("It rained")
	tb.agree()
	for _, id := range []string{apples, planned[1], planned[2]} {
		tb.status(id, "invalidated")
	}
	tb.status(root, "in_progress")
	assert.Contains(t, u.flame("show", apples), "It rained")
	assert.Empty(t, eval[[]string](tb, "forbidden"))
}

func TestAConflictIsSettled(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.host()
	u.id("push", "Two opinions")
	var agents []string
	for _, says := range []string{"yes, it is ripe", "no, it is not"} {
		said := u.flame("agents", "spawn", "analyzer", "end '"+says+"'", "--description", "Is it ripe?", "--wait")
		agents = append(agents, agentID.FindString(said))
	}
	said := u.flame("agents", "converge", agents[0], agents[1], "--strategy", "consensus")
	convergence := convergenceID.FindString(said)
	require.NotEmpty(t, convergence, said)
	s := u.serve()
	tb := newTab(t)
	tb.open(s.address)
	tb.until(`document.querySelector(".news").textContent === "1 needs you" && document.title.startsWith("(1)")`)
	tb.choose(u.id("plan", "Pick the ripe ones"))
	tb.click(".news") // leads from a frame to the overview
	tb.until(`document.activeElement.id === "overview-title"`)
	assert.Contains(t, tb.text("#overview .needs"), "Agents disagree")
	tb.click("#overview .needs .act")
	tb.until(`document.querySelectorAll("#conflict .take").length === 2`)
	shown := tb.text("#conflict")
	assert.Contains(t, shown, "yes, it is ripe")
	assert.Contains(t, shown, "no, it is not")
	assert.Contains(t, shown, "Take “Is it ripe?”", "the task names the side")
	tb.fits("conflict-live")
	tb.click(`[data-key="take ` + agents[0] + `"]`) // at once, and another choice stays possible
	tb.until(`document.querySelector(".side.won .take")?.innerText === "Taken" && document.querySelector(".news").hidden`)
	assert.Contains(t, u.flame("agents", "review", convergence), "yes, it is ripe")
	tb.click(`[data-key="take ` + agents[1] + `"]`)
	tb.until(fmt.Sprintf(`document.querySelector('.side.won [data-key="take %s"]:disabled')`, agents[1]))
	tb.until(`document.querySelector("#said").innerText`)
	assert.Contains(t, u.flame("agents", "review", convergence), "no, it is not")
	assert.True(t, strings.HasPrefix(eval[string](tb, "document.title"), "orchard"))
}
