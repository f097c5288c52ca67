package judge_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core"
	"flame/core/judge"
)

// said is the end of a turn with a frame, the agent's last words and calls.
func said(frame judge.Frame, words string, calls ...judge.Call) judge.Moment {
	return judge.Moment{
		Frame:  frame,
		Recent: []judge.Message{{Role: core.RoleUser, Text: "Go ahead."}, {Role: core.RoleAssistant, Text: words}},
		Turn:   judge.Turn{Calls: calls},
	}
}

// ran is a command and how it ended.
func ran(command string, exit int, output string) judge.Call {
	return judge.Call{Tool: "Bash", Input: command, OK: exit == 0, Exit: &exit, Output: output}
}

var (
	green = ran("go test ./...", 0, "ok  \tapp/import\t0.41s")
	red   = ran("go test ./...", 1, "--- FAIL: TestImport (0.00s)\nFAIL")
)

func TestAnEndIsWeighedByWhatWasDoneAndSaid(t *testing.T) {
	t.Parallel()
	importer := judge.Frame{Goal: "Let the importer skip a byte order mark", Criteria: "files with a mark import; tests pass"}
	for name, tt := range map[string]struct {
		moment judge.Moment
		want   core.Status // empty: the work goes on
	}{
		"the last run passes and nothing is open": {said(importer, "The importer skips the mark now, with a test.", green), core.Completed},
		"the last run fails, whatever is said":    {said(importer, "Everything is done, all tests pass.", red), ""},
		"a failure was mended":                    {said(importer, "The importer skips the mark now.", red, green), core.Completed},
		"the next step is announced":              {said(importer, "Files with a mark import. Next I'll add the test.", green), ""},
		"a part of the whole is told":             {said(importer, "3 of 8 importers skip the mark. Tests pass.", green), ""},
		"the user is asked to try":                {said(importer, "It should work now, please try again."), ""},
		"it ends with a question":                 {said(importer, "All tests pass. Is a mark in the middle of a file to be kept?", green), ""},
		"an offer of more is no question":         {said(importer, "All tests pass, marks are skipped. Shall I also do the exporter?", green), core.Completed},
		"a job of its own runs":                   {said(importer, "Tests are running in the background.", green), ""},
		"there is no word, and the run passes":    {said(importer, "", green), core.Completed},
		"there is no word, and no run":            {said(importer, ""), ""},
		"the model's service failed": {
			said(importer, `API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}`, green), "",
		},
		"figures do not reach what the criteria say": {
			said(judge.Frame{Goal: "Shrink the binary", Criteria: "below 12 MB"}, "All tests pass. The binary is 13.7 MB, from 21.9 MB.", green), "",
		},
		"figures reach what the criteria say": {
			said(judge.Frame{Goal: "Shrink the binary", Criteria: "below 12 MB"}, "All tests pass. The binary is 11.2 MB, from 21.9 MB.", green),
			core.Completed,
		},
		"a search that finds nothing proves that nothing is left": {
			said(judge.Frame{Goal: "Make sure nothing uses the old client"}, "No references are left, in code or in documents.",
				ran("grep -rn OldClient .", 1, "")),
			core.Completed,
		},
		"a red test was wanted": {
			said(judge.Frame{Goal: "Write a failing test for the double charge"}, "The test is there and fails as expected, with two captures for one key.",
				ran("pytest tests/charge.py", 1, "1 failed in 0.4s")), core.Completed,
		},
		"the agent gives up and takes its work back": {
			said(importer, "This cannot be done with this reader, I'm out of options. I reverted my changes.", red), core.Failed,
		},
		"the agent tried and goes on": {said(importer, "Three attempts did not work. Next I'll read the bytes by hand.", red), ""},
		"somebody else must grant access": {
			said(importer, "Every upload is refused with 403. The platform team has to grant the role; I've asked them, until then I can't continue.",
				ran("./deploy.sh", 1, "403 Forbidden")), core.Blocked,
		},
		"the agent says what it does now": {said(importer, "The importer skips the mark. Adding this to the exporter.", green), ""},
		"one way was impossible, another reached the figures": {
			said(judge.Frame{Goal: "Shrink the binary", Criteria: "below 12 MB"}, "Packing it is impossible here. Without symbols it is 11.2 MB.",
				ran("ls -l app", 0, "11.2 MB")), core.Completed,
		},
		"a failure that is nothing new, where tests are asked for": {
			said(importer, "All marks are skipped. One test fails, as it did on main already.", red), "",
		},
		"waiting is what the work is about": {
			said(judge.Frame{Goal: "Show blocked payments and a waiting list"}, "Blocked payments and the waiting list are shown. All tests pass.",
				green), core.Completed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := judge.Pop(tt.moment, core.DefaultAutonomyConfig())
			if tt.want == "" {
				assert.False(t, e.Recommended, "%s: %s", e.Status, e.Explanation)
				assert.False(t, judge.Finished(tt.moment))
				return
			}
			assert.True(t, e.Recommended, e.Explanation)
			assert.Equal(t, tt.want, e.Status, e.Explanation)
		})
	}
}

