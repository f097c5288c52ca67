package newhost

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/project/turns"
	"flame/transcripts"
)

// yonder is a host that only this package knows.
const yonder = "yonder"

// yonderHost returns flame's knowledge of it: everything that a host needs.
func yonderHost() hosts.Host {
	return hosts.Host{
		Name: yonder, Title: "Yonder", Program: yonder, Setup: hosts.SetupFacts{Adds: "one line", Manual: "yonder add flame"},
		Variables: hosts.Variables{Session: "YONDER_TALK", Marker: "YONDER", UnsetForAgents: []string{"YONDER", "YONDER_TALK"}},
		Tools: hosts.Vocabulary{MCPSeparator: "@", Own: hosts.Tools{
			{Name: "peek", Effect: hosts.EffectRead, Canonical: []string{"Read"}},
			{Name: "scribble", Effect: hosts.EffectEdit, Canonical: []string{"Edit", "Write"}},
			{Name: "obey", Effect: hosts.EffectRun, Canonical: []string{"Bash"}}, {Name: "fork", Effect: hosts.EffectSpawn},
		}},
		Agents: hosts.AgentFacts{Keys: []hosts.Key{{Name: "altitude", Passed: true}}, RunFormat: talks},
		Sessions: hosts.Sessions{
			New: func() string { return project.NewID("talk") }, ResumeArgs: []string{"open"},
			Resumes: func(session string) bool { return strings.HasPrefix(session, "talk") },
		},
		Logs: hosts.Logs{Formats: transcripts.Formats{talks}},
		Events: hosts.Events{Hook: heard, Patience: time.Second, Docs: func() []hosts.EventDoc {
			return []hosts.EventDoc{{Event: "asked", Does: "Names the session's root frame."}}
		}},
		Client: func(m hosts.Machine) hosts.Client { return client{m} },
	}
}

// A line is one of its logs.
type line struct {
	Talk  string `json:"talk"`
	Says  string `json:"says"`
	Tools string `json:"tools,omitempty"`
	Over  bool   `json:"over,omitempty"`
}

// talks is the format of its logs.
var talks = &transcripts.Format{
	Name: "Yonder's talks", Host: yonder, Kept: true,
	Lines: func() func([]byte) core.Message { return readLine },
	Entry: func(e transcripts.Entry) bool { return e.Text("talk") != "" && e.Has("says") },
}

func readLine(text []byte) core.Message {
	var l line
	if json.Unmarshal(text, &l) != nil {
		return core.Message{Role: core.RoleOther, Raw: slices.Clone(text)}
	}
	m := core.Message{ID: l.Says, Role: core.RoleAssistant, Session: l.Talk, Parts: []core.Part{{Type: core.PartText, Text: l.Says}}, Final: l.Over}
	m.Notes = []core.AgentInfo{{ID: l.Talk, State: core.AgentActive}}
	if l.Over {
		m.Notes = []core.AgentInfo{{ID: l.Talk, State: core.AgentCompleted, Result: l.Says}}
	}
	return m
}

// heard handles its only event.
func heard(ctx context.Context, flame hosts.HookEnv, raw []byte) (answer []byte, err error) {
	var event struct{ Talk, Asked, N string }
	if err := json.Unmarshal(raw, &event); err != nil || event.Talk == "" {
		return nil, err
	}
	by := project.Caller{Session: event.Talk, Host: yonder, Trust: project.TrustHook, Event: "asked"}
	err = turns.OnEvent(ctx, flame.Project, flame.Marks, false, func(p *project.Project) error {
		answer = []byte("noted")
		_, err := turns.Begin(ctx, p, by, turns.Prompt{
			ID: event.N, Text: event.Asked, FromUser: true, Standing: project.SessionPermissions{Mode: string(hosts.ModeAcceptEdits)},
		})
		return err
	})
	return answer, err
}

// A client is its program on a machine.
type client struct{ hosts.Machine }

func (c client) file(scope hosts.Scope) string {
	if scope == hosts.ScopeProject {
		return filepath.Join(c.ProjectDir, ".yonder")
	}
	return filepath.Join(c.Home, ".yonder")
}

func (c client) Install(_ context.Context, scope hosts.Scope) ([]hosts.SetupStep, error) {
	if _, err := yonderHost().Find(c.Machine); err != nil {
		return nil, err
	}
	return c.Files(scope).Write(c.file(scope), []byte(c.Binary()+" hook "+yonder+"\n"), 0o644)
}

func (c client) Remove(_ context.Context, scope hosts.Scope) ([]hosts.SetupStep, error) {
	return c.Files(scope).Remove(c.file(scope), c.Home), nil
}

func (c client) Status(context.Context) (status hosts.Status, err error) {
	status.Program, _ = yonderHost().Find(c.Machine)
	for scope := range scopes() {
		if _, err := c.Files(scope).Read(c.file(scope)); err == nil {
			status.Installed = append(status.Installed, hosts.Installation{Scope: scope, Where: c.file(scope), Current: true})
		}
	}
	return status, nil
}

func scopes() iter.Seq[hosts.Scope] {
	return slices.Values([]hosts.Scope{hosts.ScopeUser, hosts.ScopeProject})
}

func (c client) Launch(child hosts.LaunchSpec) (hosts.Launch, error) {
	program, err := yonderHost().Find(c.Machine)
	return hosts.Launch{Command: []string{program, "run", child.Session, child.Tools.String()}, Stdin: child.Prompt}, err
}

// beYonder is its program: it prints two lines, and the tools that it was offered.
func beYonder(args []string) {
	for _, l := range []line{{Talk: args[1], Says: "let me see"}, {Talk: args[1], Says: "it is all there", Tools: args[2], Over: true}} {
		raw, _ := json.Marshal(l)
		fmt.Fprintln(os.Stdout, string(raw))
	}
}
