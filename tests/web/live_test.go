package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The goal of a change contains its time; both times are by this machine's clock.
func TestAChangeIsOnThePageWithinASecond(t *testing.T) {
	u := newUser(t) // not in parallel: it measures
	id := u.id("push", "The harvest")
	s := u.serve()
	tb := newTab(t)
	tb.expect("/log?")
	tb.open(s.address)
	eval[bool](tb, `(window.seen = [], new MutationObserver(() => {
  const goal = document.querySelector("[role=treeitem] bdi")?.innerText || "";
  if (/^[0-9]+$/.test(goal) && seen.at(-1)?.[0] !== goal) seen.push([goal, Date.now() - Number(goal)]);
}).observe(document.getElementById("tree"), { subtree: true, childList: true, characterData: true }), true)`)
	const changes = 30
	for i := range changes {
		goal := fmt.Sprint(time.Now().UnixMilli())
		u.flame("goal", "--frame", id, goal)
		tb.until(fmt.Sprintf(`window.seen.length === %d`, i+1))
	}
	seen := eval[[]float64](tb, `seen.map((s) => s[1])`)
	slices.Sort(seen)
	middle, late := seen[len(seen)/2], seen[len(seen)*95/100]
	t.Logf("from the start of a command to the page: %.0f ms (median), %.0f ms (p95)", middle, late)
	assert.Less(t, late, 1000.0*slack)
}

func TestAPageFindsARestartedServer(t *testing.T) {
	u, root, s, tb := harvest(t)
	tb.expect("ERR_") // while it is gone
	tb.expect("/log?")
	tb.open(s.address)
	tb.choose(root)
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGSTOP)) // a silent server counts as gone
	tb.until(`document.querySelector(".live.is-gone")`)
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGCONT))
	tb.until(`document.querySelector(".live.is-live")`)
	s.kill()
	tb.until(`document.querySelector(".live.is-gone")`)
	tb.until(`document.querySelector("#state:not([hidden])")?.innerText.includes("The server is gone")`)
	assert.Contains(t, tb.text("#tree"), "The harvest", "the shown frames stay")
	id := u.id("push", "Meanwhile")
	again := u.serve()
	assert.Equal(t, s.base, again.base, "at the same address")
	assert.Equal(t, s.token, again.token)
	tb.until(fmt.Sprintf(`document.querySelector(".live.is-live") && document.getElementById("line-%s")`, id))
	tb.until(`document.querySelector("#state").hidden`)
	assert.Contains(t, eval[string](tb, "location.hash"), root, "what was selected still is")
}

// events reads the stream of a project as a page does.
func (s *server) events(t *testing.T) (next func() map[string]any) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"/api/"+s.project+"/live", nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+s.token)
	answer, err := httpClient.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { answer.Body.Close() })
	require.Equal(t, http.StatusOK, answer.StatusCode)
	in := json.NewDecoder(answer.Body)
	return func() (line map[string]any) {
		require.NoError(t, in.Decode(&line))
		return line
	}
}

// An agent's terminal, a page and a slow page: none blocks the others.
func TestABusyProjectIsDrawnAndRequestedInMeasure(t *testing.T) {
	u := newUser(t) // not in parallel: it measures
	u.imported(200)
	s := u.serve()
	slow := s.events(t) // the test reads it only once
	tb := newTab(t)
	tb.expect("/log?")
	tb.fresh(s, "sel=frame-00000000")
	const counts = `[
  Number(document.documentElement.getAttribute("data-drawn")), performance.now(),
  performance.getEntriesByType("resource").filter((e) => e.name.includes("/frame?")).length,
]`
	before := eval[[]float64](tb, counts)
	u.showcase("-touch", "20000")
	tb.until(`document.querySelector("#details h2").innerText.includes("Change 19800")`)
	after := eval[[]float64](tb, counts)
	draws, seconds, asked := after[0]-before[0], (after[1]-before[1])/1000, after[2]-before[2]
	t.Logf("%.0f draws in %.1f s while frames changed without a pause, all about the selected one asked for %.0f times", draws, seconds, asked)
	assert.Greater(t, draws, 1.0)
	assert.LessOrEqual(t, draws, 4*seconds+1)
	assert.LessOrEqual(t, asked, seconds+1)
	assert.NotNil(t, slow()["board"])
}
