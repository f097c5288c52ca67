// Package hooktest tests the hooks of hosts: one suite of what events mean, which each host feeds
// with what its events look like.
package hooktest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/project/stack"
	"flame/project/view"
	"flame/store"
	"flame/tests/projecttest"
	"flame/tests/storetest"
	"flame/tools"
)

// A Fixture is a host, and what its events look like: a folder with hook.txtar, and with events that
// were recorded in real sessions.
//
// A file in hook.txtar is named after what it means ("prompt", "child ends"; several names are
// separated by commas). Each of its lines is an event, without the members in the file "every", which
// all events have. A line that begins with a path and ">" is added to a file instead, as the host
// writes it; one that begins with a name and "=" names a part of the answer before it.
// $1 to $4 stand for the arguments of a meaning, $session, $dir, $time and $n (a number of its own) for
// themselves, and any other name for a part of an answer. The file "lacks" lists the meanings for which
// the host has no event.
type Fixture struct {
	Host     hosts.Host
	meanings map[string][]string // lines
	ends     map[string]string   // what becomes of a subagent's frame, by meaning
	folder   string
}

// Of returns the fixture of a host from a folder.
func Of(t *testing.T, host hosts.Host, folder string) Fixture {
	archive, err := txtar.ParseFile(filepath.Join(folder, "hook.txtar"))
	require.NoError(t, err)
	f := Fixture{host, map[string][]string{}, map[string]string{}, folder}
	for _, file := range archive.Files {
		for name := range strings.SplitSeq(file.Name, ", ") {
			lines := slices.DeleteFunc(strings.Split(string(file.Data), "\n"), func(line string) bool { return line == "" })
			if strings.Contains(name, ": ") {
				f.ends[name], lines = lines[0], lines[1:]
			}
			f.meanings[name] = lines
		}
	}
	return f
}

// A Session plays events of a host on a project with a real store.
type Session struct {
	Fixture
	T     *testing.T
	P     *project.Project
	ID    string
	Dir   string // of the project
	Clock *core.Millis

	kept  *storetest.Counted
	named map[string]string // parts of answers
	n     *int
}

// New returns the session "main" of a new project.
func (f Fixture) New(t *testing.T) *Session {
	s := &Session{Fixture: f, T: t, ID: "main", Dir: t.TempDir(), Clock: new(core.Millis(1_766_600_000_000)), named: map[string]string{}, n: new(0)}
	s.kept = &storetest.Counted{Store: projecttest.Open(t, filepath.Join(s.Dir, ".flame"), store.Options{})}
	s.P = &project.Project{
		Store: s.kept, Dir: s.Dir, Log: slog.New(slog.DiscardHandler), Budget: core.DefaultBudget(), EventDays: 90, Fold: true, Plans: true, Turns: true,
		Subagents: core.DefaultSubagentConfig(), Autonomy: core.DefaultAutonomyConfig(),
		Now: func() core.Millis { *s.Clock++; return *s.Clock }, NewID: project.NewID,
		HostProcess: func() project.Process { return projecttest.HostProcess },
		StampKey:    func(context.Context, bool) (project.StampKey, error) { return projecttest.Key, nil },
	}
	return s
}

// As returns another session of the same project.
func (s *Session) As(id string) *Session {
	other := *s
	other.ID = id
	return &other
}

// Flame is what the hook works with: the real tools.
func (s *Session) Flame() hosts.HookEnv {
	return hosts.HookEnv{Project: s.P, OwnTool: func(name string) bool { return slices.Contains(tools.Names(), name) }}
}

// Raw takes in one event, in one transaction at most.
func (s *Session) Raw(event string) (answer string, err error) {
	before := s.kept.Transactions.Load()
	raw, err := s.Host.Events.Hook(context.Background(), s.Flame(), []byte(event))
	assert.LessOrEqual(s.T, s.kept.Transactions.Load()-before, int64(1), "%.300s", event)
	return string(raw), err
}

// Send takes in an event with these members, beside those of every event.
func (s *Session) Send(members map[string]any) string {
	raw, err := json.Marshal(members)
	require.NoError(s.T, err)
	return s.event(string(raw))
}

// event takes in an event in the host's form.
func (s *Session) event(text string) string {
	event := map[string]json.RawMessage{}
	for _, part := range s.meanings["every"] {
		require.NoError(s.T, json.Unmarshal([]byte(s.filled(part)), &event), part)
	}
	require.NoError(s.T, json.Unmarshal([]byte(text), &event), text)
	raw, err := json.Marshal(event)
	require.NoError(s.T, err)
	answer, err := s.Raw(string(raw))
	require.NoError(s.T, err, "%.300s", text)
	return answer
}

// Once has the host tell what a meaning stands for. It returns the last answer that says something.
func (s *Session) Once(meaning string, args ...string) string { return s.play(meaning, args, false) }

// Do is Once and the same again, which changes nothing.
func (s *Session) Do(meaning string, args ...string) string { return s.play(meaning, args, true) }

