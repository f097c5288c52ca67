package tests

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// In its tenth frame an agent is asked for the cause of an error of the second, of which no pop
// spoke. It finds the cause with one call.
func TestAnAgentFindsTheErrorOfAFrameThatLeftItsRequests(t *testing.T) {
	const cause = "caused by: the lease of shard azores ran out at row 50001"
	for host, ask := range map[string]func(u *user){
		claudeCode: func(u *user) {
			u.claude("--session-id", talkID, "MAINWORK ten parts")
			u.claude("--resume", talkID, "Why did the import of the second part fail?")
		},
		openCode: func(u *user) { u.converse("MAINWORK ten parts", "Why did the import of the second part fail?") },
	} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			u := ready(t, host)
			u.write("import.log", strings.Repeat("a row is read\n", 400)+"error: cursor closed\n  "+cause+"\n")
			run := func(command string) model.Turn {
				tool := map[string]string{claudeCode: "Bash", openCode: "bash"}[host]
				return calls(tool, map[string]any{"command": command, "description": "work"})
			}
			var turns []model.Turn
			for n := 1; n <= 9; n++ {
				command := "yes part " + strconv.Itoa(n) + " | head -n 800"
				if n == 2 {
					command = "cat import.log; exit 3"
				}
				turns = append(turns, calls("flame_push", map[string]any{"goal": "part " + strconv.Itoa(n)}), run(command), run("true"), pop("part is done"))
			}
			turns = append(turns, calls("flame_push", map[string]any{"goal": "part 10"}), model.Turn{Text: "All but one are done."},
				calls("flame_search", map[string]any{"query": "lease shard"}), model.Turn{Text: "The lease ran out."})
			u.model.Play(model.Script{{Name: "main", Kind: model.Work, Turns: turns}})
			ask(u)
			requests := u.model.By("main")
			require.Greater(t, len(requests), 2)
			asked, answered := requests[len(requests)-2], requests[len(requests)-1]
			assert.Contains(t, asked.Everything(), "Why did the import", "the question")
			assert.NotContains(t, asked.Everything(), cause, "the frame has left the requests")
			assert.Contains(t, answered.LastResult(), cause)
		})
	}
}
