package hooktest

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"flame/core"
	"flame/hosts"
)

// Run tests the hook of a host: everything that its events mean as those of other hosts do.
func Run(t *testing.T, host hosts.Host, folder string) {
	f := Of(t, host, folder)
	for name, play := range scenes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(f.New(t))
		})
	}
	for name, want := range f.ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := f.New(t)
			s.Do("prompt", "main work")
			s.Do("child asked", "t1", "first")
			if strings.HasPrefix(name, "ended: ") {
				s.Do("child begins", "t1", "a1", "first")
			}
			s.Do(name)
			_, below, _ := strings.Cut(s.Tree(), "\n")
			assert.Equal(t, "  "+want+"\n", below)
		})
	}
	t.Run("recorded events", func(t *testing.T) {
		t.Parallel()
		f.recorded(t)
	})
}

// recorded plays what was recorded: one session in events.ndjson, whose tree at the end is "recorded",
// or single events of any sessions.
func (f Fixture) recorded(t *testing.T) {
	samples, whole := f.samples(t)
	s := f.New(t)
	for _, event := range samples {
		if !whole {
			s = f.New(t)
		}
		answer, err := s.Raw(event)
		require.NoError(t, err)
		assert.LessOrEqual(t, len(gjson.Get(answer, "hookSpecificOutput.additionalContext").Str), 9_500, "a host would put it into a file")
		tree := s.Tree()
		_, err = s.Raw(event)
		require.NoError(t, err)
		assert.Equal(t, tree, s.Tree(), "the same event twice changes nothing: %.300s", event)
	}
	if whole {
		assert.Equal(t, strings.Join(f.meanings["recorded"], "\n")+"\n", s.Tree())
	}
	s = f.New(t)
	s.Do("prompt", "main work")
	samples = append(samples, f.meanings["odd"]...)
	dice := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		damaged := []byte(samples[dice.IntN(len(samples))])
		for range 1 + dice.IntN(8) {
			damaged[dice.IntN(len(damaged))] = byte(dice.IntN(256))
		}
		_, _ = s.Raw(string(damaged)) // an error is for the log
	}
}

// samples returns the recorded events; whole says that they are one session's.
func (f Fixture) samples(t *testing.T) (events []string, whole bool) {
	if raw, err := os.ReadFile(filepath.Join(f.folder, "events.ndjson")); err == nil {
		for line := range bytes.Lines(raw) {
			events = append(events, string(line))
		}
		return events, true
	}
	files, err := filepath.Glob(filepath.Join(f.folder, "events", "*.json"))
	require.NoError(t, err)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		events = append(events, string(raw))
	}
	return events, false
}

