package evidence_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core"
	"flame/core/evidence"
	"flame/tests/cases"
)

func TestAPushNeedsAPlannedChildOrWorkThatSharesNoWord(t *testing.T) {
	t.Parallel()
	work := evidence.Moment{
		Frame:  evidence.Frame{Goal: "Import customers from CSV", Criteria: "10,000 rows", Decisions: []string{"papaparse"}, Files: []string{"src/import.ts"}},
		Recent: []evidence.Message{{Role: core.RoleAssistant, Text: "The importer skips bad rows."}},
		Calls:  []evidence.Call{{Tool: "Bash", Input: "npm run migrate"}},
	}
	fresh := work
	fresh.Frame.Files, fresh.Frame.Decisions, fresh.Recent, fresh.Calls = nil, nil, nil, nil
	planned := work
	planned.Frame.Planned = []string{"Export customers to Excel", "Nightly digest by mail"}
	moments := map[string]evidence.Moment{"work": work, "fresh": fresh, "planned": planned}
	type row struct {
		In, Goal, Why string
		Proven        bool
	}
	for prompt, tt := range cases.Read[row](t, "testdata/push.yaml") {
		in := moments[tt.In]
		in.Prompt = prompt
		found := evidence.Push(in)
		assert.Equal(t, tt.Goal, found.Goal, prompt)
		assert.Equal(t, tt.Goal != "", found.Confidence >= 90, prompt)
		assert.Equal(t, tt.Proven, found.Proven, prompt)
	}
}

func bash(command string, exit int, output string) evidence.Call {
	return evidence.Call{Tool: "Bash", Input: command, OK: exit == 0, Exit: &exit, Output: output}
}

// done is a moment with proof of the result.
func done() evidence.Moment {
	return evidence.Moment{
		Frame: evidence.Frame{Goal: "Parse the config file", Criteria: "parser reads YAML; tests pass; startup below 50 ms", Files: []string{"parser.go"}},
		Recent: []evidence.Message{{Role: core.RoleUser, Text: "go"}, {
			Role: core.RoleAssistant, Text: "The parser reads YAML and the startup takes 40 ms; all tests pass.",
		}},
		Calls: []evidence.Call{{Tool: "Edit", Input: "parser.go", OK: true}, bash("go test ./...", 0, "ok  \tparser\t0.1s")},
	}
}

func TestAnEndNeedsFactsThatAllHold(t *testing.T) {
	t.Parallel()
	say := func(text string) func(*evidence.Moment) {
		return func(m *evidence.Moment) { m.Recent[1].Text = text }
	}
	ran := func(calls ...evidence.Call) func(*evidence.Moment) {
		return func(m *evidence.Moment) { m.Calls = calls }
	}
	const all = "The parser reads YAML and the startup takes 40 ms; all tests pass."
	edit := evidence.Call{Tool: "Edit", Input: "parser.go", OK: true}
	passes := bash("go test ./...", 0, "ok  \tparser\t0.1s")
	for name, tt := range map[string]struct {
		change             func(*evidence.Moment)
		suggested, certain bool
	}{
		"all facts hold":                         {func(*evidence.Moment) {}, true, true},
		"reading after the check":                {ran(edit, passes, bash("git status && git diff", 0, "")), true, true},
		"a failed check that passed later":       {ran(bash("go test ./parser", 1, "FAIL"), edit, passes), true, true},
		"a check of another kind":                {ran(edit, bash("npm run lint", 0, "")), true, false},
		"a check whose status a pipe hides":      {ran(edit, bash("go test ./... | tail -3", 0, "ok")), true, false},
		"a check that may fail":                  {ran(edit, bash("go test ./... || true", 0, "ok")), true, false},
		"no tests ran":                           {ran(edit, bash("pytest", 0, "collected 0 items")), true, false},
		"a word of doubt":                        {say(all + " However, the error texts are short."), true, false},
		"nothing was made":                       {func(m *evidence.Moment) { m.Frame.Files = nil }, false, false},
		"no check":                               {ran(edit), false, false},
		"no call at all":                         {ran(), false, false},
		"a change after the check":               {ran(passes, edit), false, false},
		"a check that fails":                     {ran(edit, bash("go test ./...", 1, "FAIL")), false, false},
		"a check that fails and exits well":      {ran(edit, bash("npm test", 0, "Tests: 2 failed, 8 passed")), false, false},
		"a failed check that did not pass later": {ran(bash("go test ./store", 1, "FAIL"), edit, bash("go test ./parser", 0, "ok")), false, false},
		"a planned child":                        {func(m *evidence.Moment) { m.Frame.Planned = []string{"x"} }, false, false},
		"an open child":                          {func(m *evidence.Moment) { m.Frame.Open = 1 }, false, false},
		"a question":                             {say(all + " Shall I go on?"), false, false},
		"more to do":                             {say(all + " Next I look at the errors."), false, false},
		"work of its own goes on":                {say(all + " I'll report back."), false, false},
		"a part of a whole":                      {say(all + " That is 3 of 8 files."), false, false},
		"a figure that misses":                   {say("The parser reads YAML and the startup takes 60 ms; all tests pass."), false, false},
		"a criterion without a word":             {say("All tests pass and it takes 40 ms."), false, false},
		"another language":                       {say("Parser liest YAML, 40 ms, fertig."), false, false},
		"no words":                               {say(""), false, false},
		"an interruption":                        {func(m *evidence.Moment) { m.Recent[1].Role = core.RoleUser }, false, false},
		"an error of the service":                {say("API Error: 529 Overloaded"), false, false},
		"without criteria":                       {func(m *evidence.Moment) { m.Frame.Criteria = "" }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := done()
			tt.change(&m)
			found := evidence.Pop(m)
			assert.Equal(t, tt.suggested, found.Confidence >= 80, found)
			assert.Equal(t, tt.certain, found.Proven, found)
			assert.Equal(t, tt.suggested, found.Reason != "")
		})
	}
}

func TestWhatAsksForMore(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]bool{
		"great, thanks": false, "continue": false, "/clear": false,
		"the archives are named wrongly: use the date first": true, "does it work with spaces?": true, "not there": true,
	} {
		assert.Equal(t, want, evidence.AsksForMore(prompt), prompt)
	}
}
