package agents_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/changes"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/render"
)

// elsewhere is a hub without a network.
type elsewhere struct {
	run func(ctx context.Context, w record.Task, see func(agents.RemoteProgress)) error

	mu        sync.Mutex
	cancelled []string
	left      map[string]string // what a worker left, by name
}

func (e *elsewhere) Ready() error { return nil }

func (e *elsewhere) Unserved(queue string) string {
	if queue == "typo" {
		return "no worker serves the queue typo now"
	}
	return ""
}

func (e *elsewhere) Run(ctx context.Context, errand agents.RemoteTask, see func(agents.RemoteProgress)) error {
	text, err := json.Marshal(errand.Work)
	if err != nil {
		return err
	}
	w, err := record.ReadWork(text)
	if err != nil {
		return err
	}
	return e.run(ctx, w, see)
}

func (e *elsewhere) Cancel(_ context.Context, _, why string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cancelled = append(e.cancelled, why)
	return nil
}

func (e *elsewhere) toldToStop() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.cancelled) > 0
}

func (e *elsewhere) Fetch(_ context.Context, name string, to io.Writer, _ int64) error {
	text, known := e.left[name]
	if !known {
		return core.NotFoundf("there is no %s", name)
	}
	_, err := io.WriteString(to, text)
	return err
}

// joined returns a service whose project has joined a hub, with workers that do this.
func joined(t *testing.T, run func(ctx context.Context, w record.Task, see func(agents.RemoteProgress)) error) (*service, *elsewhere) {
	t.Helper()
	s, e := newService(t), &elsewhere{run: run, left: map[string]string{}}
	s.Remote = e
	var following sync.WaitGroup
	t.Cleanup(following.Wait)
	s.Start = func(_ context.Context, seat supervise.StartSpec) (supervise.Process, error) {
		following.Go(func() {
			assert.NoError(t, s.Supervise(context.Background(), seat.Agent, slog.New(slog.DiscardHandler)))
		})
		return supervise.Self(), nil
	}
	return s, e
}

// away asks for an agent on another machine.
func (s *service) away(steps string) record.Agent {
	s.t.Helper()
	return s.request(user, plan.Request{Type: "builder", Prompt: steps, On: "gpu"})
}

func TestAnAgentElsewhereLooksLikeALocalAgent(t *testing.T) {
	t.Parallel()
	var did record.Task
	go1 := make(chan struct{})
	s, e := joined(t, func(ctx context.Context, w record.Task, see func(agents.RemoteProgress)) error {
		did = w
		see(agents.RemoteProgress{})
		half := supervise.Progress{Session: "theirs", Text: "half", Turns: 1, Usage: core.Usage{TokensIn: 100, TokensOut: 10, CostUSD: 0.5}}
		mode := record.ModeChoice{Effective: hosts.ModePlan, CappedBy: "worker"}
		see(agents.RemoteProgress{Begun: true, Report: record.Report{Machine: "box-1", Progress: half, Mode: mode}})
		select {
		case <-go1:
		case <-ctx.Done():
			return ctx.Err()
		}
		o := &supervise.Outcome{State: core.AgentCompleted, Reason: "done", Text: "all of it", Progress: half}
		o.Usage.CostUSD = 0.75
		see(agents.RemoteProgress{Begun: true, Over: true, Report: record.Report{
			Machine: "box-1", Progress: o.Progress, Mode: mode, Outcome: o, Output: "out", Patch: "patch", Changes: []changes.Change{{Path: "a.go"}},
		}})
		return nil
	})
	e.left["out"], e.left["patch"] = `{"type":"system"}`+"\n", "diff --git a/a.go b/a.go\n"
	run := s.away("say half of it; done all of it")
	assert.Equal(t, "gpu", run.Queue)
	assert.Empty(t, run.Session, "its session belongs to the worker's machine")
	run = s.until(run.ID, core.AgentActive)
	s.eventually(func() bool {
		run = s.until(run.ID, core.AgentActive)
		return run.Progress.Text == "half"
	})
	assert.Equal(t, "box-1", run.Worker)
	assert.Equal(t, record.ModeChoice{Requested: run.Mode.Requested, Effective: hosts.ModePlan, CappedBy: "worker"}, run.Mode)
	close(go1)
	run = s.over(run.ID, core.AgentCompleted, core.Completed)
	assert.Equal(t, "all of it", run.Outcome.Text)
	assert.Equal(t, []changes.Change{{Path: "a.go"}}, run.Changes)
	patch, err := os.ReadFile(record.Patch(s.Data, run.ID))
	require.NoError(t, err)
	assert.Equal(t, e.left["patch"], string(patch))
	assert.FileExists(t, filepath.Join(s.Folder(run.ID), supervise.OutputFile))
	assert.Zero(t, s.frame(run.Frame).Usage, "the worker's machine charges the frame")
	require.NoError(t, s.Project.Store.View(s.ctx, func(tx project.Tx) error {
		tree, err := record.Trees.Find(tx, run.Tree)
		assert.InDelta(t, 0.75, tree.CostUSD, 1e-9, "the asking machine enforces the limits of the tree")
		return err
	}))

	raw, err := json.Marshal(did)
	require.NoError(t, err)
	assert.NotContains(t, string(raw), s.Dir, "the work contains no path of this machine")
}

