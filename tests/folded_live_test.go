package tests

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// TestOpenCodeShowsTheSavingsOfFolding compares flame's figures with the model's requests, for the
// same work with and without folding.
func TestOpenCodeShowsTheSavingsOfFolding(t *testing.T) {
	t.Parallel()
	type told struct {
		Requests []struct {
			Host                 string
			Count, Sent, LeftOut int
		}
	}
	got, counted := map[string]int{}, map[string]told{}
	for _, fold := range []string{"on", "off"} {
		u := newUser(t, openCode)
		u.env = append(u.env, "FLAME_FOLD="+fold)
		u.must(u.flame, "setup", openCode)
		u.model.Play(model.Script{
			asked("child", "CHILDWORK", output("IN-CHILD"), model.Turn{Text: "CHILD-RESULT"}),
			asked("main", "MAINWORK",
				calls("flame_push", map[string]any{"goal": "piece A"}), long("IN-A"), output("IN-A-2"), pop("A-SUMMARY"),
				calls("flame_push", map[string]any{"goal": "piece B"}), long("IN-B"), model.Turn{Tools: []model.Tool{task("dig", "CHILDWORK")}}, pop("B-SUMMARY"),
				output("AFTER"), model.Turn{Text: "first"}, output("AND-AFTER"), model.Turn{Text: "second"}),
		})
		session := u.converse("MAINWORK", "PROMPT-2")
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
	assert.Zero(t, off.LeftOut)
	assert.InEpsilon(t, got["on"], on.Sent, 0.1)
	assert.InEpsilon(t, got["off"], off.Sent, 0.1)
	assert.InEpsilon(t, got["off"], on.Sent+on.LeftOut, 0.1)
}
