package agents_test

import (
	"cmp"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/plan"
	"flame/agents/record"
	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/project/children"
	"flame/project/turns"
	"flame/tests/cases"
)

func TestAnAgentsModeIsNeverAboveItsParents(t *testing.T) {
	t.Parallel()
	tests := cases.Read[struct {
		Parent string // as the host told it; empty: it did not
		R      plan.Request
		Want   record.ModeChoice
	}](t, "testdata/capped.yaml")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, "name: bold\ndescription: d\npermissionMode: bypassPermissions", "name: free\ndescription: d")
			s.startNone()
			by := project.Caller{Session: "theirs", Host: "claude-code", Trust: project.TrustHook}
			_, err := turns.Begin(s.ctx, s.Project, by, turns.Prompt{ID: "p", Text: "Work", FromUser: true})
			require.NoError(t, err)
			require.NoError(t, s.Project.NoteStanding(s.ctx, by, project.SessionPermissions{Mode: tt.Parent}))
			tt.R.Prompt = "done"
			run := s.request(by, tt.R)
			assert.Equal(t, tt.Want, run.Mode)
			told := s.events(run.ID, core.PermissionDecision)
			require.Len(t, told, 1)
			assert.Equal(t, string(tt.Want.Effective), data(t, told[0])["permission_mode"].(map[string]any)["effective"])
			assert.Contains(t, s.launched(run.ID).Command, string(tt.Want.Effective), "the host gets the mode")
			below := s.request(as(run), plan.Request{Type: "bold", Prompt: "done"})
			assert.False(t, below.Mode.Effective.Exceeds(run.Mode.Effective), "nor does an agent below it")
		})
	}
}

func TestANativeSubagentsAgentHasItsSessionsMode(t *testing.T) {
	t.Parallel()
	s := newService(t)
	child := project.Caller{Session: "child", Parent: user.Session, Host: "claude-code", Trust: project.TrustHook}
	_, err := children.StartSession(s.ctx, s.Project, child, "Look (@explorer subagent)")
	require.NoError(t, err)
	assert.Equal(t, hosts.ModeAcceptEdits, s.request(child, plan.Request{Type: "builder", Prompt: "done"}).Mode.Effective)
}

func TestAHostsOwnAgentPassesOnOnlyItsOwnTools(t *testing.T) {
	t.Parallel()
	const careful = "name: careful\ndescription: d\ntools: [Read, Edit]\ndisallowedTools: [Write]"
	tests := cases.Read[struct {
		Host   string
		Told   project.SessionPermissions
		Can    []string
		Cannot []string
		Mode   hosts.Mode // empty: that of the session
	}](t, "testdata/narrowed.yaml")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, careful)
			s.startNone()
			by := project.Caller{Session: "child", Parent: user.Session, Host: tt.Host, Trust: project.TrustHook}
			_, err := children.StartSession(s.ctx, s.Project, by, "Look (@x subagent)")
			require.NoError(t, err)
			tt.Told.Mode = "acceptEdits"
			require.NoError(t, s.Project.NoteStanding(s.ctx, by, tt.Told))
			run := s.request(by, plan.Request{Type: "builder", Prompt: "done"})
			assert.Equal(t, cmp.Or(tt.Mode, hosts.ModeAcceptEdits), run.Mode.Effective)
			assert.Equal(t, tt.Mode == hosts.ModePlan, len(run.Warnings) > 0, run.Warnings)
			for _, tool := range tt.Can {
				assert.True(t, run.Tools.Permits(tool), "%s: %s", tool, run.Tools)
			}
			for _, tool := range tt.Cannot {
				assert.False(t, run.Tools.Permits(tool), "%s: %s", tool, run.Tools)
			}
			below := s.request(as(run), plan.Request{Type: "builder", Prompt: "done"})
			for _, tool := range tt.Cannot {
				assert.False(t, below.Tools.Permits(tool), "one below it: %s: %s", tool, below.Tools)
			}
		})
	}
}

