package tests

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

const (
	rotation = "Rotate the backups in scripts/backup.sh"
	kept     = "scripts/backup.sh keeps seven archives; scripts/backup_test.sh passes"
)

// autoPrompts are the prompts of a short day at level auto.
var autoPrompts = []string{
	"MAINWORK: add a --json flag to the list command of the inventory tool",
	"continue",
	"Now rotate the backups: write scripts/backup.sh so that it keeps seven archives",
	"then fix it",
	"great, thanks",
	"Now something else: set up the mail server on the new host with DKIM and SPF",
	"great, thanks",
	"Now something else: write a guide about forgotten passwords for the customers of the web shop",
}

var endedFrame = regexp.MustCompile(`<frame id="([\w-]+)" status="completed"[^>]* by="autonomy"`)

// doesWhatIsDue has ask send autoPrompts in one session at level auto, and checks flame's actions
// and texts. The first piece of other work is planned, with criteria that prove its end. Flame
// begins the second itself, and so can only suggest its end. The user takes the third back at
// once.
func (u *user) doesWhatIsDue(client string, ask func(prompts []string)) {
	u.t.Helper()
	write := func(file string) model.Turn { return writes(client, u.project+"/"+file, "true\n") }
	run := func(command string) model.Turn {
		shell := map[string]string{claudeCode: "Bash", openCode: "bash"}[client]
		return calls(shell, map[string]any{"command": command, "description": "test"})
	}
	u.write("scripts/backup_test.sh", "test -e fixed || { echo FAIL: eight archives left; exit 1; }; echo ok: seven archives left; echo all 4 tests passed\n")
	u.write("scripts/mail_test.sh", "echo all 2 tests passed\n")
	u.model.Play(model.Script{asked("main", "MAINWORK",
		calls("flame_plan_children", map[string]any{"children": []map[string]any{{"goal": rotation, "successCriteria": kept}}}),
		model.Turn{Text: "I will begin with cmd/list.go."},
		model.Turn{Text: "The flag is in cmd/list.go. I have not run the tests yet."},
		write("scripts/backup.sh"), // 3
		run("bash scripts/backup_test.sh"),
		model.Turn{Text: "The test fails: one archive too many is left. I look at the loop next."},
		write("fixed"), // 6
		run("bash scripts/backup_test.sh"),
		model.Turn{Text: "Fixed. scripts/backup.sh keeps seven archives and all 4 tests of scripts/backup_test.sh pass."},
		model.Turn{From: func(r model.Request) model.Turn { // 9
			ended := endedFrame.FindStringSubmatch(r.Everything())
			if ended == nil {
				return model.Turn{Text: "Nothing was told of an end."}
			}
			return calls("flame_activate", map[string]any{"sessionID": ended[1]})
		}},
		calls("flame_pop", map[string]any{"status": "completed", "summary": "Seven archives are kept."}),
		model.Turn{Text: "Gladly."},
		write("scripts/mail.sh"), // 12
		run("bash scripts/mail_test.sh"),
		model.Turn{Text: "Done. The mail server is set up in scripts/mail.sh and all 2 tests of scripts/mail_test.sh pass."},
		calls("flame_pop", map[string]any{"status": "completed", "summary": "Mail is set up."}), // 15
		model.Turn{Text: "Gladly."},
		calls("flame_pop", map[string]any{"status": "completed", "summary": "No frame is needed for this."}), // 17
		model.Turn{Text: "The guide is there."},
	)})
	ask(autoPrompts)
	u.t.Log(u.must(u.flame, "tree"), u.must(u.flame, "events"))
	requests := u.model.By("main")
	require.Len(u.t, requests, 19)
	told := func(i int, what string) int { return strings.Count(requests[i].Everything(), what) }
	const began, ended = `status="in_progress" relation="current" by="autonomy"`, `status="completed" relation="child" by="autonomy"`
	assert.Zero(u.t, told(2, `by="autonomy"`), "nothing is due before")
	assert.Equal(u.t, 1, told(3, began), "the planned frame is begun")
	assert.Zero(u.t, told(8, ended), "not before its end is proven")
	assert.Equal(u.t, 1, told(9, ended), "the next prompt reports its end")
	assert.Zero(u.t, told(11, "[FLAME SUGGESTION"), "flame does what is due")
	assert.Equal(u.t, 2, told(13, began), "a frame of flame's own is begun, and told with the first result at the latest: a busy host does not wait")
	assert.Equal(u.t, 1, told(15, `popping the current frame as "completed"`), "and its end suggested: no criteria prove it")
	assert.Equal(u.t, 1, told(15, ended))
	assert.Equal(u.t, 3, told(17, began))
	assert.Equal(u.t, 1, told(18, "[FLAME SUGGESTION"), "nothing else was suggested")
}

func TestClaudePushesAndPopsAtLevelAuto(t *testing.T) {
	t.Parallel()
	u := newUser(t, claudeCode)
	u.env = append(u.env, "FLAME_AUTONOMY_LEVEL=auto")
	u.must(u.flame, "setup", claudeCode)
	u.doesWhatIsDue(claudeCode, func(prompts []string) {
		u.talk([]string{"--session-id", talkID, "--permission-mode", "acceptEdits", "--allowedTools", "Bash,mcp__plugin_flame_flame"}, prompts...)
	})
}

func TestOpenCodePushesAndPopsAtLevelAuto(t *testing.T) {
	t.Parallel()
	u := newUser(t, openCode)
	u.env = append(u.env, "FLAME_AUTONOMY_LEVEL=auto")
	u.must(u.flame, "setup", openCode)
	u.doesWhatIsDue(openCode, u.serve().prompts)
}

// prompts sends prompts in one new conversation, each after the answer to the previous one.
func (s served) prompts(prompts []string) {
	session := s.session()
	for _, prompt := range prompts {
		s.message(session, prompt)
	}
}
