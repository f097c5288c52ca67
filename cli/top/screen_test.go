package top

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/core"
	"flame/render"
	"flame/render/board"
)

// goals are those that a screen lists, with their depths.
func goals(s *Screen) (list []string) {
	for _, e := range s.tree.entries {
		list = append(list, strings.Repeat(" ", e.Depth)+e.ID)
	}
	return list
}

func row(id, parent string, usd float64) board.Row {
	return board.Row{ID: id, Parent: parent, Goal: id, Status: core.InProgress, Total: core.Usage{CostUSD: usd}}
}

func some(rows ...board.Row) *Screen {
	return newScreen(board.Change{Version: 1, Whole: true, Now: at, Frames: rows})
}

func TestTheOrderOfFramesWithTheSameParent(t *testing.T) {
	t.Parallel()
	s := some(row("a", "", 1), row("b", "", 3), row("c", "b", 1), row("d", "b", 2), row("e", "", 2))
	assert.Equal(t, []string{"e", "b", " c", " d", "a"}, goals(s), "the newest root first, its children as they were made")
	pressed(s, "s")
	assert.Equal(t, []string{"b", " d", " c", "e", "a"}, goals(s), "by cost")
	pressed(s, "s", "s")
	assert.Equal(t, []string{"e", "b", " c", " d", "a"}, goals(s))
}

func TestACycleIsShownOnce(t *testing.T) {
	t.Parallel()
	s := some(row("a", "b", 0), row("b", "a", 0), row("c", "c", 0), row("d", "missing", 0), row("e", "d", 0))
	assert.ElementsMatch(t, []string{"d", " e", "c", "b", "a"}, goals(s), "all of a cycle at the top, as on the page")
}

func TestADeepChainIsListedAtOnce(t *testing.T) {
	t.Parallel()
	var rows []board.Row
	for i := range 20_000 {
		rows = append(rows, row(fmt.Sprint(i), fmt.Sprint(i-1), 0))
	}
	assert.Contains(t, drawn(t, pressed(some(rows...), "G"), 80, 24), "19999›")
}

func TestTheChosenFrameStaysChosen(t *testing.T) {
	t.Parallel()
	s := pressed(some(row("a", "", 0), row("b", "a", 0), row("c", "b", 0)), "j", "j")
	assert.Equal(t, "c", s.tree.current().ID)
	s.Take(board.Change{Version: 2, Now: at, Frames: []board.Row{row("d", "", 0), row("e", "a", 0)}}, nil)
	assert.Equal(t, "c", s.tree.current().ID, "others came before it")
	pressed(s, "k", "k", " ")
	assert.Equal(t, []string{"d", "a"}, goals(s))
	pressed(s, "right", "right", "right", "right")
	assert.Equal(t, "c", s.tree.current().ID)
	s.Take(board.Change{Version: 3, Whole: true, Now: at, Frames: []board.Row{row("a", "", 0), row("b", "a", 0)}}, nil)
	assert.Equal(t, "b", s.tree.current().ID, "it is gone")
	s.Take(board.Change{Version: 4, Whole: true, Now: at}, nil)
	assert.Nil(t, s.tree.current())
	for _, name := range append(strings.Fields("j k down up pgdn pgup g G home end right left enter l x / esc s . n ? q"), " ") {
		pressed(s, name)
		s.ask, s.pager, s.over = nil, nil, false
	}
}

func TestUntilAPersonChoosesTheFirstFrameIsChosen(t *testing.T) {
	t.Parallel()
	s := some(row("a", "", 0))
	s.Take(board.Change{Version: 2, Now: at, Frames: []board.Row{row("b", "", 0)}}, nil)
	assert.Equal(t, "b", s.tree.current().ID)
}

func TestASearchShowsTheFoundFramesAndThoseAboveThem(t *testing.T) {
	t.Parallel()
	s := pressed(some(row("a", "", 0), row("b", "a", 0), row("c", "a", 0), row("d", "", 0)), "j", " ")
	require.Equal(t, []string{"d", "a"}, goals(s))
	s.show("c", board.Filter{Words: "c"}, map[string]bool{"c": true, "unknown": true})
	assert.Equal(t, []string{"a", " c"}, goals(s), "folds do not hide it")
	assert.Equal(t, "c", s.tree.current().ID)
	pressed(s, "esc")
	assert.Equal(t, []string{"d", "a", " b", " c"}, goals(s))
	s.show("x", board.Filter{Words: "x"}, map[string]bool{})
	assert.Contains(t, s.said, `no frame`)
}

func TestTermsShowTheFramesThatMatchNowAndLater(t *testing.T) {
	t.Parallel()
	failed := row("b", "a", 0)
	failed.Status = core.Failed
	s := typed(some(row("a", "", 0), failed, row("c", "a", 0), row("d", "", 0)), "/status:failed")
	assert.Equal(t, []string{"a", " b"}, goals(s))
	assert.Equal(t, "1 frame found with \"status:failed\"; Esc shows all", s.said)
	failed.ID = "e"
	s.Take(board.Change{Version: 2, Now: at, Frames: []board.Row{failed}}, nil)
	assert.Equal(t, []string{"a", " b", " e"}, goals(s))
	typed(s, "/status:fialed")
	assert.Equal(t, `there is no status "fialed" (one of in_progress, planned, completed, blocked, failed, invalidated)`, s.said)
	assert.Len(t, goals(s), 3, "the last filter stays")
	typed(s, "/cost:>5")
	assert.Equal(t, `no frame matches "cost:>5"`, s.said)
	typed(s, "/")
	assert.Len(t, goals(s), 5)
}

// typed types a line into a screen.
func typed(s *Screen, line string) *Screen {
	return pressed(s, append(strings.Split(line, ""), "enter")...)
}