func TestToolsOfACallAreNamedAsTheHostDoes(t *testing.T) {
	t.Parallel()
	s := newService(t)
	asked := []string{"read", "BASH", "skill", "toolsearch(x)", "mcp__Own__Tool", "Frobnicate"}
	run := s.request(user, plan.Request{Inline: json.RawMessage(`{"description":"d","prompt":"p"}`), Prompt: "done", Tools: &asked})
	assert.Equal(t, []string{"Read", "Bash", "Skill", "ToolSearch(x)", "mcp__Own__Tool", "Frobnicate"}, run.Tools.Allowed)
	assert.Equal(t, []string{`tool "Frobnicate" is not one that claude-code is known to have`}, run.Warnings)
}

func TestWhatAGrantIsFor(t *testing.T) {
	t.Parallel()
	bold, theirs := plan.Request{Type: "bold", Prompt: "done"}, plan.Request{Type: "theirs", Prompt: "done"}
	tests := map[string]struct {
		grant   plan.Grant
		r       plan.Request
		later   core.Millis // how long after it the agent is asked for
		granted bool
		below   bool // one that the agent asks for is granted it too
	}{
		"any agent":                       {grant: plan.Grant{Mode: hosts.ModeBypass}, r: bold, granted: true},
		"this definition":                 {grant: plan.Grant{Mode: hosts.ModeBypass, Agent: "bold"}, r: bold, granted: true},
		"another definition":              {grant: plan.Grant{Mode: hosts.ModeBypass, Agent: "builder"}, r: bold},
		"this session":                    {grant: plan.Grant{Mode: hosts.ModeBypass, Session: "user"}, r: bold, granted: true},
		"another session":                 {grant: plan.Grant{Mode: hosts.ModeBypass, Session: "elsewhere"}, r: bold},
		"a while that lasts":              {grant: plan.Grant{Mode: hosts.ModeBypass, ExpiresAt: 1_000_000}, r: bold, later: 900_000, granted: true},
		"a while that is over":            {grant: plan.Grant{Mode: hosts.ModeBypass, ExpiresAt: 1_000_000}, r: bold, later: 1_000_000},
		"agents of agents too":            {grant: plan.Grant{Mode: hosts.ModeBypass, Inherited: true}, r: bold, granted: true, below: true},
		"any agent, but the repository's": {grant: plan.Grant{Mode: hosts.ModeBypass}, r: theirs},
		"one session, likewise":           {grant: plan.Grant{Mode: hosts.ModeBypass, Session: "user", Inherited: true}, r: theirs},
		"exactly the repository's one":    {grant: plan.Grant{Mode: hosts.ModeBypass, Agent: "theirs"}, r: theirs, granted: true},
		"less than the requested mode":    {grant: plan.Grant{Mode: hosts.ModeAcceptEdits}, r: bold},
		"a name that a call gives its own": {
			grant: plan.Grant{Mode: hosts.ModeBypass, Agent: "bold"},
			r: plan.Request{Prompt: "done", Inline: json.RawMessage(
				`{"name":"bold","description":"d","prompt":"Do as you please.","permissionMode":"bypassPermissions"}`)},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, "name: bold\ndescription: d\npermissionMode: bypassPermissions")
			s.startNone()
			s.ship("name: theirs\ndescription: d\npermissionMode: bypassPermissions")
			tt.grant.Reason = "a throw-away container"
			if tt.grant.ExpiresAt > 0 {
				tt.grant.ExpiresAt += s.Project.Now()
			}
			grant, err := s.Grant(s.ctx, tt.grant)
			require.NoError(t, err)
			s.shift.Store(int64(tt.later))
			run := s.request(user, tt.r)
			if !tt.granted {
				assert.Equal(t, hosts.ModeAcceptEdits, run.Mode.Effective)
				assert.Empty(t, run.Mode.Grant)
				return
			}
			assert.Equal(t, hosts.ModeBypass, run.Mode.Effective)
			assert.Equal(t, grant.ID, run.Mode.Grant)
			below := s.request(as(run), bold)
			assert.Equal(t, tt.below, below.Mode.Effective == hosts.ModeBypass, below.Mode)
			require.NoError(t, s.Revoke(s.ctx, grant.ID))
			assert.Equal(t, hosts.ModeAcceptEdits, s.request(user, tt.r).Mode.Effective, "the grant was revoked")
		})
	}
}