func TestAQueueWithoutWorkersGivesAWarning(t *testing.T) {
	t.Parallel()
	s, _ := joined(t, func(ctx context.Context, _ record.Task, see func(agents.RemoteProgress)) error {
		see(agents.RemoteProgress{Over: true, Lost: "no worker took it"})
		return nil
	})
	for queue, told := range map[string]int{"typo": 1, "gpu": 0} {
		run := s.request(user, plan.Request{Type: "builder", Prompt: "look", On: queue})
		warned := slices.DeleteFunc(run.Warnings, func(text string) bool { return !strings.Contains(text, "no worker serves the queue "+queue) })
		require.Len(t, warned, told, queue)
		s.over(run.ID, core.AgentError, core.Failed)
	}
}

func TestAnAgentElsewhereEndsAsReportedOrLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		begun  bool
		lost   string
		report record.Report
		err    error
		state  core.AgentState
		reason string
		says   string // the frame's summary; empty: any
	}{
		"its worker is lost": {begun: true, lost: "worker lost: box-1", state: core.AgentError, reason: "worker lost: box-1"},
		"it was refused": {
			report: record.Report{Outcome: &supervise.Outcome{State: core.AgentError, Reason: "the worker did not start it", Partial: true}},
			state:  core.AgentError, reason: "the worker did not start it",
		},
		"the key is unknown": {err: core.Invalidf("the hub does not know this key"), state: core.AgentError, reason: "the hub does not know this key"},
		"its files are gone": {
			begun: true, report: record.Report{Patch: "none", Outcome: &supervise.Outcome{State: core.AgentCompleted, Reason: "done", Text: "x"}},
			state: core.AgentCompleted, reason: "done",
		},
		"it lacked a tool": {
			begun: true, report: record.Report{Outcome: &supervise.Outcome{State: core.AgentCompleted, Reason: "done", Text: "x",
				Refused: []string{"Bash", "Edit"}}},
			state: core.AgentCompleted, reason: "done", says: "x\n(not allowed to use Bash, Edit)",
		},
		"an outcome is missing": {begun: true, state: core.AgentError, reason: "its worker did not report its end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := joined(t, func(_ context.Context, _ record.Task, see func(agents.RemoteProgress)) error {
				if c.err == nil {
					see(agents.RemoteProgress{Begun: c.begun, Over: true, Lost: c.lost, Report: c.report})
				}
				return c.err
			})
			run := s.ended(s.away("done").ID)
			assert.Equal(t, c.state, run.State)
			assert.Equal(t, c.reason, run.Outcome.Reason)
			if c.says != "" {
				assert.Equal(t, c.says, s.frame(run.Frame).Summary)
				assert.Contains(t, render.AgentLine(run, run.EndedAt), "(not allowed to use ")
			}
		})
	}
}

func TestCancellingAnAgentElsewhereTellsItsWorker(t *testing.T) {
	t.Parallel()
	var e *elsewhere
	s, e := joined(t, func(ctx context.Context, _ record.Task, see func(agents.RemoteProgress)) error {
		see(agents.RemoteProgress{Begun: true, Report: record.Report{Machine: "box-1", Mode: record.ModeChoice{Effective: hosts.ModePlan}}})
		for !e.toldToStop() {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(10 * time.Millisecond):
			}
		}
		outcome := supervise.Outcome{State: core.AgentCancelled, Reason: "cancelled", Text: "so far"}
		see(agents.RemoteProgress{Begun: true, Over: true, Report: record.Report{Outcome: &outcome}})
		return nil
	})
	run := s.until(s.away("wait").ID, core.AgentActive)
	_, err := s.Cancel(s.ctx, user, run.ID)
	require.NoError(t, err)
	run = s.ended(run.ID)
	assert.Equal(t, core.AgentCancelled, run.State)
	assert.Equal(t, "cancelled by user", run.Outcome.Reason)
	assert.Equal(t, "so far", run.Outcome.Text)
}

