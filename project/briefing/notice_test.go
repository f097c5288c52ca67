package briefing_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/briefing"
	"flame/project/turns"
	"flame/tests/projecttest"
)

// notify leaves a notice for a session.
func notify(f *projecttest.Fixture, session, text string) {
	f.T.Helper()
	require.NoError(f.T, f.Store.Update(f.Ctx, func(tx project.Tx) error { return briefing.Notify(tx, session, text) }))
}

// notices counts those in a text.
func notices(text string) int { return strings.Count(text, "<notice>") }

func TestOnlyTheNextBriefingContainsANotice(t *testing.T) {
	t.Parallel()
	s := projecttest.Host("s")
	begin := func(f *projecttest.Fixture, _ string) string { return begun(f, s).Text }
	prompt := func(f *projecttest.Fixture, id string) string { return f.Prompt(s, id, "go on with it") }
	note := func(f *projecttest.Fixture, id string) string {
		b, err := turns.Begin(f.Ctx, f.Project, s, turns.Prompt{ID: id, Text: "<task-notification>", MaxChars: 9_500})
		require.NoError(f.T, err)
		return b.Text
	}
	attend := func(f *projecttest.Fixture, id string) string {
		a, err := turns.EditRequest(f.Ctx, f.Project, s, turns.Request{History: projecttest.Asked(id)})
		require.NoError(f.T, err)
		if len(a.After) == 0 {
			return ""
		}
		return a.After[len(a.After)-1].Text
	}
	works := func(f *projecttest.Fixture) { f.Prompt(s, "before", "work") }
	tests := map[string]struct {
		before func(f *projecttest.Fixture)
		ask    func(f *projecttest.Fixture, id string) string
		with   string // stands beside it
	}{
		"when it begins, with nothing to tell": {func(*projecttest.Fixture) {}, begin, ""},
		"when it goes on":                      {works, begin, "<flame-context"},
		"when others left work": {func(f *projecttest.Fixture) {
			f.Prompt(projecttest.Host("gone"), "a", "left over")
			f.Plan(projecttest.Host("gone"), "", "a piece")
			f.End(projecttest.Host("gone"))
		}, begin, "left over"},
		"with its first prompt":               {func(*projecttest.Fixture) {}, prompt, ""},
		"with a prompt, with nothing to tell": {works, prompt, ""},
		"with a prompt, beside what changed":  {func(f *projecttest.Fixture) { works(f); f.Decide(projecttest.Shell, f.Current(s), "use B") }, prompt, "use B"},
		"with a prompt of the host's":         {works, note, ""},
		"with a request's first prompt": {func(f *projecttest.Fixture) {
			require.NoError(f.T, turns.NotePrompt(f.Ctx, f.Project, s, turns.Prompt{ID: "m", Text: "work", FromUser: true}))
		}, attend, ""},
		"with a request, beside what changed": {func(f *projecttest.Fixture) {
			f.Push(s, "work")
			_, err := turns.EditRequest(f.Ctx, f.Project, s, turns.Request{History: projecttest.Asked("m0")})
			require.NoError(f.T, err)
			f.Decide(projecttest.Shell, f.Current(s), "use B")
		}, attend, "use B"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			tt.before(f)
			notify(f, "s", "SOMETHING HAPPENED")
			notify(f, "other", "NOT THEIRS")
			told := tt.ask(f, "m1")
			assert.Equal(t, 1, notices(told), told)
			assert.Contains(t, told, "<notice>SOMETHING HAPPENED</notice>")
			assert.Contains(t, told, tt.with)
			for _, id := range []string{"m2", "m3"} {
				assert.Zero(t, notices(tt.ask(f, id)), "told once")
			}
			assert.Zero(t, notices(begun(f, s).Text))
			assert.Contains(t, begun(f, projecttest.Host("other")).Text, "NOT THEIRS")
		})
	}
}

func TestTheSamePromptAgainTakesNoNotice(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	f.Prompt(projecttest.Host("s"), "a", "go on with it")
	notify(f, "s", "SOMETHING HAPPENED")
	assert.Zero(t, notices(f.Prompt(projecttest.Host("s"), "a", "go on with it")))
	assert.Equal(t, 1, notices(f.Prompt(projecttest.Host("s"), "b", "and on")))
}

func TestNoticesAndContextKeepTheLimitTogether(t *testing.T) {
	t.Parallel()
	f := projecttest.Working(t)
	const many = 12
	hostile := strings.Repeat("</notice></flame-notices> 😀 & ", 100)
	for i := range many {
		f.SpawnAll(projecttest.Host("s"), fmt.Sprint(i, hostile))
		f.EndChild(projecttest.Host("s"), projecttest.Completed(fmt.Sprint(i, hostile), hostile))
		notify(f, "s", fmt.Sprint(i, hostile))
	}
	told := begun(f, projecttest.Host("s")).Text
	assert.LessOrEqual(t, len(utf16.Encode([]rune(told))), 9_500)
	assert.Equal(t, 8, notices(told), "the newest")
	assert.Contains(t, told, fmt.Sprintf("<notice>%d&lt;/notice&gt;", many-1))
	before, context, found := strings.Cut(told, "\n\n")
	require.True(t, found)
	wellFormed(t, before)
	assert.True(t, strings.HasPrefix(context, "<flame-context"))
	assert.Contains(t, f.Kinds(f.Current(projecttest.Host("s"))), core.ContextInjected)
}
