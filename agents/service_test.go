package agents_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/definition"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/project/turns"
	"flame/project/view"
	"flame/store"
	"flame/tests/hoststest"
	"flame/tests/processes"
	"flame/tests/projecttest"
	"flame/tests/repository"
	"flame/tests/storetest"
)

// A service is one project's, with supervisors and hosts in processes of their
// own, as in earnest.
type service struct {
	*agents.Agents
	t     *testing.T
	ctx   context.Context
	shift atomic.Int64 // ms that this process's clock is ahead
	idle  bool         // its agents have no processes
}

// user is a session of a person, which hooks vouch for.
var user = project.Caller{Session: "user", Host: "claude-code", Trust: project.TrustHook}

// newService makes a project in which a person's session works, with these
// definitions of the person's own beside the built-in ones.
func newService(t *testing.T, definitions ...string) *service {
	t.Helper()
	return newServiceWith(t, func(*kept) {}, definitions...)
}

func newServiceWith(t *testing.T, change func(*kept), definitions ...string) *service {
	t.Helper()
	data := filepath.Join(t.TempDir(), dataFolder)
	shared := kept{Bounds: plan.DefaultBounds()}
	change(&shared)
	require.NoError(t, os.MkdirAll(filepath.Join(data, "agents"), 0o700))
	raw, err := json.Marshal(shared)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(data, keptFile), raw, 0o600))
	a, err := newAgents(data, shared)
	require.NoError(t, err)
	s := &service{Agents: a, t: t, ctx: context.Background()}
	a.Project.Now = func() core.Millis { return core.MillisOf(time.Now()) + core.Millis(s.shift.Load()) }
	for i, definition := range definitions {
		name := strings.TrimSpace(strings.TrimPrefix(strings.SplitN(definition, "\n", 2)[0], "name:"))
		require.NoError(t, os.WriteFile(filepath.Join(data, "agents", name+".md"), []byte("---\n"+definition+"\n---\nDo it.\n"), 0o600), i)
	}
	t.Cleanup(s.close)
	_, err = turns.Begin(s.ctx, a.Project, user, turns.Prompt{ID: "p1", Text: "Build a login", FromUser: true})
	require.NoError(t, err)
	require.NoError(t, a.Project.NoteStanding(s.ctx, user, project.SessionPermissions{Mode: "acceptEdits"}))
	return s
}

// ship makes definitions that come with the repository.
func (s *service) ship(definitions ...string) {
	s.t.Helper()
	for _, definition := range definitions {
		name := strings.TrimSpace(strings.TrimPrefix(strings.SplitN(definition, "\n", 2)[0], "name:"))
		repository.Write(s.t, s.Dir, map[string]string{"shipped/" + name + ".md": "---\n" + definition + "\n---\nDo it.\n"})
	}
}

// newAgents is the service on a data folder, as one process has it.
func newAgents(data string, shared kept) (*agents.Agents, error) {
	program, err := os.Executable()
	dir := filepath.Dir(data)
	return &agents.Agents{Setup: plan.Setup{
		Project: &project.Project{
			Store: twice(store.Open(data, projecttest.Copied(data, store.Options{}))), Dir: dir, Log: slog.New(slog.DiscardHandler), Budget: core.DefaultBudget(),
			Subagents: core.DefaultSubagentConfig(), Autonomy: core.DefaultAutonomyConfig(),
			Now: func() core.Millis { return core.MillisOf(time.Now()) }, NewID: project.NewID,
		},
		Data: data, Dir: dir, Bounds: shared.Bounds,
		Hosts: hoststest.Reached(map[string]hosts.Client{"claude-code": fakeHost{}, "opencode": fakeHost{}}), Machine: hoststest.With("claude"),
		Catalog: func(string) definition.Catalog {
			return definition.Load(hoststest.Known(), []definition.Dir{
				{Path: filepath.Join(data, "agents"), Kind: definition.User},
				{Path: filepath.Join(dir, "shipped"), Kind: definition.Project, Within: dir},
			})
		},
	}, Root: dir, Program: program, KeepAfterSession: shared.Keep, Start: supervise.Start}, err
}

// startNone lets agents be admitted whose processes the test does not need.
func (s *service) startNone() { s.Start, s.idle = noStart, true }

// close ends agents that a test has left running.
func (s *service) close() {
	runs, err := s.Running(s.ctx)
	assert.NoError(s.t, err)
	for _, run := range runs {
		_, err := s.Cancel(s.ctx, user, run.ID)
		assert.NoError(s.t, err)
	}
	for _, run := range runs {
		if !s.idle {
			supervise.KillLeftovers(run.ID, "")
		}
	}
	closer, ok := s.Project.Store.(interface{ Close() error })
	require.True(s.t, ok)
	assert.NoError(s.t, closer.Close())
}