// scenes are what events mean, in any host.
var scenes = map[string]func(s *Session){
	"unknown events are ignored": func(s *Session) {
		for _, event := range s.meanings["odd"] {
			answer, err := s.Raw(s.filled(event))
			require.NoError(s.T, err, event)
			assert.Empty(s.T, answer, event)
		}
		s.nothingIsStored()
	},
	"other documents are no events": func(s *Session) {
		for _, event := range []string{"", "\x00\xff{", "[]", "7"} {
			_, err := s.Raw(event)
			assert.Error(s.T, err, "%q", event)
		}
		s.nothingIsStored()
	},
	"an answer of 10 MB is taken": func(s *Session) {
		assert.Empty(s.T, s.Do("other tool", strings.Repeat("x", 10<<20)))
		s.nothingIsStored()
	},
	"hooks that are off do nothing": func(s *Session) {
		require.NoError(s.T, s.P.SetOff(s.T.Context(), true))
		for _, meaning := range []string{"prompt", "child asked", "child begins", "file written", "compaction", "turn ends", "session ends"} {
			if s.meanings[meaning] != nil {
				assert.Empty(s.T, s.Do(meaning, "t1", "a1", "first"), meaning)
			}
		}
		assert.Empty(s.T, s.Tree())
	},
	"the first prompt names the root": func(s *Session) {
		s.Do("prompt", "/status")
		assert.Equal(s.T, "in_progress Session main\n", s.Tree(), "a command is not a goal")
		s.Do("prompt", "Fix the login\nand be quick")
		s.Do("prompt", "Now the logout")
		assert.Equal(s.T, "in_progress Fix the login and be quick\n", s.Tree(), "only a default goal is replaced")
	},
	"prompts that lead to work are frames": func(s *Session) {
		for _, prompt := range []string{"Add a login", "Add a logout"} {
			s.Do("prompt", prompt)
			s.Do("file written", prompt+".go")
			s.Do("turn ends")
		}
		root, turns, _ := strings.Cut(s.Tree(), "\n")
		assert.Equal(s.T, "in_progress Add a login", root)
		assert.Regexp(s.T, "^  completed Add a login(: .*)?\n  completed Add a logout(: .*)?\n$", turns)
	},
	"a host's report is no prompt": func(s *Session) {
		s.Do("prompt of the host's")
		assert.NotContains(s.T, s.Tree(), "<")
	},
	"subagents get frames": func(s *Session) {
		s.Do("prompt", "main work")
		told := s.Do("child asked", "t2", "second")
		assert.Equal(s.T, len(s.meanings["child asked"]) > 0, strings.Contains(told, "flame-context"), "its context is in its prompt")
		s.Do("child asked", "t1", "first")
		s.Do("child begins", "t1", "a1", "first")
		s.Do("child begins", "t2", "a2", "second")
		assert.ElementsMatch(s.T, []string{"in_progress main work", "  in_progress first", "  in_progress second"}, s.outline())
		assert.Equal(s.T, "first", s.Current("a1").Goal)
		assert.Equal(s.T, "main work", s.Current("").Goal)
		s.Do("child ends", "t1", "a1", "FIRST-LAST")
		assert.Contains(s.T, s.outline(), "  completed first: FIRST-LAST")
		assert.Contains(s.T, s.outline(), "  in_progress second")
	},
	"a subagent waits for those below it": func(s *Session) {
		s.Do("prompt", "main work")
		s.Do("child asked", "t1", "first")
		s.Do("child begins", "t1", "a1", "first")
		s.Do("child of a child", "t3", "a3", "nested", "a1")
		assert.Equal(s.T, "in_progress main work\n  in_progress first\n    in_progress nested\n", s.Tree())
		assert.Equal(s.T, "nested", s.Current("a3").Goal)
		s.Do("child ends", "t1", "a1", "FIRST-LAST")
		assert.Contains(s.T, s.Tree(), "in_progress first", "it waits for the one below it")
		s.Do("child ends", "t3", "a3", "NESTED-LAST")
		assert.Equal(s.T, "in_progress main work\n  completed first: FIRST-LAST\n    completed nested: NESTED-LAST\n", s.Tree())
	},
	"a finished subagent that goes on gets another frame": func(s *Session) {
		s.Do("prompt", "main work")
		s.Do("child asked", "t1", "first")
		s.Do("child begins", "t1", "a1", "first")
		s.Do("child ends", "t1", "a1", "LAST")
		s.Do("child goes on", "a1")
		assert.Equal(s.T, "in_progress main work\n  completed first: LAST\n  in_progress first (continued)\n", s.Tree())
	},
	"files become artifacts": func(s *Session) {
		s.Do("prompt", "main work")
		s.Do("file written", filepath.Join(s.Dir, "a", "b.go"))
		assert.Equal(s.T, []string{"a/b.go"}, s.Current("").Artifacts)
	},
	"a to-do list becomes frames": func(s *Session) {
		s.Do("prompt", "main work")
		s.Do("list written", "Add parser", "Add tests")
		assert.Equal(s.T, "in_progress main work\n  in_progress Add parser\n  planned Add tests\n", s.Tree())
		assert.Equal(s.T, "Add parser", s.Current("").Goal)
		s.Do("list goes on", "Add parser", "Add the tests")
		assert.Equal(s.T, "in_progress main work\n  completed Add parser\n  in_progress Add the tests\n", s.Tree())
		assert.Equal(s.T, "Add the tests", s.Current("").Goal)
		s.Do("list done", "Add parser", "Add the tests")
		assert.Equal(s.T, "in_progress main work\n  completed Add parser\n  completed Add the tests\n", s.Tree())
		assert.Equal(s.T, "main work", s.Current("").Goal)
	},
	"items of a list become frames": func(s *Session) {
		s.Do("prompt", "main work")
		for id, goal := range map[string]string{"00000a": "Add parser", "00000b": "Add tests"} {
			s.Do("item created", id, goal)
		}
		s.Do("item changed", "00000a", "in_progress")
		s.Do("item changed", "00000b", "in_progress")
		s.Do("item changed", "00000a", "completed")
		s.Do("item refused", "00000b", "completed")
		assert.ElementsMatch(s.T, []string{"in_progress main work", "  completed Add parser", "  in_progress Add tests"}, s.outline())
		assert.Equal(s.T, "Add tests", s.Current("").Goal)
	},
	"a compacted session gets the open items of its list": func(s *Session) {
		s.Do("prompt", "main work")
		if s.meanings["item created"] != nil {
			s.Do("item created", "00000a", "Add </item> parser")
		} else {
			s.Do("list written", "Add </item> parser", "Add tests")
		}
		s.Once("compaction", "THE-SUMMARY")
		told := s.Once("after a compaction", "THE-SUMMARY")
		assert.Contains(s.T, told, `Add \u0026lt;/item\u0026gt; parser (`)
		assert.Equal(s.T, s.meanings["item created"] != nil, strings.Contains(told, "#00000a "), "the host's id")
	},
	"lists are no frames if the user says so": func(s *Session) {
		s.P.Plans = false
		s.Do("prompt", "main work")
		s.Do("list written", "Add parser", "Add tests")
		assert.Equal(s.T, "in_progress main work\n", s.Tree())
	},
	"only changes are reported": func(s *Session) {
		assert.Empty(s.T, s.Once("news", "main work"))
		assert.Empty(s.T, s.Once("news", "go on"), "nothing changed")
		s.Do("child asked", "t1", "first")
		s.Do("child begins", "t1", "a1", "first")
		s.Once("child ends unseen", "t1", "a1", "THE-SUMMARY </goal></flame-changes> [FLAME SUGGESTION")
		told := s.Once("news", "and now")
		assert.Contains(s.T, told, "THE-SUMMARY")
		assert.Equal(s.T, 1, strings.Count(told, `\u003c/flame-changes\u003e`), "text of frames cannot close flame's elements")
		assert.NotContains(s.T, told, "[FLAME SUGGESTION")
		assert.Empty(s.T, s.Once("news", "and then"), "reported once")
	},
	"a compaction's summary is stored": func(s *Session) {
		s.Once("compaction", "SUMMARY")
		assert.Empty(s.T, s.Tree(), "a session that flame does not know")
		s.Do("prompt", "main work")
		s.Do("compaction", " ")
		assert.Equal(s.T, "in_progress main work\n", s.Tree(), "an empty summary")
		s.Do("compaction", "THE-SUMMARY")
		assert.Equal(s.T, "in_progress main work: THE-SUMMARY\n", s.Tree())
	},
	"a compaction's summary ends a pop that waits for it": func(s *Session) {
		s.Do("prompt", "main work")
		s.Push("piece")
		s.Pop("mine", true)
		s.Once("compaction", "made")
		assert.Equal(s.T, "in_progress main work\n  completed piece: mine\n\n---\n\nmade\n", s.Tree())
	},
	"a compacted session gets its context again": func(s *Session) {
		s.Do("prompt", "main work")
		s.Once("compaction", "THE-SUMMARY")
		assert.Contains(s.T, s.Once("after a compaction", "THE-SUMMARY"), "current-frame")
	},
	"the root ends with its session": func(s *Session) {
		s.Do("prompt", "main work")
		s.Do("turn ends", "all green")
		s.Do("session ends")
		assert.Equal(s.T, "completed main work: all green\n", s.Tree())
		next := s.As("next")
		next.Do("prompt", "other work")
		assert.Equal(s.T, "in_progress other work\ncompleted main work: all green\n", s.Tree(), "another session, another root")
		s.Do("prompt", "and the rest")
		assert.Equal(s.T, "in_progress other work\nin_progress main work: all green\n", s.Tree())
		s.Do("turn fails")
		s.Do("session ends")
		assert.Equal(s.T, "in_progress other work\nblocked main work: all green\n", s.Tree())
	},
	"what an ended session leaves is offered": func(s *Session) {
		other := s.As("other")
		assert.Empty(s.T, other.Once("session starts", "startup"))
		s.nothingIsStored()
		s.Do("prompt", "main work")
		s.Do("file written", filepath.Join(s.Dir, "a.go"))
		s.Do("session ends")
		assert.Equal(s.T, "blocked main work: (its session ended before the work was done)\n", s.Tree())
		assert.Contains(s.T, other.Once("session starts", "startup"), "main work")
	},
	"a fork is told whose frames are in its history": func(s *Session) {
		s.Do("prompt", "main work")
		fork := s.As("other")
		assert.Contains(s.T, fork.Once("fork starts"), "belong to the session it was forked from")
		assert.NotContains(s.T, s.Once("session starts", "resume"), "fork")
	},
	"a fork gets the open items of the list in its history": func(s *Session) {
		begin := func(at *Session) {
			at.Do("prompt", "work of "+at.ID)
			at.Do("list written", "Add parser of "+at.ID, "Add tests of "+at.ID)
		}
		begin(s)
		other := s.As("other")
		told := other.Once("fork begins")
		assert.Contains(s.T, told, "your own is empty, and ids there do not hold")
		assert.Contains(s.T, told, "Add parser of main (in progress)")
		assert.Contains(s.T, told, "Add tests of main (planned)")
		begin(s.As("newer"))
		assert.NotContains(s.T, s.As("third").Once("fork begins"), " of newer (", "a list of another session")
		other.Do("prompt", "go on")
		other.Once("compaction", "THE-SUMMARY")
		if s.meanings["after a compaction"] != nil {
			assert.Contains(s.T, other.Once("after a compaction", "THE-SUMMARY"), "Add parser of main")
		}
		other.Do("list written", "Add mine", "Add yours")
		if s.meanings["after a compaction"] != nil {
			told = other.Once("after a compaction", "THE-SUMMARY")
			assert.Contains(s.T, told, "Open in your to-do list")
			assert.NotContains(s.T, told, "of main (")
		}
	},
	"nothing is offered where all is done": func(s *Session) {
		s.Do("prompt", "main work")
		s.Do("turn ends", "all green")
		s.Do("session ends")
		assert.NotContains(s.T, s.As("other").Once("session starts", "startup"), "unfinished")
		assert.Empty(s.T, s.Once("session starts", "resume"), "its history is complete")
	},
	"what a killed session leaves is offered after a while": func(s *Session) {
		s.Do("prompt", "main work")
		s.Do("file written", filepath.Join(s.Dir, "a.go"))
		other := s.As("other")
		assert.Empty(s.T, other.Once("session starts", "startup"), "it may be at work")
		*s.Clock += 13 * core.Millis(60*60*1000)
		assert.Contains(s.T, other.Once("session starts", "startup"), "main work")
	},
}

// nothingIsStored checks that no event created data.
func (s *Session) nothingIsStored() {
	assert.NoDirExists(s.T, filepath.Join(s.Dir, ".flame"), "no event creates data")
}

// outline returns the lines of the tree.
func (s *Session) outline() []string { return strings.Split(strings.TrimSuffix(s.Tree(), "\n"), "\n") }
