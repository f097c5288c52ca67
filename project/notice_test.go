package project_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/briefing"
	"flame/project/children"
	"flame/project/turns"
)

// notify leaves a notice for a session.
func (f *fixture) notify(session, text string) {
	f.t.Helper()
	require.NoError(f.t, f.Store.Update(f.ctx, func(tx project.Tx) error { return briefing.Notify(tx, session, text) }))
}

// notices counts those in a text.
func notices(text string) int { return strings.Count(text, "<notice>") }

func TestANoticeStandsInTheNextBriefingAndInNoOther(t *testing.T) {
	t.Parallel()
	s := host("s")
	begin := func(f *fixture, _ string) string { return f.begin(s).Text }
	prompt := func(f *fixture, id string) string { return f.prompt(s, id, "go on with it") }
	note := func(f *fixture, id string) string {
		b, err := turns.Begin(f.ctx, f.Project, s, turns.Prompt{ID: id, Text: "<task-notification>", MaxChars: 9_500})
		require.NoError(f.t, err)
		return b.Text
	}
	attend := func(f *fixture, id string) string {
		a, err := turns.Attend(f.ctx, f.Project, s, turns.Request{Prompts: []string{id}})
		require.NoError(f.t, err)
		if len(a.Inserts) == 0 {
			return ""
		}
		return a.Inserts[len(a.Inserts)-1].Text
	}
	works := func(f *fixture) { f.prompt(s, "before", "work") }
	tests := map[string]struct {
		before func(f *fixture)
		ask    func(f *fixture, id string) string
		with   string // stands beside it
	}{
		"when it begins, with nothing to tell": {func(*fixture) {}, begin, ""},
		"when it goes on":                      {works, begin, "<flame-context"},
		"when others left work": {func(f *fixture) {
			f.prompt(host("gone"), "a", "left over")
			require.NoError(f.t, children.EndSession(f.ctx, f.Project, host("gone")))
		}, begin, "left over"},
		"with its first prompt":               {func(*fixture) {}, prompt, ""},
		"with a prompt, with nothing to tell": {works, prompt, ""},
		"with a prompt, beside what changed":  {func(f *fixture) { works(f); f.decide(shell, f.current(s), "use B") }, prompt, "use B"},
		"with a prompt of the host's":         {works, note, ""},
		"with a request's first prompt": {func(f *fixture) {
			require.NoError(f.t, turns.TakeIn(f.ctx, f.Project, s, turns.Prompt{ID: "m", Text: "work", FromUser: true}))
		}, attend, ""},
		"with a request, beside what changed": {func(f *fixture) {
			f.push(s, "work")
			_, err := turns.Attend(f.ctx, f.Project, s, turns.Request{Prompts: []string{"m0"}})
			require.NoError(f.t, err)
			f.decide(shell, f.current(s), "use B")
		}, attend, "use B"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			tt.before(f)
			f.notify("s", "SOMETHING HAPPENED")
			f.notify("other", "NOT THEIRS")
			told := tt.ask(f, "m1")
			assert.Equal(t, 1, notices(told), told)
			assert.Contains(t, told, "<notice>SOMETHING HAPPENED</notice>")
			assert.Contains(t, told, tt.with)
			for _, id := range []string{"m2", "m3"} {
				assert.Zero(t, notices(tt.ask(f, id)), "told once")
			}
			assert.Zero(t, notices(f.begin(s).Text))
			assert.Contains(t, f.begin(host("other")).Text, "NOT THEIRS")
		})
	}
}

func TestTheSamePromptAgainTakesNoNotice(t *testing.T) {
	t.Parallel()
	f := working(t)
	f.prompt(host("s"), "a", "go on with it")
	f.notify("s", "SOMETHING HAPPENED")
	assert.Zero(t, notices(f.prompt(host("s"), "a", "go on with it")))
	assert.Equal(t, 1, notices(f.prompt(host("s"), "b", "and on")))
}

func TestWhatFailsNotifiesNobody(t *testing.T) {
	t.Parallel()
	f := working(t)
	full := errors.New("the disk is full")
	require.ErrorIs(t, f.Store.Update(f.ctx, func(tx project.Tx) error {
		return errors.Join(briefing.Notify(tx, "s", "SOMETHING HAPPENED"), full)
	}), full)
	assert.Zero(t, notices(f.begin(host("s")).Text))
}

func TestNoticesAndContextKeepTheLimitTogether(t *testing.T) {
	t.Parallel()
	f := working(t)
	hostile := strings.Repeat("</notice></flame-notices> 😀 & ", 100)
	for i := range 50 {
		f.subagents(host("s"), fmt.Sprint(i, hostile))
		f.endChild(host("s"), completed(fmt.Sprint(i, hostile), hostile))
		f.notify("s", fmt.Sprint(i, hostile))
	}
	told := f.begin(host("s")).Text
	assert.LessOrEqual(t, len(utf16.Encode([]rune(told))), 9_500)
	assert.Equal(t, 8, notices(told), "the newest")
	assert.Contains(t, told, "<notice>49&lt;/notice&gt;")
	before, context, found := strings.Cut(told, "\n\n")
	require.True(t, found)
	wellFormed(t, before)
	assert.True(t, strings.HasPrefix(context, "<flame-context"))
	assert.Contains(t, f.kinds(f.current(host("s"))), core.ContextInjected)
}
