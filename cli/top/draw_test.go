package top

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/render"
	"flame/render/board"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// at is the time of the tests, and when all in them began.
const at core.Millis = 1_790_000_000_000

func used(tokens int64, usd float64) core.Usage { return core.Usage{TokensIn: tokens, CostUSD: usd} }

// aProject is a board with a bit of everything.
func aProject() board.Change {
	const minute = 60_000
	evil := core.OneLine("evil \x1b[31mred\x1b[0m\nnew line \u202eright to left שלום", 200)
	frames := []board.Row{
		{ID: "frame-1", Goal: "An older piece of work", Status: core.Completed, Host: "claude-code", From: at - 90*minute, Until: at - 80*minute,
			Self: used(400, 0.004), Total: used(400, 0.004)},
		{ID: "frame-2", Status: core.InProgress,
			Goal: "Make the login safe for people who share a machine, and tell them when somebody else signs in",
			Host: "claude-code", From: at - 10*minute, Self: used(1_200_000, 2.5), Total: used(3_400_000, 12.75)},
		{ID: "frame-3", Parent: "frame-2", Goal: "Find where sessions are kept", Status: core.Completed, Agent: "analyzer", Host: "claude-code",
			From: at - 9*minute, Until: at - 7*minute, Self: used(1_000_000, 4), Total: used(1_000_000, 4)},
		{ID: "frame-4", Parent: "frame-2", Status: core.InProgress, Agent: "coder",
			Goal:    "世界 wide 文字 in a goal that is long enough to be cut where the columns begin",
			AgentID: "agent-1", Host: "opencode", From: at - 5*minute, Self: used(999_500, 5), Total: used(1_200_000, 6.25)},
		{ID: "frame-5", Parent: "frame-4", Goal: evil, Status: core.Failed, Host: "opencode", From: at - 4*minute, Until: at - 3*minute,
			Self: used(200_500, 1.25), Total: used(200_500, 1.25)},
		{ID: "plan-6", Parent: "frame-2", Goal: "Write the tests", Status: core.Planned},
		{ID: "plan-7", Parent: "plan-6", Goal: "", Status: core.Invalidated},
		{ID: "frame-8", Goal: "Archived", Status: core.Completed, Archived: true},
	}
	deep := "frame-2"
	for i := range 12 {
		id := fmt.Sprintf("deep-%d", i)
		frames = append(frames, board.Row{ID: id, Parent: deep, Goal: fmt.Sprintf("Level %d", i+2), Status: core.Blocked})
		deep = id
	}
	return board.Change{
		Version: 1, Whole: true, Now: at, Frames: frames,
		Agents: []board.Agent{
			{ID: "agent-1", Frame: "frame-4", Type: "coder", Description: "Change the login", State: core.AgentActive, Asked: at - 5*minute,
				Tool: "Edit", Text: "I now write the check, \x1b]0;title\x07世界 and the rest of a long line that does not fit on any screen", Used: used(1_200_000, 6.25)},
			{ID: "agent-2", Type: "reviewer", Description: "Look at the change", State: core.AgentInitializing, Asked: at - 800},
			{ID: "agent-3", Type: "", Native: true, Description: "Explore the code", State: core.AgentSuspended, Asked: at - 2*minute},
			{ID: "agent-4", Type: "analyzer", Frame: "frame-3", State: core.AgentCompleted, Asked: at - 9*minute, Ended: at - 7*minute},
		},
		Sessions:  &[]board.Session{{ID: "s1", Title: "login", State: core.SessionIdle}, {ID: "s2", State: core.SessionActive}},
		Conflicts: &[]board.Conflict{{Convergence: "c1"}},
		Notices: &[]board.Notice{
			{At: at - 7*minute, Text: "analyzer ended (completed): Find where sessions are kept"}, {At: at - 3*minute, Text: "a limit", Bad: true},
		},
	}
}

// drawn returns what a screen shows: of each line the part that is looked at, without colours,
// and whether it is chosen.
func drawn(t *testing.T, s *Screen, width, height int) string {
	t.Helper()
	s.Width, s.Height = width, height
	s.Settle()
	lines := s.Lines()
	require.Len(t, lines, height)
	var b strings.Builder
	for _, line := range lines {
		mark, cells := " ", make([]string, width)
		for i := range cells {
			cells[i] = " "
		}
		for _, part := range line {
			assert.NotContains(t, part.text, "\x1b", "a text steers the terminal")
			if strings.Contains(string(part.look), string(chosen)) && part.at == 0 {
				mark = ">"
			}
			x := part.at
			for _, r := range part.text {
				switch wide := render.ColumnsOf(r); {
				case !assert.LessOrEqual(t, x+wide, width, "%q does not fit", part.text):
				case wide == 0:
					cells[x-1] += string(r)
				case wide == 2:
					cells[x], cells[x+1] = string(r), ""
					x += 2
				default:
					cells[x] = string(r)
					x++
				}
			}
		}
		b.WriteString(strings.TrimRight(mark+strings.Join(cells, ""), " ") + "\n")
	}
	return b.String()
}