func (s *Session) play(meaning string, args []string, twice bool) (answer string) {
	s.T.Helper()
	lines, known := s.meanings[meaning]
	if !known {
		require.Contains(s.T, s.meanings["lacks"], meaning, "the fixture has no such event, and does not say that the host lacks it")
		s.T.Skip("the host has no such event: ", meaning)
	}
	*s.n++
	for _, line := range lines {
		line = s.filled(withArguments(line, args))
		if to := written.FindStringSubmatch(line); to != nil {
			s.Write(to[1], to[2]+"\n")
			continue
		}
		if part := naming.FindStringSubmatch(line); part != nil {
			s.named[part[1]] = gjson.Get(answer, part[2]).String()
			continue
		}
		if said := s.event(line); said != "" {
			answer = said
		}
		if twice {
			tree := s.Tree()
			s.event(line)
			require.Equal(s.T, tree, s.Tree(), "%s again", meaning)
		}
	}
	return answer
}

var (
	argument = regexp.MustCompile(`\$[1-4]`)
	variable = regexp.MustCompile(`\$[a-z]+(?:-\w+)?`)
	written  = regexp.MustCompile(`^(\S+) > (.*)$`)
	naming   = regexp.MustCompile(`^(\S+) = (.*)$`)
)

// quoted returns a text as JSON has it between quotes.
func quoted(text string) string {
	raw, _ := json.Marshal(text) // a text always has a form in JSON
	return string(raw[1 : len(raw)-1])
}

// withArguments fills in the arguments of a meaning.
func withArguments(line string, args []string) string {
	return argument.ReplaceAllStringFunc(line, func(found string) string {
		if i := int(found[1] - '1'); i < len(args) {
			return strings.ReplaceAll(quoted(args[i]), "$", `\u0024`)
		}
		return ""
	})
}

// filled fills in the variables of a line.
func (s *Session) filled(line string) string {
	return variable.ReplaceAllStringFunc(line, func(found string) string {
		switch name := found[1:]; name {
		case "session":
			return s.ID
		case "dir":
			return quoted(s.Dir)
		case "time":
			return s.Clock.Time().UTC().Format("2006-01-02T15:04:05.000Z")
		case "n":
			return fmt.Sprint(*s.n)
		case "set": // a member of a log
			return found
		default:
			value, known := s.named[name]
			require.True(s.T, known, "nothing is called %s: %s", found, line)
			return quoted(value)
		}
	})
}

// Write adds a text to a file, whose path begins at the project.
func (s *Session) Write(path, text string) {
	path = filepath.Join(s.Dir, path)
	require.NoError(s.T, os.MkdirAll(filepath.Dir(path), 0o755))
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	require.NoError(s.T, err)
	defer file.Close()
	_, err = file.WriteString(text)
	require.NoError(s.T, err)
}

// Lines adds lines of JSON to a file.
func (s *Session) Lines(path string, lines ...any) {
	for _, line := range lines {
		raw, err := json.Marshal(line)
		require.NoError(s.T, err)
		s.Write(path, string(raw)+"\n")
	}
}

// By is the session as a caller.
func (s *Session) By() project.Caller {
	return project.Caller{Session: s.ID, Host: s.Host.Name, Trust: project.TrustHook}
}

// Push starts a frame below the session's.
func (s *Session) Push(goal string) core.Frame {
	frame, err := stack.Push(context.Background(), s.P, s.By(), goal, "")
	require.NoError(s.T, err)
	return frame
}

// Pop completes the session's frame; later says that it waits for the summary of a compaction.
func (s *Session) Pop(summary string, later bool) {
	_, err := stack.Pop(context.Background(), s.P, s.By(), stack.PopArgs{Status: core.Completed, Summary: summary, GenerateSummary: later})
	require.NoError(s.T, err)
}

// Current returns the current frame of the session, or with an id of the subagent of this id.
func (s *Session) Current(agent string) core.Frame {
	by := s.By()
	if agent != "" {
		by.Session, by.Parent = agent, s.ID
	}
	frame, _, err := projecttest.Current(context.Background(), s.P, by)
	require.NoError(s.T, err)
	return frame
}

// Frames returns the frames of the project, as an outline.
func (s *Session) Frames() (frames []core.Frame, depths []int) {
	tree, err := view.TreeOf(context.Background(), s.P, project.Caller{Host: project.CommandLine}, view.TreeArgs{})
	require.NoError(s.T, err)
	for _, line := range tree.Lines {
		frames, depths = append(frames, line.Frame), append(depths, int(line.Depth))
	}
	return frames, depths
}

// Tree draws the frames without ids: status, goal and summary, by depth.
func (s *Session) Tree() string {
	var b strings.Builder
	frames, depths := s.Frames()
	for i, f := range frames {
		b.WriteString(strings.Repeat("  ", depths[i]) + strings.TrimSuffix(fmt.Sprintf("%s %s: %s", f.Status, f.Goal, f.Summary), ": ") + "\n")
	}
	return b.String()
}
