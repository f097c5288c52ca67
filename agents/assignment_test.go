package agents_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/plan"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/tests/cases"
)

// plant leaves a command wherever one could be read back from: in files of the
// agent's folder, and in its records. It returns the file that the command makes.
func (s *service) plant(id string) (trap string) {
	s.t.Helper()
	trap = filepath.Join(s.t.TempDir(), "sprung")
	command := []string{"/bin/sh", "-c", "touch '" + trap + "'"}
	planted := map[string]any{
		"subagent_id": id, "dir": s.Folder(id), "project": s.Dir, "host": "claude-code", "command": command, "resume": command,
		"Command": command, "Resume": command, "cwd": s.Dir, "env": []string{"PATH=" + filepath.Dir(trap)}, "goOn": "x", "handBack": "x",
	}
	raw, err := json.Marshal(planted)
	require.NoError(s.t, err)
	for _, name := range []string{"job.json", launchFile, "outcome.json.new"} {
		require.NoError(s.t, os.WriteFile(filepath.Join(s.Folder(id), name), raw, 0o600))
	}
	require.NoError(s.t, s.Project.Store.Update(s.ctx, func(tx project.Tx) error {
		for _, kind := range []string{"agent", "agent_assignment"} {
			record := map[string]any{}
			if _, err := tx.Record(kind, id, &record); err != nil {
				return err
			}
			for name, value := range planted {
				if _, known := record[name]; !known {
					record[name] = value
				}
			}
			if err := tx.SaveRecord(kind, id, record); err != nil {
				return err
			}
		}
		return nil
	}))
	return trap
}

func TestStoredCommandsAreNeverRun(t *testing.T) {
	t.Parallel()
	tests := map[string]func(s *service, run record.Agent){
		"by a supervisor": func(s *service, run record.Agent) {
			_, err := supervise.Start(s.ctx, s.SupervisorSpec(run.ID, s.Dir))
			require.NoError(s.t, err)
			s.over(run.ID, core.AgentCompleted, core.Completed)
		},
		"by recovery": func(s *service, run record.Agent) {
			s.shift.Add(60_000)
			require.NoError(s.t, s.Recover(s.ctx))
			s.over(run.ID, core.AgentError, core.Failed)
		},
		"by going on": func(s *service, run record.Agent) {
			s.shift.Add(60_000)
			require.NoError(s.t, s.Recover(s.ctx))
			s.Start = supervise.Start
			next, err := s.Continue(s.ctx, user, run.ID, "done")
			require.NoError(s.t, err)
			s.over(next.ID, core.AgentCompleted, core.Completed)
		},
		"by a handoff that retries": func(s *service, run record.Agent) {
			_, err := s.Handoff(s.ctx, user, record.Handoff{Agent: run.ID, OnFailure: record.Retry})
			require.NoError(s.t, err)
			s.Start = supervise.Start
			s.shift.Add(60_000)
			require.NoError(s.t, s.Recover(s.ctx))
			result, err := s.Result(s.ctx, run.ID)
			require.NoError(s.t, err)
			require.NotEmpty(s.t, result.Next, "another agent tries again")
			s.ended(result.Next)
		},
	}
	for name, act := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			s.Start = noStart
			run := s.spawn("done")
			trap := s.plant(run.ID)
			act(s, run)
			assert.NoFileExists(t, trap)
		})
	}
}

func TestTheCurrentDefinitionApplies(t *testing.T) {
	t.Parallel()
	const helper = "name: helper\ndescription: Helps.\ntools: Read, Edit, Bash"
	tests := map[string]struct {
		change func(s *service, file string)
		says   string // the agent does not go on; empty: it does
		tools  string
	}{
		"unchanged": {func(*service, string) {}, "", "Read, Edit, Bash"},
		"narrower":  {func(s *service, file string) { s.define(file, "description: Helps.\ntools: Read") }, "", "Read"},
		"wider": {func(s *service, file string) {
			s.define(file, "description: Helps.\ntools: Read, Edit, Bash, WebFetch")
		}, "", "Read, Edit, Bash"},
		"gone": {func(s *service, file string) { require.NoError(s.t, os.Remove(file)) }, "no agent found", ""},
		"another file of the name": {func(s *service, file string) {
			require.NoError(s.t, os.Remove(file))
			s.define(filepath.Join(filepath.Dir(file), "other.md"), helper)
		}, "has replaced", ""},
		"broken": {func(s *service, file string) { s.define(file, "tools: {") }, "is broken", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, helper)
			run := s.over(s.request(user, plan.Request{Type: "helper", Prompt: "done"}).ID, core.AgentCompleted, core.Completed)
			tt.change(s, run.Source.File)
			next, err := s.Continue(s.ctx, user, run.ID, "done")
			if tt.says != "" {
				require.ErrorContains(t, err, tt.says)
				return
			}
			require.NoError(t, err)
			s.over(next.ID, core.AgentCompleted, core.Completed)
			assert.Contains(t, s.launched(next.ID).Command, tt.tools)
		})
	}
}

func (s *service) define(file, definition string) {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(file, []byte("---\n"+definition+"\n---\nDo it.\n"), 0o600))
}

func TestAChangedDefinitionLosesItsGrant(t *testing.T) {
	t.Parallel()
	s := newService(t, "name: helper\ndescription: Helps.\npermissionMode: bypassPermissions")
	_, err := s.Grant(s.ctx, plan.Grant{Mode: hosts.ModeBypass, Agent: "helper", Reason: "a test"})
	require.NoError(t, err)
	run := s.over(s.request(user, plan.Request{Type: "helper", Prompt: "done"}).ID, core.AgentCompleted, core.Completed)
	require.Equal(t, hosts.ModeBypass, run.Mode.Effective)
	s.define(run.Source.File, "name: helper\ndescription: Helps.\npermissionMode: bypassPermissions\nmodel: other")
	_, err = s.Continue(s.ctx, user, run.ID, "done")
	assert.Contains(t, cases.Advice(t, err, core.ErrInvalid), "has changed since it was granted")
}
