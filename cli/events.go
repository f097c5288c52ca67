package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/core"
	"flame/project"
	"flame/project/view"
	"flame/render"
)

func newEvents(a *app.App) *cobra.Command {
	query := project.EventQuery{Last: true}
	var follow bool
	var frame string
	var after, limit uint
	var since flags.Moment
	cmd := &cobra.Command{
		Use: "events", Short: "Tell what happened, when, to which frame",
		Example: "  flame events --follow --frame frame-k3x9\n  flame events --since 2h --kind FrameCompleted --json", Args: flags.Takes(0, 0),
	}
	a.FrameFlag(cmd, &frame, "only events of this frame")
	cmd.Flags().Var(flags.NotBlank{Name: &query.SubagentID, Of: "AGENT"}, "agent", "only events of this agent: its subagent_id, or its beginning")
	cmd.Flags().Var(flags.NotBlank{Name: &query.Session, Of: "SESSION"}, "session", "only events of this host session, and of agents it started")
	cmd.Flags().StringSliceVar(&query.Kinds, "kind", nil, "only events of these kinds, such as FrameCompleted (repeatable)")
	cmd.Flags().Var(&since, "since", "only events of this time or later; all of them unless --limit is given")
	cmd.Flags().UintVar(&after, "after", 0, "only events after this number")
	cmd.Flags().UintVar(&limit, "limit", 50, "the latest so many (0: all)")
	cmd.Flags().BoolVar(&follow, "follow", false, "keep printing events as they come")
	return a.Reads(cmd, func(ctx context.Context, p *project.Project, _ []string) error {
		query.Below = query.Session
		query.AfterSeq, query.Limit, query.Since = int64(after), int(limit), since.Before(p.Now())
		if query.Since != 0 && !cmd.Flags().Changed("limit") {
			query.Limit = 0
		}
		if frame != "" {
			details, err := view.DetailsOf(ctx, p, a.Caller(), frame)
			if err != nil {
				return err
			}
			query.Frame = details.Frame.ID
		}
		if err := errors.Join(knownKinds(query.Kinds), eventLog{a}.findAgent(ctx, p, &query.SubagentID)); err != nil {
			return err
		}
		last, err := eventLog{a}.printEvents(ctx, p, query)
		if !follow || err != nil {
			return err
		}
		query.AfterSeq = max(last, query.AfterSeq)
		return eventLog{a}.follow(ctx, p, query)
	})
}

// knownKinds refuses a kind that no event has.
func knownKinds(kinds []string) error {
	for _, kind := range kinds {
		if slices.Contains(core.EventKinds, kind) {
			continue
		}
		like := lo.Filter(core.EventKinds, func(known string, _ int) bool {
			return strings.Contains(strings.ToLower(known), strings.ToLower(strings.TrimSpace(kind)))
		})
		if len(like) == 0 {
			like = core.EventKinds
		}
		return flags.UsageError{Problem: core.Invalidf("there are no events of kind %q", kind).WithHint("kinds are %s", strings.Join(like, ", "))}
	}
	return nil
}

// An eventLog prints events.
type eventLog struct{ app *app.App }

// findAgent replaces what was given by the full id of an agent. The host's own
// agents are known only by their events.
func (c eventLog) findAgent(ctx context.Context, p *project.Project, id *string) error {
	if *id == "" {
		return nil
	}
	s, err := c.app.AgentsOf(p)
	if err != nil {
		return err
	}
	run, err := s.Find(ctx, *id)
	if err == nil {
		*id = run.ID
		return nil
	}
	if events, failed := view.Events(ctx, p, project.EventQuery{SubagentID: *id, Limit: 1}); failed != nil || len(events) > 0 {
		return failed
	}
	return err
}

// followPace is how often --follow looks for new events.
const followPace = 200 * time.Millisecond

func (c eventLog) follow(ctx context.Context, p *project.Project, query project.EventQuery) error {
	query.Last, query.Limit = false, 0
	tick := time.NewTicker(followPace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		last, err := c.printEvents(ctx, p, query)
		if err != nil {
			return err
		}
		query.AfterSeq = max(last, query.AfterSeq)
	}
}

// printEvents prints the events of a query, one per line, and returns the
// number of the last.
func (c eventLog) printEvents(ctx context.Context, p *project.Project, query project.EventQuery) (last int64, err error) {
	events, err := view.Events(ctx, p, query)
	if err != nil {
		return 0, err
	}
	var goals map[string]string
	if !c.app.Out.JSON {
		if goals, err = view.Goals(ctx, p, events); err != nil {
			return 0, err
		}
	}
	for _, e := range events {
		last = e.Seq
		if err := c.app.Out.Line(e, render.Event(e, goals[e.Frame], c.app.Out.Width())); err != nil {
			return last, err
		}
	}
	return last, nil
}