// spawn starts a builder for the user's session that does these steps.
func (s *service) spawn(steps string) record.Agent {
	s.t.Helper()
	return s.request(user, plan.Request{Type: "builder", Prompt: steps})
}

func (s *service) request(by project.Caller, r plan.Request) record.Agent {
	s.t.Helper()
	run, err := s.Spawn(s.ctx, by, r)
	require.NoError(s.t, err)
	return run
}

// as is the caller that an agent's own session is.
func as(run record.Agent) project.Caller {
	return project.Caller{Session: run.Session, Host: run.Host, Agent: run.ID, Trust: project.TrustHook}
}

// patience is how long tests wait for other processes.
const patience = time.Minute

// ended waits for an agent's end.
func (s *service) ended(id string) record.Agent {
	s.t.Helper()
	ctx, stop := context.WithTimeout(s.ctx, patience)
	defer stop()
	run, err := s.Wait(ctx, id, func(record.Agent) {})
	require.NoError(s.t, err)
	if !assert.True(s.t, run.State.Ended(), "%s is still %s", id, run.State) {
		log, _ := os.ReadFile(filepath.Join(s.Folder(id), supervise.LogFile))
		s.t.Log(string(log))
		s.t.FailNow()
	}
	return run
}

// until waits until an agent is in this state.
func (s *service) until(id string, state core.AgentState) record.Agent {
	s.t.Helper()
	var run record.Agent
	s.eventually(func() (ok bool) {
		var err error
		run, err = s.Find(s.ctx, id)
		require.NoError(s.t, err)
		return run.State == state
	}, "%s does not become %s", id, state)
	return run
}

func (s *service) eventually(ok func() bool, words ...any) {
	s.t.Helper()
	require.Eventually(s.t, ok, patience, 20*time.Millisecond, words...)
}

// frame reads a frame.
func (s *service) frame(id string) core.Frame {
	s.t.Helper()
	details, err := view.DetailsOf(s.ctx, s.Project, project.Caller{Host: project.CommandLine}, id)
	require.NoError(s.t, err)
	return details.Frame
}

// events returns those of an agent, oldest first; only those of these kinds, if any.
func (s *service) events(id string, kinds ...string) []core.Event {
	s.t.Helper()
	events, err := view.Events(s.ctx, s.Project, project.EventQuery{SubagentID: id, Kinds: kinds})
	require.NoError(s.t, err)
	return events
}

// data is what an event tells.
func data(t *testing.T, e core.Event) (told map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(e.Data, &told))
	return told
}

// launched is how the host of an agent was to be started last.
func (s *service) launched(id string) (launch hosts.Launch) {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.Folder(id), launchFile))
	require.NoError(s.t, err)
	require.NoError(s.t, json.Unmarshal(raw, &launch))
	return launch
}

// session reads a session; zero for an unknown session.
func (s *service) session(id string) (session core.Session) {
	s.t.Helper()
	require.NoError(s.t, s.Project.Store.View(s.ctx, func(tx project.Tx) (err error) {
		session, err = tx.Session(id)
		return err
	}))
	return session
}

// over checks that an agent's end is complete: its frame has ended, nobody has
// anything left to do, no process is left.
func (s *service) over(id string, state core.AgentState, frame core.Status) record.Agent {
	s.t.Helper()
	run := s.ended(id)
	require.Equal(s.t, state, run.State, "%+v", run.Outcome)
	assert.Equal(s.t, frame, s.frame(run.Frame).Status)
	assert.Len(s.t, s.events(id, core.SubagentSpawned), 1)
	assert.Len(s.t, s.events(id, core.SubagentStop), 1, "the end is reported once")
	s.eventually(func() bool { return len(worksFor(s.t, id)) == 0 }, "processes of %s are left", id)
	return run
}

// worksFor returns the processes that carry an agent's mark.
func worksFor(t *testing.T, id string) []int {
	t.Helper()
	return processes.With(t, core.AgentVariable+"="+id)
}

// noStart stands for a supervisor that never begins.
func noStart(context.Context, supervise.StartSpec) (supervise.Process, error) {
	return supervise.Process{}, nil
}

// touch makes an empty file in the folder that agents work in.
func (s *service) touch(name string) {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(filepath.Join(s.Dir, name), nil, 0o600))
}

// twice runs the function of every Update twice.
func twice(kept *store.Store) project.Store { return replayed{storetest.Twice{Store: kept}, kept} }

type replayed struct {
	storetest.Twice
	io.Closer
}