func TestOnlyProofEndsAFrameUnasked(t *testing.T) {
	t.Parallel()
	frame := judge.Frame{Goal: "Let the importer skip a byte order mark", Criteria: "importer skips the mark; go test passes"}
	proven := said(frame, "The importer skips the mark, and all tests pass.", green)
	proven.Turn.Files = []string{"importer/mark.go"}
	assert.True(t, judge.Finished(proven))
	tests := func(line, output string) func(*judge.Moment) {
		return func(m *judge.Moment) { m.Turn.Calls = []judge.Call{ran(line, 0, output)} }
	}
	after := func(line string) func(*judge.Moment) {
		return func(m *judge.Moment) { m.Turn.Calls = []judge.Call{green, ran(line, 0, "")} }
	}
	adds := func(words string) func(*judge.Moment) {
		return func(m *judge.Moment) { m.Recent[1].Text += " " + words }
	}
	for name, spoil := range map[string]func(*judge.Moment){
		"an open child":        func(m *judge.Moment) { m.Frame.Open = 1 },
		"a planned child":      func(m *judge.Moment) { m.Frame.Planned = []string{"The exporter"} },
		"no run":               func(m *judge.Moment) { m.Turn.Calls = nil },
		"a red run":            func(m *judge.Moment) { m.Turn.Calls = []judge.Call{green, red} },
		"a change after it":    func(m *judge.Moment) { m.Turn.Calls = []judge.Call{green, {Tool: "Edit", Input: "a.go", OK: true}} },
		"a run nobody saw end": func(m *judge.Moment) { m.Turn.Calls = []judge.Call{{Tool: "bash", Input: "go test ./...", OK: true}} },
		"nothing changed":      func(m *judge.Moment) { m.Turn.Files = nil },
		"a question":           adds("Is that enough?"),

		"a run that only formats":         tests("gofmt -l .", ""),
		"a run that only builds":          tests("go build ./...", "ok"),
		"a run whose output is thrown":    tests("go test ./... >/dev/null 2>&1; echo done", "done"),
		"a run that may not fail":         tests("go test ./... || true", "ok"),
		"a run whose output is cut":       tests("npm test 2>&1 | head -3", "> jest"),
		"a run that only says what it is": tests("make -n test", "go test ./..."),
		"no test in the run":              tests("go test -run Nope ./...", "ok [no tests to run]"),
		"a command too long to be known":  tests("go test ./..."+strings.Repeat(" ./importer", 20), "ok"),

		"sed after it":            after("sed -i s/a/b/ main.go"),
		"a written file after it": after("cat > main.go <<EOF\nEOF"),
		"a checkout after it":     after("git checkout -- ."),
		"another red package": func(m *judge.Moment) {
			m.Turn.Calls = []judge.Call{ran("go test ./importer", 1, "--- FAIL: TestMark"), ran("go test ./other", 0, "ok")}
		},
		"words that only the calls have": func(m *judge.Moment) {
			m.Recent[1].Text = "The baseline is green: all tests pass."
			m.Turn.Calls = []judge.Call{{Tool: "Read", Input: "importer skips the mark; go test passes", OK: true}, green}
		},
		"a limiting word":     adds("However, UTF-16 is not read."),
		"an exception":        adds("Apart from UTF-16 files."),
		"a skipped part":      adds("I skipped the Windows files."),
		"a disabled test":     adds("I disabled TestBOM."),
		"a mock":              adds("UTF-16 is mocked."),
		"a line taken out":    adds("I commented out the failing assertion."),
		"an unknown language": adds("Restliche Dateien folgen morgen."),
		"a criterion nobody speaks of": func(m *judge.Moment) {
			m.Frame.Criteria += "; documentation explains encodings"
		},
	} {
		t.Run("not with "+name, func(t *testing.T) {
			t.Parallel()
			m := said(frame, proven.Recent[1].Text, green)
			m.Turn.Files = proven.Turn.Files
			spoil(&m)
			assert.False(t, judge.Finished(m))
		})
	}
	for name, calls := range map[string][]judge.Call{
		"a commit after it":        {green, ran("git add -A && git commit -qm mark", 0, "")},
		"the red package mended":   {ran("go test ./importer", 1, "--- FAIL: TestMark"), ran("go test ./...", 0, "ok")},
		"a build before the tests": {ran("go build ./... && go test ./...", 0, "ok")},
	} {
		t.Run("still with "+name, func(t *testing.T) {
			t.Parallel()
			m := said(frame, proven.Recent[1].Text, calls...)
			m.Turn.Files = proven.Turn.Files
			assert.True(t, judge.Finished(m))
		})
	}
}

