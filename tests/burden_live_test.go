package tests

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/hoststest"
	"flame/tests/model"
)

// TestASessionThatNeverCallsFlameCarriesLittleOfIt compares a request of a session's second prompt with one
// of a user who has no flame. Some of the difference is the client's own: for any server Codex adds tools
// for resources (470 tokens), Gemini CLI an argument to each tool (66 tokens).
func TestASessionThatNeverCallsFlameCarriesLittleOfIt(t *testing.T) {
	t.Parallel()
	hosts := map[string]func(u *user){
		claudeCode: func(u *user) { u.talk([]string{"--session-id", talkID}, "MAINWORK one", "MAINWORK two") },
		openCode:   func(u *user) { u.converse("MAINWORK one", "MAINWORK two") },
		codex:      func(u *user) { u.exec("resume", u.exec("MAINWORK one"), "MAINWORK two") },
		gemini:     func(u *user) { u.gemini("MAINWORK two", "--resume", u.gemini("MAINWORK one")) },
	}
	for name, talk := range hosts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tokens := func(u *user) int {
				u.model.Play(model.Script{asked("main", "MAINWORK", model.Turn{Text: "One is done."}, model.Turn{Text: "Two is done."})})
				talk(u)
				newest := u.newestOf("main")
				require.Contains(u.t, newest.LastUser(), "two")
				return newest.Bytes / 4
			}
			without := newUser(t, name)
			if name == gemini {
				without.trust()
			}
			burden, told := tokens(ready(t, name))-tokens(without), int(hoststest.Known().Of(name).Setup.Burden)
			t.Logf("%d tokens", burden)
			assert.InDelta(t, told, burden, float64(told)/10, "docs and estimates have this figure")
			assert.True(t, name != claudeCode || burden <= 400, "its tools and instructions have this room")
		})
	}
}