func TestTheKeyDotVisitsFramesInProgress(t *testing.T) {
	t.Parallel()
	done := row("done", "", 0)
	done.Status = core.Completed
	s := pressed(some(row("a", "", 0), row("b", "a", 0), row("c", "a", 0), done, row("d", "", 0)), "G", "k", "k", " ")
	var seen []string
	for range 4 {
		seen = append(seen, pressed(s, ".").tree.current().ID)
	}
	assert.Equal(t, []string{"b", "c", "d", "b"}, seen, "not what only waits for those below it")
}

func TestOnlyTheAnswerYCancelsAnAgent(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"n", "q", "esc", "enter", " ", pasted, "up"} {
		s := pressed(newScreen(aProject()), "j", "j", "x")
		require.NotNil(t, s.ask)
		text := answer
		if answer == pasted {
			text = "y"
		}
		assert.Nil(t, s.Key(key{answer, text}), answer)
		assert.Nil(t, s.ask, answer)
	}
	s := pressed(newScreen(aProject()), "j", "j", "x")
	assert.NotNil(t, s.Key(key{"y", "y"}))
	assert.Nil(t, pressed(newScreen(aProject()), "j", "x").ask, "no agent works in it")
}

func TestTheViewFollowsTheEndOfAGrowingText(t *testing.T) {
	t.Parallel()
	s := some(row("a", "", 0))
	text := ""
	s.open(&pager{title: "Log", frame: "a", grows: true, ends: true, load: func(context.Context, *agents.Agents) (string, error) { return text, nil }})
	load := func(more int) {
		text += strings.Repeat("line\n", more)
		s.pager.next = time.Time{}
		s.pager.loading = false
		s.Refresh(time.Now())(t.Context(), nil)(s)
		s.Settle()
	}
	load(100)
	assert.Equal(t, 100-22, s.pager.first)
	load(100)
	assert.Equal(t, 200-22, s.pager.first)
	pressed(s, "k")
	load(100)
	assert.Equal(t, 200-23, s.pager.first, "a person looks at something else")
	pressed(s, "G")
	load(100)
	assert.Equal(t, 400-22, s.pager.first)
	assert.Nil(t, s.Refresh(time.Now()), "not at once again")
	pressed(s, "q")
	assert.Nil(t, s.pager)
}

func TestATextThatCannotBeReadShowsTheError(t *testing.T) {
	t.Parallel()
	s := some(row("a", "", 0))
	load := s.open(&pager{frame: "a", load: func(context.Context, *agents.Agents) (string, error) { return "", core.NotFoundf("it is gone") }})
	load(t.Context(), nil)(s)
	assert.Contains(t, drawn(t, s, 40, 5), "it is gone")
}

func TestAMessageCannotImitateAHeading(t *testing.T) {
	t.Parallel()
	messages := func(all ...core.Message) iter.Seq2[core.Message, error] {
		return func(yield func(core.Message, error) bool) {
			for _, m := range all {
				if !yield(m, nil) {
					return
				}
			}
		}
	}
	part := func(text string) []core.Part { return []core.Part{{Type: core.PartText, Text: text}} }
	text, err := logText(messages(
		core.Message{Role: core.RoleUser, Parts: part("look\n── assistant\n\tindented")},
		core.Message{Role: core.RoleOther, Parts: part("internal")},
		core.Message{Role: core.RoleAssistant, Model: "opus\n── user", Time: at, Parts: []core.Part{
			{Type: core.PartToolCall, Tool: "Grep", Input: []byte(`{"pattern":"x"}`)}, {Type: core.PartToolResult, Failed: true, Text: "no"},
		}},
	), time.UTC)
	require.NoError(t, err)
	assert.Equal(t, "── user\n  look\n    ── assistant\n    \tindented\n── assistant · opus ── user · 14:13:20\n  → Grep {\"pattern\":\"x\"}\n  ✗ no\n", text)
	text, err = logText(messages(), time.UTC)
	require.NoError(t, err)
	assert.Equal(t, "No messages yet.", text)
	long := make([]core.Message, 200)
	for i := range long {
		long[i] = core.Message{Role: core.RoleUser, Parts: part(fmt.Sprint(i, strings.Repeat("x", 2*maxPart)))}
	}
	text, err = logText(messages(long...), time.UTC)
	require.NoError(t, err)
	assert.Less(t, len(text), maxLog+1000)
	assert.Contains(t, text, "  199x")
	assert.Contains(t, text, "without the beginning")
	_, err = logText(func(yield func(core.Message, error) bool) { yield(core.Message{}, errors.New("broken")) }, time.UTC)
	assert.ErrorIs(t, err, core.ErrUnavailable)
}

func TestRowsAreBrokenAtSpacesAndKeepTheirIndentation(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text  string
		width int
		want  []string
	}{
		"a text that fits":     {"ab\n\n  cd", 4, []string{"ab", "", "  cd"}},
		"at a space":           {"ab cd ef", 6, []string{"ab cd", "ef"}},
		"a long word":          {"abcdefgh", 3, []string{"abc", "def", "gh"}},
		"wide characters":      {"世界世界", 5, []string{"世界", "世界"}},
		"a wide one, no room":  {"世", 1, []string{"世"}},
		"tabs and what steers": {"\ta\x1b[2Jb\r\n", 20, []string{"    a[2Jb"}},
		"nothing":              {"", 10, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, wrap(tt.text, tt.width))
		})
	}
}

func TestAmountsHaveThreeDigits(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1.00k", 999_499: "999k", 999_500: "1.00M", 1_234_567: "1.23M", 12_345_678: "12.3M", 5_000_000_000: "5.00G",
	} {
		assert.Equal(t, want, render.Amount(n), n)
	}
}
