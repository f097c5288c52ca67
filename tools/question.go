package tools

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"flame/agents/definition"
	"flame/agents/plan"
	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/render"
)

// asksFor reports whether the client's user can be asked to allow a mode that the agent would not
// get otherwise. After a refusal flame does not ask again for that kind of agent and mode.
func (d agentDoor) asksFor(ctx context.Context, p plan.Plan) bool {
	if p.Known || p.Agent.Mode.CappedBy == "" || p.Agent.Mode.Requested == "" || clientOf(ctx).ask == nil {
		return false
	}
	_, asked := d.refused.Load(refusalOf(p))
	return !asked
}

func refusalOf(p plan.Plan) string {
	return strings.Join([]string{p.Agent.Tree, p.Definition.Name, string(p.Agent.Mode.Requested)}, "\x00")
}

// seekGrant asks the client's user, and returns the plan with the grant, if there is one. Calls
// that come while the user thinks do not move the agent: its frame is the one of now.
func (d agentDoor) seekGrant(ctx context.Context, by project.Caller, p plan.Plan, r plan.Request) (plan.Plan, error) {
	err := d.a.Project.View(ctx, by, func(s *project.Op) error {
		current, ok, err := s.Current()
		if ok {
			r.Frame = cmp.Or(r.Frame, current.ID)
		}
		return err
	})
	if err != nil {
		return p, err
	}
	if p, err = d.a.Plan(ctx, by, r); err != nil {
		return p, err
	}
	answer, err := clientOf(ctx).ask(ctx, d.question(p))
	if err != nil {
		return p, core.Invalidf("the client ended the call before its user answered, so no agent was started").WithHint("call %s again", op.Spawn)
	}
	switch answer {
	case refused:
		d.refused.Store(refusalOf(p), true)
	case allowed:
		var grant plan.Grant
		grant, err = d.a.Grant(ctx, plan.Grant{
			Mode: p.Agent.Mode.Requested, Agent: p.Definition.Name, Digest: p.Definition.Digest(), Session: p.Agent.Tree, Once: true,
			Reason: "allowed when the client asked: " + core.OneLine(p.Agent.Prompt, 200),
		})
		p.Grant = grant.ID
	}
	return p, err
}

// question says to what a user consents: the mode, the tools, the folder, the host, the
// instructions and the whole task, each line of which is marked, so that it cannot pose as flame's.
func (d agentDoor) question(p plan.Plan) string {
	run, def := p.Agent, p.Definition
	wide := run
	wide.Mode.Effective = run.Mode.Requested
	var b strings.Builder
	fmt.Fprintf(&b, "The agent %s is to work in the permission mode %s; without your permission it gets %s.\n", def.Name, run.Mode.Requested, run.Mode.Effective)
	b.WriteString(render.Field("Tools", render.UsableTools(d.a.Hosts, wide)) + render.Field("Folder", core.OneLine(run.Cwd, 0)) + render.Field("Host", run.Host))
	switch def.Source.Kind {
	case definition.Call:
		b.WriteString("Its instructions are in the call itself:\n" + marked(def.Prompt))
	case definition.Project:
		b.WriteString(def.Origin(d.a.Dir) + ". Its instructions:\n" + marked(def.Prompt))
	}
	return b.String() + "Its task:\n" + strings.TrimSuffix(marked(run.Prompt), "\n")
}

// maxAsked is how much of a text a question has, in characters: more than a person reads.
const maxAsked = 8000

// marked returns a text with a mark before each line, and says if it is not whole.
func marked(text string) string {
	more := utf8.RuneCountInString(text) - maxAsked
	var b strings.Builder
	for line := range strings.Lines(core.Cut(text, maxAsked)) {
		b.WriteString("| " + core.OneLine(line, 0) + "\n")
	}
	if more > 0 {
		fmt.Fprintf(&b, "(%d more characters are not shown: refuse it if they matter)\n", more)
	}
	return b.String()
}
