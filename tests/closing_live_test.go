package tests

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// TestASecondSessionContinuesFromTheClosingAlone has one session finish a root that leaves work,
// and another begin, in another host. The scripted model cannot show that a real model continues well. The test
// shows that the host sends everything needed (each decision and artifact with its frame, each
// open end, the ids) and nothing else of the first session, and that the given id can be taken up.
func TestASecondSessionContinuesFromTheClosingAlone(t *testing.T) {
	t.Parallel()
	u, data := newUser(t, claudeCode, openCode), t.TempDir()
	u.env = append(u.env, "FLAME_DIR="+data) // clients pass the user's settings on
	u.must(u.flame, "setup")
	pops := func(more map[string]any) model.Turn { return calls("flame_pop", more) }
	u.model.Play(model.Script{
		asked("second", "SECONDWORK",
			model.Turn{From: func(r model.Request) model.Turn {
				return calls("flame_activate", map[string]any{"sessionID": planned.FindString(r.Everything())})
			}},
			pops(map[string]any{"status": "completed", "summary": "logged out"}),
			model.Turn{Text: "done"}),
		asked("main", "MAINWORK",
			calls("flame_push", map[string]any{"goal": "Store users"}),
			calls("flame_push", map[string]any{"goal": "Inner question"}),
			pops(map[string]any{"status": "completed", "summary": "ANSWERED", "decisions": []string{"DECIDED-INSIDE"}, "results": "RAW-RESULTS"}),
			pops(map[string]any{"status": "completed", "summary": "USERS-STORED", "decisions": []string{"DECIDED-USERS"}, "artifacts": []string{"users.go"}}),
			calls("flame_push", map[string]any{"goal": "Mail the link"}),
			pops(map[string]any{"status": "blocked", "summary": "NO-CREDENTIALS"}),
			calls("flame_plan_children", map[string]any{"children": []string{"Add a logout"}}),
			model.Turn{From: func(model.Request) model.Turn {
				root := u.frame("Store users").ParentSessionID
				return pops(map[string]any{"status": "completed", "summary": "LOGIN-WORKS", "frameID": root, "force": true})
			}},
			model.Turn{Text: "done"}),
	})
	u.ask(claudeCode, "MAINWORK please")
	users, inner, mail, logout := u.frame("Store users"), u.frame("Inner question"), u.frame("Mail the link"), u.frame("Add a logout")
	shown := u.must(u.flame, "show", users.ParentSessionID)
	u.ask(openCode, "SECONDWORK please")

	requests := u.model.By("second")
	require.NotEmpty(t, requests)
	sent := requests[0].Everything()
	for _, text := range []string{
		"LOGIN-WORKS", "USERS-STORED", "NO-CREDENTIALS",
		"DECIDED-USERS [" + users.SessionID + " Store users]", "DECIDED-INSIDE [" + inner.SessionID + " Inner question]",
		"users.go [" + users.SessionID + " Store users]", mail.SessionID + " (blocked) Mail the link", "take up " + logout.SessionID + ": Add a logout",
	} {
		assert.Contains(t, sent, text)
		assert.Contains(t, shown, text, "flame show tells the same")
	}
	for _, text := range []string{"RAW-RESULTS", "flame_push {"} {
		assert.NotContains(t, sent, text)
	}
	assert.Equal(t, "completed", u.frame("Add a logout").Status, "it took up the remaining work")
	assert.Equal(t, data, filepath.Dir(u.data()))
}
