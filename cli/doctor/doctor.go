// Package doctor checks what flame depends on: its data, the hosts, definitions
// and grants, and every link between them. It changes nothing, but that
// late events are reported once.
package doctor

import (
	"context"
	"errors"
	"fmt"

	"flame/agents"
	"flame/agents/definition"
	"flame/config"
	"flame/core"
	"flame/hosts"
	"flame/notify"
	"flame/project"
	"flame/project/place"
	"flame/render"
)

// A Doctor examines one project. Its caller fills it.
type Doctor struct {
	Version    string
	Warnings   []config.Warning // of settings that could not be used
	Unknown    []config.Unknown // variables that look like settings
	Hosts      hosts.Registry
	Notify     string       // setting FLAME_NOTIFY; empty: none
	Candidates []place.Kept // data that may be the project's from before it was moved

	Hub     func(ctx context.Context, at place.Place) []core.Finding // looks at the hub that the project has joined; nil: at none
	Check   func(ctx context.Context, at place.Place) []core.Finding // looks at the store
	Open    func(at place.Place, longLived bool) (*project.Project, func() error, error)
	Agents  func(p *project.Project, at place.Place) (*agents.Agents, error)
	Catalog func() (definition.Catalog, error)
}

// Findings returns everything worth saying about the project at a place.
func (d Doctor) Findings(ctx context.Context, at place.Place) []core.Finding {
	findings := []core.Finding{{What: fmt.Sprintf("flame %s, project %s", d.Version, at.Dir)}}
	for _, w := range d.Warnings {
		findings = append(findings, core.Finding{What: w.String(), Hint: "correct the variable or unset it", Broken: true})
	}
	for _, u := range d.Unknown {
		f := core.Finding{What: u.Name + " is no setting of flame", Hint: "`flame config` lists them all"}
		if u.Near != "" {
			f.Hint = "it is ignored; did you mean " + u.Near + "? `flame config` lists them all"
		}
		findings = append(findings, f)
	}
	findings = append(findings, d.checkNotify(at)...)
	findings = append(findings, d.checkData(ctx, at)...)
	findings = append(findings, d.checkEvents(ctx, at)...)
	findings = append(findings, d.checkLearned(ctx, at)...)
	findings = append(findings, checkShipped(at)...)
	if d.Hub != nil {
		findings = append(findings, d.Hub(ctx, at)...)
	}
	machine, err := hosts.ThisMachine(at.Worktree)
	if err != nil {
		findings = append(findings, problemFinding("", err))
	}
	findings = append(findings, d.checkDefinitions()...)
	findings = append(findings, d.checkGrants(ctx, at)...)
	links := d.links(ctx, at)
	for _, h := range d.Hosts {
		findings = append(findings, checkHost(ctx, h, machine, links)...)
	}
	return findings
}

// checkNotify checks the program that the user is told of things by.
func (d Doctor) checkNotify(at place.Place) []core.Finding {
	if d.Notify == "" {
		return nil
	}
	program, err := notify.Chosen(d.Notify, d.Hosts, at)
	if err != nil {
		f := problemFinding("", err)
		f.Broken = false // all else works without
		return []core.Finding{f}
	}
	return []core.Finding{{What: "you are told by " + program + " when an agent ends, a conflict waits for you or a limit is reached"}}
}

// problemFinding turns an error into a finding.
func problemFinding(what string, err error) core.Finding {
	f := core.Finding{What: what + err.Error(), Broken: true}
	var problem *core.Problem
	if errors.As(err, &problem) {
		f.Hint = render.ForShell(problem.Hint)
	}
	return f
}

// MayBeOurs says that data may be the project's from before it was moved.
func MayBeOurs(kept place.Kept) string {
	return fmt.Sprintf("the data of %s, which is gone, may be this project's from before it was moved", kept.Root)
}