// silent returns the address of a server that never answers, and two channels that report each
// connection when it begins and when it ends.
func silent(t *testing.T) (address string, made, gone chan struct{}) {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	made, gone = make(chan struct{}, 100), make(chan struct{}, 100)
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	t.Cleanup(func() { _ = server.Close() })
	all.Go(func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			made <- struct{}{}
			all.Go(func() {
				defer conn.Close()
				_, _ = io.Copy(io.Discard, conn)
				gone <- struct{}{}
			})
		}
	})
	return server.Addr().String(), made, gone
}

func TestAnAgentElsewhereIsCancelledWhileItsBaseIsSent(t *testing.T) {
	t.Parallel()
	s, _ := joined(t, func(context.Context, record.Task, func(agents.RemoteProgress)) error {
		assert.Fail(t, "it was given")
		return nil
	})
	address, made, gone := silent(t)
	s.repository()
	s.git("remote", "add", "origin", "https://"+address+"/project.git")
	run := s.away("wait")
	for _, step := range []struct {
		name string
		does func()
		seen chan struct{}
	}{
		{"git asks the remote", func() {}, made},
		{"git has ended", func() {
			_, err := s.Cancel(s.ctx, user, run.ID)
			require.NoError(t, err)
		}, gone},
	} {
		step.does()
		select {
		case <-step.seen:
		case <-time.After(time.Minute):
			require.Fail(t, step.name)
		}
	}
	run = s.ended(run.ID)
	assert.Equal(t, core.AgentCancelled, run.State)
	assert.Equal(t, "cancelled by user", run.Outcome.Reason)
}

// asked returns work from another machine, in a frame that this machine knows.
func (s *service) asked(steps string) record.Task {
	s.t.Helper()
	frame := core.Frame{
		ID: "frame-theirs01", Machine: "desk-1", Status: core.InProgress, Goal: "Their work", Session: "", CreatedAt: 1, StartedAt: 1, UpdatedAt: 1,
	}
	require.NoError(s.t, s.Project.Store.Update(s.ctx, func(tx project.Tx) error { return tx.SaveFrame(frame) }))
	s.Project.Claim = func(context.Context, core.Frame) error { return nil }
	def, err := s.Catalog(s.Dir).Find("builder")
	require.NoError(s.t, err)
	return record.WorkOf(record.Agent{
		ID: s.Project.NewID("agent"), Frame: frame.ID, Host: "claude-code", Description: "Their work", Digest: def.Digest(),
		Mode: record.ModeChoice{Effective: hosts.ModeAcceptEdits, Grant: "grant-1"}, Limits: supervise.Limits{Wall: time.Minute},
	}, record.Assignment{Task: steps}, def)
}

// here has agents work in the project's folder.
func (s *service) here(context.Context, string) (agents.Workspace, error) {
	return agents.Workspace{Dir: s.Dir}, nil
}

func TestAWorkerRunsAgentsOfAnotherMachine(t *testing.T) {
	t.Parallel()
	s := newService(t)
	run, err := agents.AcceptRemote(s.ctx, s.Agents, s.asked("say half; done all"), agents.WorkerPolicy{Asker: "desk-1", Most: hosts.ModePlan, Prepare: s.here})
	require.NoError(t, err)
	assert.NotEqual(t, run.RemoteID, run.ID, "agent ids from other machines are never used as folder names")
	assert.Equal(t, record.ModeChoice{Effective: hosts.ModePlan, CappedBy: "worker"}, run.Mode)
	assert.Equal(t, "builtin", run.Source.Kind, "the definition equals the worker's own")
	assert.False(t, run.Tools.Permits("mcp__flame__spawn_agent"))
	run = s.over(run.ID, core.AgentCompleted, core.Completed)
	frame := s.frame(run.Frame)
	assert.Empty(t, frame.Machine, "the frame belongs to the machine whose session works in it")
	assert.Equal(t, "all", frame.Summary)
	assert.NotZero(t, frame.Usage.TokensIn)
	report, state, err := agents.ReportOf(s.ctx, s.Agents, run.ID)
	require.NoError(t, err)
	assert.Equal(t, core.AgentCompleted, state)
	assert.Equal(t, "all", report.Outcome.Text)
}

