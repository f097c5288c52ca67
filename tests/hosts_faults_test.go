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
	require.NoError(u.t, os.Remove(u.installed()))
	text := "#!/bin/sh\nFLAME='" + u.flame + "'\n" + script + "\n"
	require.NoError(u.t, os.WriteFile(u.installed(), []byte(text), 0o755))
}

// The plugin of OpenCode is tried so beside its code.
func TestClaudeContinuesWhateverFlameDoes(t *testing.T) {
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
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			u := ready(t, claudeCode)
			u.must(u.flame, "push", "something to lock")
			arrange(u)
			u.model.Play(model.Script{{Name: "main", Kind: model.Work, Turns: []model.Turn{{Text: "THE-ANSWER"}}}})
			assert.Contains(t, u.ask(claudeCode, "A question"), "THE-ANSWER")
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

// lockStore has another process hold the store's lock for a while, like a writer that hangs.
func (u *user) lockStore(for_ time.Duration) {
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