func TestGrantsAreStoredAndReported(t *testing.T) {
	t.Parallel()
	s := newService(t)
	_, err := s.Grant(s.ctx, plan.Grant{Mode: hosts.ModeBypass})
	assert.Contains(t, cases.Advice(t, err, core.ErrInvalid), "reason")
	_, err = s.Grant(s.ctx, plan.Grant{Mode: "all", Reason: "r"})
	assert.Contains(t, cases.Advice(t, err, core.ErrInvalid), "all")
	first, err := s.Grant(s.ctx, plan.Grant{Mode: hosts.ModeBypass, Reason: "first"})
	require.NoError(t, err)
	s.shift.Add(1000)
	second, err := s.Grant(s.ctx, plan.Grant{Mode: hosts.ModeAcceptEdits, Agent: "builder", Reason: "second"})
	require.NoError(t, err)
	all, err := s.Grants(s.ctx)
	require.NoError(t, err)
	assert.Equal(t, []plan.Grant{second, first}, all)
	told := s.events("", core.PermissionGranted)
	require.Len(t, told, 2)
	assert.Equal(t, "first", data(t, told[0])["grant"].(map[string]any)["reason"])
	assert.Contains(t, cases.Advice(t, s.Revoke(s.ctx, "grant-nothing0"), core.ErrNotFound), "grant-nothing0")
	require.NoError(t, s.Revoke(s.ctx, first.ID))
	all, err = s.Grants(s.ctx)
	require.NoError(t, err)
	assert.Equal(t, []plan.Grant{second}, all)
}

func TestToolsOnlyShrinkFromLevelToLevel(t *testing.T) {
	t.Parallel()
	s := newService(t, "name: wide\ndescription: d\ntools: Read, Grep, Bash(git *), Edit, WebFetch, mcp__docs__*, Agent\ndisallowedTools: WebFetch",
		"name: greedy\ndescription: d\ntools: Read, Bash, Write, WebFetch, Agent, mcp__docs__find", "name: all\ndescription: d\ntools: '*'")
	permits := func(run record.Agent, want map[string]bool) {
		t.Helper()
		for tool, permitted := range want {
			assert.Equal(t, permitted, run.Tools.Permits(tool), "%s: %s", tool, run.Tools)
		}
		assert.Contains(t, s.launched(run.ID).Command, run.Tools.Only(&run.Tools.Allowed).String(), "the host gets the tools")
	}
	first := s.request(user, plan.Request{Type: "wide", Prompt: "hang"})
	permits(first, map[string]bool{"Read": true, "Edit": true, "Bash": true, "WebFetch": false, "Write": false, "mcp__docs__read": true, "Agent": true})
	second := s.request(as(first), plan.Request{Type: "greedy", Prompt: "hang"})
	permits(second, map[string]bool{
		"Read": true, "Edit": false, "WebFetch": false, "Write": false, "mcp__docs__find": true, "mcp__docs__read": false, "Agent": true,
	})
	assert.Contains(t, second.Tools.Allowed, "Bash(git *)", "a rule for arguments stays")
	only := []string{"Read", "Edit"}
	third := s.request(as(second), plan.Request{Type: "all", Prompt: "hang", Tools: &only})
	permits(third, map[string]bool{"Read": true, "Edit": false, "Bash": false, "Agent": false})
	none := []string{}
	permits(s.request(user, plan.Request{Type: "wide", Prompt: "hang", Tools: &none}), map[string]bool{"Read": false, "Agent": false})
}