func TestAWorkerTrustsNoDefinitionOfAnotherMachine(t *testing.T) {
	t.Parallel()
	s := newService(t)
	w := s.asked("done")
	w.Definition.Prompt += " And more."
	w.Digest = w.Definition.Digest()
	w.Definition.Source.Kind = "user"
	w.Definition.HostKeys = map[string]json.RawMessage{"hooks": json.RawMessage(`{}`)}
	text, err := json.Marshal(w)
	require.NoError(t, err)
	w, err = record.ReadWork(text)
	require.NoError(t, err)
	run, err := agents.AcceptRemote(s.ctx, s.Agents, w, agents.WorkerPolicy{Asker: "desk-1", Most: hosts.ModeAcceptEdits, Prepare: s.here})
	require.NoError(t, err)
	assert.Equal(t, "machine", run.Source.Kind)
	told, err := record.AssignmentOf(s.ctx, s.Project, run.ID)
	require.NoError(t, err)
	assert.Empty(t, told.Definition.HostKeys)
	s.ended(run.ID)
}

func TestAWorkerTakesOverOnlyFramesOfItsAsker(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*core.Frame){
		"a third machine's":        func(f *core.Frame) { f.Machine = "couch-1" },
		"this machine's own":       func(f *core.Frame) { f.Machine = "" },
		"one that a session is in": func(f *core.Frame) { f.Session = "theirs" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			w := s.asked("done")
			require.NoError(t, s.Project.Store.Update(s.ctx, func(tx project.Tx) error {
				frame, err := tx.Frame(w.Frame)
				change(&frame)
				return errors.Join(err, tx.SaveFrame(frame))
			}))
			before := s.frame(w.Frame)
			run, err := agents.AcceptRemote(s.ctx, s.Agents, w, agents.WorkerPolicy{Asker: "desk-1", Most: hosts.ModePlan, Prepare: s.here})
			require.NoError(t, err)
			assert.Empty(t, run.Frame)
			run = s.ended(run.ID)
			assert.Equal(t, core.AgentCompleted, run.State)
			after := s.frame(w.Frame)
			assert.Equal(t, before.Status, after.Status)
			assert.Equal(t, before.Machine, after.Machine)
		})
	}
}

func TestAWorkerTrustsNoRulesAndBoundsItsAgents(t *testing.T) {
	t.Parallel()
	s := newService(t)
	w := s.asked("done")
	def, err := s.Catalog(s.Dir).Find("tester")
	require.NoError(t, err)
	w.Definition, w.Digest, w.Limits = def, def.Digest(), supervise.Limits{Wall: 1000 * time.Hour, Retries: 1 << 30}
	w.Task = "/deploy now; done with @/etc/passwd and @~/.ssh/id"
	run, err := agents.AcceptRemote(s.ctx, s.Agents, w, agents.WorkerPolicy{Asker: "desk-1", Most: hosts.ModePlan, Prepare: s.here})
	require.NoError(t, err)
	assert.Equal(t, s.Bounds.Each.Wall, run.Limits.Wall)
	assert.Equal(t, s.Bounds.Each.Retries, run.Limits.Retries)
	s.ended(run.ID)
	launched, err := os.ReadFile(filepath.Join(s.Folder(run.ID), launchFile))
	require.NoError(t, err)
	assert.Contains(t, string(launched), `"TRUSTED="`, "rules in a definition apply only on the machine of the person who wrote them")
	assert.NotContains(t, string(launched), "@/etc")
	assert.NotContains(t, string(launched), "@~")
}

func TestAgentsEndWithTheirWorker(t *testing.T) {
	t.Parallel()
	s := newService(t)
	run, err := agents.AcceptRemote(s.ctx, s.Agents, s.asked("say half; wait"),
		agents.WorkerPolicy{Asker: "desk-1", Most: hosts.ModeAcceptEdits, Prepare: s.here})
	require.NoError(t, err)
	s.until(run.ID, core.AgentActive)
	gone := supervise.Self()
	gone.PID = 1 << 22 // no process has it
	require.NoError(t, s.Project.Store.Update(s.ctx, func(tx project.Tx) error {
		live, err := record.ActiveAgents.Find(tx, run.ID)
		live.Worker = gone
		return errors.Join(err, record.ActiveAgents.Save(tx, run.ID, live))
	}))
	run = s.ended(run.ID)
	assert.Equal(t, core.AgentCancelled, run.State)
	assert.Equal(t, "the worker that ran it is gone", run.Outcome.Reason)
}
