package tests

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// TestOpenCodeFoldsFinishedFrames has the same work done with and without folding: it looks for the
// words of finished frames in the model's requests, and compares flame's figures with these.
func TestOpenCodeFoldsFinishedFrames(t *testing.T) {
	t.Parallel()
	type told struct {
		Requests []struct {
			Host                 string
			Count, Sent, LeftOut int
		}
	}
	got, counted, bytes := map[string]int{}, map[string]told{}, map[string]int{}
	for _, fold := range []string{"on", "off"} {
		u := newUser(t, openCode)
		u.env = append(u.env, "FLAME_FOLD="+fold)
		u.must(u.flame, "setup", openCode)
		u.model.Play(model.Script{
			asked("child", "CHILDWORK", output("IN-CHILD"), model.Turn{Text: "CHILD-RESULT"}),
			asked("main", "MAINWORK",
				calls("flame_push", map[string]any{"goal": "piece A"}), saying("SAID-INSIDE", long("IN-A")), saying("SAID-INSIDE", output("IN-A-2")), pop("A-SUMMARY"),
				calls("flame_push", map[string]any{"goal": "piece B"}), long("IN-B"), model.Turn{Tools: []model.Tool{task("dig", "CHILDWORK")}}, pop("B-SUMMARY"),
				output("AFTER"), model.Turn{Text: "first"}, output("AND-AFTER"), model.Turn{Text: "second"}),
		})
		session := u.converse("MAINWORK", "PROMPT-2")
		bytes[fold] = isFolded(t, fold == "on", u.model.By("main"))
		requests := append(u.model.By("main"), u.model.By("child")...)
		for _, r := range requests {
			raw, err := json.Marshal(r.Messages)
			require.NoError(t, err)
			got[fold] += len(raw) / 4
		}
		var stats told
		require.NoError(t, json.Unmarshal([]byte(u.must(u.flame, "stats", "--json")), &stats))
		require.Len(t, stats.Requests, 1)
		assert.InDelta(t, len(requests), stats.Requests[0].Count, 1, "each request, subagents' too, unless flame hung")
		counted[fold] = stats
		assert.Equal(t, fold == "on", strings.Contains(u.must(u.flame, "stats"), "x less"))
		assert.Contains(t, u.must(u.flame, "sessions", "--all"), session)
		if fold == "on" {
			assert.Contains(t, u.must(u.flame, "show", u.frame("piece A").SessionID), "Folded: ")
			assert.Contains(t, u.must(u.flame, "events", "--kind", "FrameFolded"), "piece B")
		}
	}
	on, off := counted["on"].Requests[0], counted["off"].Requests[0]
	t.Logf("folded: about %d tokens of %d; told %d of %d", got["on"], got["off"], on.Sent, on.Sent+on.LeftOut)
	assert.Less(t, bytes["on"], bytes["off"]-15_000)
	assert.Zero(t, off.LeftOut)
	assert.InEpsilon(t, got["on"], on.Sent, 0.1)
	assert.InEpsilon(t, got["off"], off.Sent, 0.1)
	assert.InEpsilon(t, got["off"], on.Sent+on.LeftOut, 0.1)
}

// saying adds a text to a turn.
func saying(text string, turn model.Turn) model.Turn {
	turn.Text = text
	return turn
}

// isFolded checks that piece A is whole while it is open, and whether the last request still has it.
// It returns the size of that request in bytes.
func isFolded(t *testing.T, folded bool, requests []model.Request) int {
	t.Helper()
	require.Greater(t, len(requests), 4)
	for _, r := range requests[:4] { // the last of these pops it
		assert.Equal(t, r.Turn > 1, strings.Contains(r.Everything(), "SAID-INSIDE"), "an open frame is whole")
		assert.Equal(t, r.Turn > 1, strings.Contains(r.Everything(), "xIN-A"), "an open frame is whole")
	}
	last := requests[len(requests)-1]
	assert.Contains(t, last.Everything(), "MAINWORK")
	for _, inside := range []string{"xIN-A", "xIN-A-2", "SAID-INSIDE"} {
		assert.Equal(t, !folded, strings.Contains(last.Everything(), inside), inside)
	}
	return last.Bytes
}
