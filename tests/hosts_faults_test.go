package tests

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// installed returns the program that hosts start.
func (u *user) installed() string { return filepath.Join(u.home, ".local/bin/flame") }

// replaceInstalled puts a script in place of the installed program. In it $FLAME is the real one.
func (u *user) replaceInstalled(script string) {
	u.t.Helper()
	require.NoError(u.t, os.Remove(u.installed()))
	text := "#!/bin/sh\nFLAME='" + u.flame + "'\n" + script + "\n"
	require.NoError(u.t, os.WriteFile(u.installed(), []byte(text), 0o755))
}

func TestAHostContinuesWhateverFlameDoes(t *testing.T) {
	t.Parallel()
	faults := map[string]func(u *user){
		"missing": func(u *user) { require.NoError(u.t, os.Remove(u.installed())) },
		"hanging": func(u *user) { u.replaceInstalled(`case $1 in hook) exec sleep 100;; *) exec "$FLAME" "$@";; esac`) },
		"flooding": func(u *user) {
			u.replaceInstalled(`case $1 in hook) exec head -c 30000000 /dev/zero;; *) exec "$FLAME" "$@";; esac`)
		},
		"failing": func(u *user) { u.replaceInstalled(`echo nonsense; echo more >&2; exit 3`) },
		"locked":  func(u *user) { u.lockStore(10 * time.Second) },
	}
	for fault, arrange := range faults {
		for _, client := range []string{claudeCode, openCode} {
			t.Run(client+" with flame "+fault, func(t *testing.T) {
				t.Parallel()
				u := newUser(t, client)
				u.must(u.flame, "setup", client)
				u.must(u.flame, "push", "something to lock")
				arrange(u)
				u.model.Play(model.Script{{Name: "main", Kind: model.Work, Turns: []model.Turn{{Text: "THE-ANSWER"}}}})
				started := time.Now()
				assert.Contains(t, u.ask(client, "A question"), "THE-ANSWER")
				t.Log(time.Since(started))
				if fault == "locked" {
					require.Eventually(t, func() bool {
						tree, _, _ := u.run(u.flame, "tree") // it fails while the lock is held
						return strings.Contains(tree, "A question")
					}, patience, 200*time.Millisecond, "the prompt is taken in later")
					t.Log(u.must(u.flame, "tree"), u.log())
				}
			})
		}
	}
}

// lockStore has another process hold the store's lock for a while, like a writer that hangs.
func (u *user) lockStore(for_ time.Duration) {
	u.t.Helper()
	files, err := filepath.Glob(filepath.Join(u.data(), "*lock*"))
	require.NoError(u.t, err)
	require.Len(u.t, files, 1, "the lock's file")
	file, err := os.OpenFile(files[0], os.O_RDWR, 0)
	require.NoError(u.t, err)
	require.NoError(u.t, syscall.Flock(int(file.Fd()), syscall.LOCK_EX))
	var once sync.Once
	release := func() { once.Do(func() { _ = file.Close() }) }
	time.AfterFunc(for_, release)
	u.t.Cleanup(release)
}

func TestTwoSessionsAtOnceKeepToTheirOwnFrames(t *testing.T) {
	t.Parallel()
	for _, client := range []string{claudeCode, openCode} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, client)
			u.must(u.flame, "setup", client)
			script := model.Script{}
			for _, word := range []string{"ALPHA", "BETA"} {
				script = append(script, asked(word, word,
					calls("flame_push", map[string]any{"goal": word + "-PART"}),
					calls("flame_push", map[string]any{"goal": word + "-DEEPER"}),
					calls("flame_add_decision", map[string]any{"decision": word + " decides"}),
					calls("flame_pop", map[string]any{"status": "completed", "summary": word + " done"}),
					model.Turn{Text: word + "-RESULT"}))
			}
			u.model.Play(script)
			u.ask(client, "hello") // two simultaneous first starts of OpenCode may fail to create its own database (ran)
			var both sync.WaitGroup
			for _, word := range []string{"ALPHA", "BETA"} {
				both.Go(func() { u.ask(client, word+" work") })
			}
			both.Wait()
			for _, word := range []string{"ALPHA", "BETA"} {
				root, part, deeper := u.frame(word+" work"), u.frame(word+"-PART"), u.frame(word+"-DEEPER")
				assert.Equal(t, root.SessionID, part.ParentSessionID)
				assert.Equal(t, part.SessionID, deeper.ParentSessionID)
				assert.Equal(t, []string{word + " decides"}, deeper.Decisions)
				assert.Equal(t, "in_progress", part.Status)
				assert.Equal(t, "completed", deeper.Status)
			}
		})
	}
}