func TestAFullContextIsToldButEndsNothing(t *testing.T) {
	t.Parallel()
	m := said(judge.Frame{Goal: "Move the dashboards"}, "26 of 40 are moved.")
	m.Turn.Tokens, m.Turn.Model = 900_000, "claude-opus-5-5"
	e := judge.Pop(m, core.DefaultAutonomyConfig())
	assert.False(t, e.Recommended)
	assert.Contains(t, e.Explanation, "a full context asks for a summary")
	m.Turn.Tokens = 150_000
	assert.NotContains(t, judge.Pop(m, core.DefaultAutonomyConfig()).Explanation, "full context")
}

func TestSignsThatACallerNamesCount(t *testing.T) {
	t.Parallel()
	m := judge.Moment{
		Frame:     judge.Frame{Goal: "Add login with passkeys", Artifacts: []string{"auth/passkeys.go", "auth/login.go"}},
		Successes: []string{"login with passkeys works", "all tests pass"},
	}
	e := judge.Pop(m, core.DefaultAutonomyConfig())
	assert.True(t, e.Recommended, e.Explanation)
	assert.Equal(t, core.Completed, e.Status)
	m.Failures = []string{"two tests fail"}
	assert.False(t, judge.Pop(m, core.DefaultAutonomyConfig()).Recommended)
}

func TestAMegabyteIsJudgedInNoTime(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("The reader still fails on 3 of 8 files `x`, next I'll look. ", 1<<20/60)
	m := said(judge.Frame{Goal: long, Criteria: long}, long, ran(long, 1, long))
	judge.Pop(m, core.DefaultAutonomyConfig())
	judge.Finished(m)
}

func FuzzPop(f *testing.F) {
	f.Add("Fix it", "tests pass", "All `done`, 3 of 8 …", "go test ./...", "FAIL", 1, 0)
	f.Add("", "", "", "", "", 0, 0)
	f.Add("Überprüfe, ob’s geht", "< 5 ms; ≥ 0.9", "完了。すべて合格？ 97 %", "FOO=1 npx jest | tee x && ! grep y", "12 failed, 3 passed", 2, 3)
	f.Fuzz(func(t *testing.T, goal, criteria, words, command, output string, exit, open int) {
		m := said(judge.Frame{Goal: goal, Criteria: criteria, Open: max(0, open)}, words, ran(command, exit, output))
		cfg := core.DefaultAutonomyConfig()
		e := judge.Pop(m, cfg)
		assert.Equal(t, e, judge.Pop(m, cfg), "the same moment gives the same judgement")
		if judge.Finished(m) {
			assert.Zero(t, m.Frame.Open)
			assert.True(t, e.Recommended, e.Explanation)
			assert.Equal(t, core.Completed, e.Status)
		}
		m.Frame.Open++
		more := judge.Pop(m, cfg)
		assert.False(t, more.Recommended && more.Status == core.Completed, "a frame with a child in progress is not completed")
	})
}
