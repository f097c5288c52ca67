package agents_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/definition"
	"flame/agents/plan"
	"flame/core"
	"flame/hosts"
	"flame/hosts/claudecode"
	"flame/hosts/opencode"
	"flame/project"
	"flame/project/children"
	"flame/project/turns"
	"flame/tests/cases"
	"flame/tests/hoststest"
)

// A witness is a real host's launcher that records its launches.
type witness struct {
	hosts.Client
	mu       sync.Mutex
	launches []hosts.Launch
}

func (w *witness) Launch(c hosts.LaunchSpec) (hosts.Launch, error) {
	launch, err := w.Client.Launch(c)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.launches = append(w.launches, launch)
	return launch, err
}

// lines returns all that a host was started with since it was last asked, without what
// differs from run to run.
func (w *witness) lines() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines []string
	for _, launch := range w.launches {
		lines = append(lines, strings.Join(launch.Command, " "), strings.Join(launch.Env, " "), launch.Stdin)
	}
	w.launches = nil
	ids := regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(agent|frame)-[a-z0-9]{8}`)
	return ids.ReplaceAllString(strings.Join(lines, "\n"), "ID")
}

// witnessed makes a service whose agents would run in the real hosts, but never start.
func witnessed(t *testing.T) (*service, map[string]*witness) {
	t.Helper()
	s := newService(t)
	s.startNone()
	machine := hosts.Machine{
		Home: t.TempDir(), ProjectDir: s.Dir, Getenv: func(string) string { return "" },
		LookPath: func(name string) (string, error) { return "/opt/" + name, nil },
	}
	all := map[string]*witness{
		"claude-code": {Client: claudecode.Client{Machine: machine}},
		"opencode":    {Client: opencode.Client{Machine: machine}},
	}
	s.Machine, s.Hosts = machine, hoststest.Reached(map[string]hosts.Client{"claude-code": all["claude-code"], "opencode": all["opencode"]})
	s.Bounds.Each.Tokens, s.Bounds.Each.CostUSD, s.Bounds.Total, s.Bounds.Concurrent = 1_000, 0.5, 100, 100
	return s, all
}

// Whatever a definition says that comes with the repository, its agent gets what one
// gets whose definition says nothing.
func TestARepositorysDefinitionNeverWidensItsAgent(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"claude-code", "opencode"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			s, all := witnessed(t)
			by := project.Caller{Session: "theirs", Host: host, Trust: project.TrustHook}
			_, err := turns.Begin(s.ctx, s.Project, by, turns.Prompt{ID: "p", Text: "Work", FromUser: true})
			require.NoError(t, err)
			require.NoError(t, s.Project.NoteStanding(s.ctx, by, project.SessionPermissions{Mode: "default"}))
			_, err = s.Grant(s.ctx, plan.Grant{Mode: hosts.ModeBypass, Reason: "for mine", Inherited: true})
			require.NoError(t, err)
			s.ship("name: plain\ndescription: d")
			request := plan.Request{Type: "plain", Prompt: "work", Description: "work", Bare: true}
			plain := s.request(by, request)
			want := strings.ReplaceAll(all[host].lines(), "plain", "NAME")
			assert.NotEmpty(t, want)
			for name, says := range cases.Read[string](t, "testdata/shipped.yaml") {
				s.ship("name: hostile\ndescription: d\n" + says)
				request.Type = "hostile"
				run := s.request(by, request)
				assert.Equal(t, plain.Mode.Effective, run.Mode.Effective, name)
				assert.Empty(t, run.Mode.Grant, name)
				assert.Equal(t, plain.Tools, run.Tools, name)
				assert.Empty(t, run.DelegateTools, name)
				assert.Equal(t, plain.Limits, run.Limits, name)
				assert.Equal(t, plain.MaxDepth, run.MaxDepth, name)
				assert.Equal(t, plain.Host, run.Host, name)
				assert.Equal(t, plain.CrossHost, run.CrossHost, name)
				assert.Equal(t, plain.Cwd, run.Cwd, name)
				assert.Equal(t, want, strings.ReplaceAll(all[host].lines(), "hostile", "NAME"), name)
			}
		})
	}
}

// Naming tools takes others away; a rule for the arguments of one allows none of them.
func TestToolsOfARepositorysDefinitionOnlyLimit(t *testing.T) {
	t.Parallel()
	s, all := witnessed(t)
	s.ship("name: hostile\ndescription: d\ntools: Read, Bash(*), mcp__evil__run")
	s.request(user, plan.Request{Type: "hostile", Prompt: "work"})
	line := all["claude-code"].lines()
	assert.Contains(t, line, "--tools Read,Bash")
	assert.NotContains(t, line, "Bash(*)")
	assert.NotContains(t, line, "mcp__evil__run")
}

func TestARepositorysDefinitionMayLowerLimits(t *testing.T) {
	t.Parallel()
	s, _ := witnessed(t)
	s.ship("name: less\ndescription: d\nflame: {timeout: 7, budget_tokens: 10, budget_usd: 0.1, retries: 0}",
		"name: more\ndescription: d\nflame: {timeout: 24h, budget_usd: 9, budget_tokens: 10}")
	less := s.request(user, plan.Request{Type: "less", Prompt: "work"})
	assert.Equal(t, 7*time.Second, less.Limits.Wall)
	assert.Equal(t, int64(10), less.Limits.Tokens)
	assert.InDelta(t, 0.1, less.Limits.CostUSD, 1e-9)
	assert.Zero(t, less.Limits.Retries)
	assert.Empty(t, less.Warnings)
	more := s.request(user, plan.Request{Type: "more", Prompt: "work"})
	assert.Equal(t, 5*time.Minute, more.Limits.Wall)
	const told = "timeout, budget_usd: this project's shipped/more.md asks for more than the settings allow, and gets what they allow"
	assert.Equal(t, []string{told}, more.Warnings)
	asked := s.request(user, plan.Request{Type: "more", Prompt: "work", Timeout: time.Hour})
	assert.Equal(t, time.Hour, asked.Limits.Wall, "the call may ask for more")
	s.Bounds.Each.Wall, s.Bounds.Each.CostUSD = 0, 0
	free := s.request(user, plan.Request{Type: "more", Prompt: "work"})
	assert.Equal(t, 24*time.Hour, free.Limits.Wall, "the definition sets a limit if the settings have none")
	assert.InDelta(t, 9, free.Limits.CostUSD, 1e-9)
}

func TestAShippedDefinitionNamesTheOneThatItReplaces(t *testing.T) {
	t.Parallel()
	s := newService(t, "name: mine\ndescription: d", "name: other\ndescription: d")
	s.ship("name: builder\ndescription: d", "name: mine\ndescription: d", "name: new\ndescription: d")
	mine := filepath.Join(s.Data, "agents", "mine.md")
	for name, want := range map[string][]string{
		"builder": {"builder is this project's shipped/builder.md, not the built-in one"},
		"mine":    {"mine is this project's shipped/mine.md, not your own " + mine},
		"new":     nil, "other": nil, "tester": nil,
	} {
		run := s.request(user, plan.Request{Type: name, Prompt: "done"})
		assert.Equal(t, want, run.Warnings, name)
		if want == nil {
			continue
		}
		told := s.events(run.ID, core.PermissionDecision)
		assert.Equal(t, want[0], data(t, told[0])["warnings"].([]any)[0])
		s.ended(run.ID)
	}
}

// A host's own agent of the user's is not known by a definition that a repository put
// where only flame looks.
func TestARepositoryCannotReplaceTheUsersOwnAgentsRole(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		own, shipped string
		can, cannot  []string
		mode         hosts.Mode
	}{
		"wider than it is":         {"tools: Read", "tools: '*'", []string{"Read"}, []string{"Edit", "Bash"}, hosts.ModeAcceptEdits},
		"with what it is denied":   {"disallowedTools: Edit", "model: m", []string{"Read", "Bash"}, []string{"Edit"}, hosts.ModeAcceptEdits},
		"narrower":                 {"model: m", "tools: Read", []string{"Read"}, []string{"Edit", "Bash"}, hosts.ModeAcceptEdits},
		"where the own is unclear": {"tools: 7", "tools: '*'", []string{"Read"}, nil, hosts.ModePlan},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, "name: reviewer\ndescription: d\n"+tt.own)
			s.ship("name: reviewer\ndescription: d\n" + tt.shipped)
			by := project.Caller{Session: "child", Parent: user.Session, Host: "claude-code", Trust: project.TrustHook}
			_, err := children.StartSession(s.ctx, s.Project, by, "Look (@x subagent)")
			require.NoError(t, err)
			require.NoError(t, s.Project.NoteStanding(s.ctx, by, project.SessionPermissions{Agent: "reviewer", Mode: "acceptEdits"}))
			run := s.request(by, plan.Request{Type: "builder", Prompt: "done"})
			assert.Equal(t, tt.mode, run.Mode.Effective)
			for _, tool := range tt.can {
				assert.True(t, run.Tools.Permits(tool), "%s: %s", tool, run.Tools)
			}
			for _, tool := range tt.cannot {
				assert.False(t, run.Tools.Permits(tool), "%s: %s", tool, run.Tools)
			}
		})
	}
}

// A person is asked about one definition; what takes its place meanwhile has nothing
// of the answer.
func TestAGrantForOneAgentIsForTheDefinitionThatWasShown(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.ship("name: theirs\ndescription: tame\npermissionMode: bypassPermissions")
	request := plan.Request{Type: "theirs", Prompt: "done"}
	shown, err := s.Plan(s.ctx, user, request)
	require.NoError(t, err)
	grant, err := s.Grant(s.ctx, plan.Grant{
		Mode: hosts.ModeBypass, Agent: "theirs", Digest: shown.Definition.Digest(), Session: shown.Agent.Tree, Once: true, Reason: "asked",
	})
	require.NoError(t, err)
	mode := func() hosts.Mode {
		p, err := s.Plan(s.ctx, user, request)
		require.NoError(t, err)
		p.Grant = grant.ID
		run, err := s.StartPlanned(s.ctx, p)
		require.NoError(t, err)
		return run.Mode.Effective
	}
	s.ship("name: theirs\ndescription: wild\npermissionMode: bypassPermissions")
	assert.Equal(t, hosts.ModeAcceptEdits, mode())
	shown.Grant = grant.ID
	_, err = s.StartPlanned(s.ctx, shown)
	require.ErrorContains(t, err, "has changed since it was granted the mode bypassPermissions")
	grant.ID, grant.MadeAt = "", 0
	grant, err = s.Grant(s.ctx, grant)
	require.NoError(t, err)
	s.ship("name: theirs\ndescription: tame\npermissionMode: bypassPermissions")
	assert.Equal(t, hosts.ModeBypass, mode())
}

// The tools of a definition get the names that its host has for them; it is the same
// definition all the same.
func TestAGrantForADefinitionHoldsInEitherHost(t *testing.T) {
	t.Parallel()
	s, _ := witnessed(t)
	s.ship("name: theirs\ndescription: d\ntools: Read, Edit, Bash\npermissionMode: bypassPermissions")
	for _, name := range []string{"theirs", "builder"} {
		_, err := s.Grant(s.ctx, plan.Grant{Mode: hosts.ModeBypass, Agent: name, Reason: "r"})
		require.NoError(t, err)
		for _, host := range []string{"claude-code", "opencode"} {
			s.Host = host
			run := s.request(user, plan.Request{Type: name, Prompt: "work", Mode: hosts.ModeBypass})
			assert.Equal(t, hosts.ModeBypass, run.Mode.Effective, "%s in %s", name, host)
		}
	}
}

// Of a name or a rule a host would make something else.
func TestNamesOfToolsAreNeverOptions(t *testing.T) {
	t.Parallel()
	for tool, valid := range map[string]bool{
		"Read": true, "Bash(git log --oneline)": true, "Bash(echo (a) (b))": true, "mcp__a__*": true, "multi-word": true,
		"-p": false, "--dangerously-skip-permissions": false, "(x)": false,
		"Bash(x(y)": false, "Bash(x)y)": false, "Bash(x)(y)": false, "Bash(": false, "Bash)": false,
	} {
		assert.Equal(t, valid, hosts.ValidTool(tool), tool)
		for _, key := range []string{"tools", "disallowedTools"} {
			raw, err := json.Marshal(map[string]any{"description": "d", "prompt": "p", key: []string{tool}})
			require.NoError(t, err)
			_, err = definition.Inline(hoststest.Known(), raw)
			assert.Equal(t, valid, err == nil, "%s: %s: %v", key, tool, err)
		}
	}
}
