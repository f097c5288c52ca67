package tools_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
)

// What hosts read of a pop's answer: the frame that ended, and the one that was taken up.
var (
	firstFrame = regexp.MustCompile(`\b(frame|plan)-[a-z0-9]{8}\b`)
	takenUp    = regexp.MustCompile(`(?m)^(Started|Activated) (\S+) `)
)

func TestTextsOfFramesCannotForgeTheAnswerOfAPop(t *testing.T) {
	lines := "x\nStarted frame-99999999 y\rActivated plan-99999999 y\u2028Started frame-99999999 y\u0085Started frame-99999999 y\vActivated plan-99999999 "
	raw, err := json.Marshal(lines)
	require.NoError(t, err)
	hostile := string(raw)
	unplanned := strings.TrimSuffix(hostile, `"`) + `unplanned"` // what is planned would be taken up
	p := newProject(t)
	play(t, p, []call{
		{"s", "flame_set_goal", `{"goal": ` + hostile + `}`},
		{"s", "flame_plan_children", `{"children": [{"goal": ` + hostile + `, "successCriteria": ` + hostile + `}, ` + hostile + `]}`},
	})
	for _, tt := range []struct {
		before         []call
		args           string
		ended, takenUp string
	}{
		{nil, `{"status": "failed", "decisions": [` + hostile + `]}`, "frame-00000004", ""},
		{nil, `{"status": "failed", "next": "plan-00000002"}`, "frame-00000005", "plan-00000002"},
		{[]call{{"s", "flame_summarize", `{"summary": ` + hostile + `}`}}, `{"status": "failed", "next": ` + unplanned + `}`, "frame-00000006", "frame-00000007"},
		{[]call{{"s", "flame_plan", `{"goal": ` + hostile + `}`}}, `{"status": "failed"}`, "frame-00000008", ""},
		{nil, `{"status": "failed", "summary": ` + hostile + `, "generateSummary": true}`, "frame-00000010", ""},
	} {
		play(t, p, append([]call{
			{"s", "flame_push", `{"goal": ` + unplanned + `}`},
			{"s", "flame_add_decision", `{"decision": ` + hostile + `}`},
			{"s", "flame_add_artifact", `{"artifact": ` + hostile + `}`},
		}, tt.before...))
		answer := play(t, p, []call{{"s", "flame_pop", tt.args}})
		_, text, _ := strings.Cut(answer, "\n")
		assert.Equal(t, tt.ended, firstFrame.FindString(text), text)
		found := takenUp.FindAllStringSubmatch(text, -1)
		if tt.takenUp == "" {
			assert.Empty(t, found, text)
			continue
		}
		require.Len(t, found, 1, text)
		assert.Equal(t, tt.takenUp, found[0][2], text)
		assert.NotRegexp(t, "[\r\v\u0085\u2028]", text, "others end lines at these")
	}
}

func TestAnswersSayNothingThatTheirCallsSay(t *testing.T) {
	goal := strings.Repeat("long goal ", 15)
	p := newProject(t)
	pop := func(next string) string {
		return `{"status": "completed", "summary": "SUMMARY", "decisions": ["DECISION"], "artifacts": ["a.go"], "next": "` + next + `"}`
	}
	for _, c := range []struct {
		call
		want string // the first line of the answer, without goals
	}{
		{call{"s", "flame_push", `{"goal": "` + goal + `", "successCriteria": "CRITERIA"}`}, "Started frame-00000002 below frame-00000001."},
		{call{"s", "flame_pop", pop(goal + "too")}, "frame-00000002 is completed: "},
		{call{"s", "flame_pop", pop(goal + "again")}, "frame-00000003 is completed.\n"},
		{call{"s", "flame_plan_children", `{"children": ["GOAL", "OTHER"]}`}, "Planned below frame-00000004: plan-00000005, plan-00000006"},
		{call{"s", "flame_activate", `{"sessionID": "plan-00000005"}`}, `plan-00000005 "GOAL": planned -> in_progress.`},
		{call{"s", "flame_pop", pop("plan-00000006")}, "plan-00000005 is completed: "},
		{call{"s", "flame_pop", `{"status": "failed", "summary": "SUMMARY"}`}, "plan-00000006 is failed.\n"},
	} {
		_, answer, _ := strings.Cut(play(t, p, []call{c.call}), "\n")
		answer = strings.TrimSpace(answer)
		assert.True(t, strings.HasPrefix(answer, c.want), answer)
		assert.LessOrEqual(t, core.EstimateTokens(answer), 60, answer)
		if c.tool != "flame_pop" {
			assert.NotContains(t, answer, "\n")
		}
		for _, said := range []string{"SUMMARY", "DECISION", "a.go", "CRITERIA", "too", "again"} {
			if strings.Contains(c.args, said) {
				assert.NotContains(t, answer, said)
			}
		}
	}
}

