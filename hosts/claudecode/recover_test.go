package claudecode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hosts/claudecode"
	"flame/project"
	"flame/project/sweep"
)

// calledFor are the events for which the client calls the server of the session, so that
// they are lost if it is killed while it has one.
var calledFor = []string{"UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SubagentStop"}

// A moment is an event of a session, or what the client writes into a file.
type moment struct {
	kind, agent string
	says        map[string]any
}

// days returns the sessions of testdata/day.txtar.
func days(t *testing.T) map[string][]moment {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/day.txtar")
	require.NoError(t, err)
	all := map[string][]moment{}
	for _, file := range archive.Files {
		for line := range strings.Lines(string(file.Data)) {
			kind, says, _ := strings.Cut(line, ": ")
			var m moment
			m.kind, m.agent, _ = strings.Cut(kind, " ")
			require.NoError(t, json.Unmarshal([]byte(says), &m.says), line)
			all[file.Name] = append(all[file.Name], m)
		}
	}
	return all
}

// comes has a moment come, unless it is an event that is lost.
func (s *session) comes(m moment, lost bool) {
	s.T.Helper()
	switch m.kind {
	case "log":
		s.calls++
		line, file := maps.Clone(m.says), "logs/main.jsonl"
		line["sessionId"], line["uuid"] = "main", fmt.Sprint("u", s.calls)
		line["timestamp"] = s.P.Now().Time().UTC().Format("2006-01-02T15:04:05.000Z")
		if m.agent != "" {
			line["agentId"], line["isSidechain"], file = m.agent, true, "logs/main/subagents/agent-"+m.agent+".jsonl"
		}
		s.Lines(file, line)
	case "meta":
		file := "logs/main/subagents/agent-" + m.agent + ".meta.json"
		_ = os.Remove(filepath.Join(s.Dir, file)) // there may be none
		s.Lines(file, m.says)
	default:
		if !lost {
			s.send(m.kind, m.says)
		}
	}
}

// lives plays a day without the events that are lost, and returns what is left of it, and
// how many events were made up.
func lives(t *testing.T, day []moment, lost func(i int) bool) (left string, madeUp int) {
	t.Helper()
	s := newSession(t)
	for i, m := range day {
		s.comes(m, lost(i))
	}
	s.P.Transcripts = claudecode.Host().Logs.Formats.Read
	require.NoError(t, sweep.RunOnce(context.Background(), s.P))
	var files []string
	frames, _ := s.Frames()
	for _, f := range frames {
		files = append(files, f.Goal+" "+strings.Join(f.Artifacts, " "))
	}
	late, err := s.P.TakeLate(context.Background())
	require.NoError(t, err)
	return s.Tree() + strings.Join(files, "\n"), lo.SumBy(late, func(l project.LateEvents) int { return l.MadeUp })
}

// Whichever event is lost with a server that was killed while it had it, and if none comes
// at all because the user switched the server off, the work ends in the same tree.
func TestEventsLostWithTheServerAreRecoveredFromTheLog(t *testing.T) {
	t.Parallel()
	for name, day := range days(t) {
		want, madeUp := lives(t, day, func(int) bool { return false })
		assert.Zero(t, madeUp)
		require.Contains(t, want, "completed Build the parser: DONE\n  completed look around: LEAF\n")
		require.Contains(t, want, "Build the parser /w/parser.go")
		for i, m := range day {
			if slices.Contains(calledFor, m.kind) {
				t.Run(fmt.Sprintf("%s, without %s %d", name, m.kind, i), func(t *testing.T) {
					t.Parallel()
					left, _ := lives(t, day, func(lost int) bool { return lost == i })
					assert.Equal(t, want, left)
				})
			}
		}
		t.Run(name+", with those of processes alone", func(t *testing.T) {
			t.Parallel()
			left, madeUp := lives(t, day, func(i int) bool { return slices.Contains(calledFor, day[i].kind) })
			assert.Equal(t, want, left)
			assert.Positive(t, madeUp, "doctor reports them")
		})
	}
}