func newScreen(c board.Change) *Screen {
	s := NewScreen("shop", time.UTC)
	s.Width, s.Height = 80, 24
	s.Take(c, nil)
	return s
}

func pressed(s *Screen, names ...string) *Screen {
	for _, name := range names {
		text := ""
		if len([]rune(name)) == 1 {
			text = name
		}
		s.Key(key{name, text})
		s.Settle()
	}
	return s
}

func TestScreens(t *testing.T) {
	t.Parallel()
	trouble := &board.Trouble{Kind: "unavailable", Message: "the store is locked by another process", Hint: "end it"}
	screens := map[string]*Screen{
		"tree":      pressed(newScreen(aProject()), "j", "j"),
		"cost":      pressed(newScreen(aProject()), "s", "G"),
		"folded":    pressed(newScreen(aProject()), " "),
		"asked":     pressed(newScreen(aProject()), "j", "j", "x"),
		"searching": pressed(newScreen(aProject()), "/", "w", "i", "x", "backspace", "d"),
		"notices":   pressed(newScreen(aProject()), "n"),
		"help":      pressed(newScreen(aProject()), "?"),
		"nothing":   newScreen(board.Change{Version: 1, Whole: true, Now: at}),
		"unread":    NewScreen("shop", time.UTC),
		"trouble":   newScreen(aProject()),
	}
	screens["trouble"].Take(board.Change{Version: 1, Now: at}, trouble)
	for name, s := range screens {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}, {20, 5}, {1, 1}} {
			got := drawn(t, s, size[0], size[1])
			if size[0] == 1 || name != "tree" && size[0] > 80 {
				continue
			}
			golden(t, fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), got)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "%s: go test ./cli/top -update", name)
}

// many is a project with n frames, each of every tenth with nine below it.
func many(n int) board.Change {
	c := board.Change{Version: 1, Whole: true, Now: at}
	for i := range n {
		row := board.Row{ID: fmt.Sprintf("frame-%d", i), Goal: fmt.Sprintf("Piece %d", i), Status: core.Completed, From: at - 1000, Total: used(int64(i), 1)}
		if i%10 != 0 {
			row.Parent = fmt.Sprintf("frame-%d", i/10*10)
		}
		c.Frames = append(c.Frames, row)
	}
	return c
}

func TestDrawingManyFramesIsFast(t *testing.T) {
	s := newScreen(many(20_000))
	made := testing.AllocsPerRun(3, func() {
		s.Take(board.Change{Version: 2, Now: at, Frames: []board.Row{{ID: "frame-0", Goal: "changed", Status: core.InProgress}}}, nil)
		pressed(s, "s", "pgdn")
		lines := s.Lines()
		require.Len(t, lines, s.Height)
	})
	assert.Less(t, made, 4000.0, "nothing is made anew for most frames")
}

func TestTheScreenNamesAgentsThatNeedAPerson(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		agent board.Agent
		want  string // empty: nothing waits
	}{
		"one at work":                    {board.Agent{State: core.AgentActive, Last: at - 60_000, Budget: 0.5}, ""},
		"one near its budget":            {board.Agent{Type: "tester", State: core.AgentActive, Last: at, Budget: 0.9}, "tester has used 90 % of its budget"},
		"a silent one":                   {board.Agent{State: core.AgentActive, Last: at - 240_000}, "agent is silent for 4.0m"},
		"a host's own subagent":          {board.Agent{State: core.AgentActive, Last: at - 240_000, Native: true}, ""},
		"one that waits for its turn":    {board.Agent{State: core.AgentSuspended, Last: at - 240_000}, ""},
		"one that ended over its budget": {board.Agent{State: core.AgentCompleted, Budget: 1.2}, ""},
		"one without output yet":         {board.Agent{State: core.AgentActive}, ""},
		"after a clock went back":        {board.Agent{State: core.AgentActive, Last: at + 500_000}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.agent.ID = "agent-1"
			shown := drawn(t, newScreen(board.Change{Version: 1, Whole: true, Now: at, Agents: []board.Agent{tt.agent}}), 80, 24)
			if tt.want == "" {
				assert.NotContains(t, shown, "waits for you")
			} else {
				assert.Contains(t, shown, "! waits for you: "+tt.want)
			}
		})
	}
}