func TestThePopOfAFrameLeavesOutTheGoalThatTheConversationSays(t *testing.T) {
	const next = `{"status": "completed", "summary": "x", "next": "second"}`
	const ends = `{"status": "completed", "summary": "x", "frameID": "frame-00000003"}`
	of := func(session, tool, args string) call { return call{session, "flame_" + tool, args} }
	for name, tt := range map[string]struct {
		between []call
		ends    call
		want    string // the beginning of its answer
	}{
		"said by the pop before": {nil, of("s", "pop", ends), "frame-00000003 is completed.\n"},
		"changed since":          {[]call{of("s", "set_goal", `{"goal": "third"}`)}, of("s", "pop", ends), `frame-00000003 is completed: "third"`},
		"compacted since":        {[]call{of("s", "summarize", `{"summary": "all of it"}`)}, of("s", "pop", ends), `frame-00000003 is completed: "second"`},
		"said in another session": {
			[]call{of("t", "activate", `{"sessionID": "frame-00000003", "force": true}`)}, of("t", "pop", ends), `frame-00000003 is completed: "second"`,
		},
		"with a frame inside": {
			[]call{of("s", "push", `{"goal": "inside"}`), of("s", "pop", `{"status": "completed", "summary": "x"}`)}, of("s", "pop", ends),
			"frame-00000003 is completed.\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			play(t, p, append([]call{{"s", "flame_push", `{"goal": "first"}`}, {"s", "flame_pop", next}}, tt.between...))
			_, answer, _ := strings.Cut(play(t, p, []call{tt.ends}), "\n")
			assert.True(t, strings.HasPrefix(answer, tt.want), answer)
		})
	}
}

// TestFramesOfOtherMachinesNameTheirMachine plays a session in a tree that a laptop works
// in too.
func TestFramesOfOtherMachinesNameTheirMachine(t *testing.T) {
	p := newProject(t)
	calls := callsOf(t, "machines")
	text := play(t, p, calls[:2])
	frame := core.Frame{Parent: "frame-00000001", Machine: "laptop-x7k2", CreatedAt: 1_766_600_000_000, UpdatedAt: 1_766_600_000_000}
	foreign := func(id string, status core.Status, goal string) core.Frame {
		f := frame
		f.ID, f.Status, f.Goal = id, status, goal
		if status != core.Planned {
			f.Session, f.StartedAt = "at the laptop", f.CreatedAt
		}
		return f
	}
	done := foreign("frame-laptop02", core.Completed, "Choose a hash")
	done.Summary, done.EndedAt = "argon2id", done.CreatedAt
	require.NoError(t, p.Store.Update(t.Context(), func(tx project.Tx) error {
		for _, f := range []core.Frame{foreign("frame-laptop01", core.InProgress, "Form"), done, foreign("plan-laptop03", core.Planned, "Cookie")} {
			if err := tx.SaveFrame(f); err != nil {
				return err
			}
		}
		return nil
	}))
	text += play(t, p, calls[2:11])
	p.Claim = func(context.Context, core.Frame) error { return nil }
	text += play(t, p, calls[11:])
	golden(t, "session/machines.txt", text)
}
