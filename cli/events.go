package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"flame/core"
	"flame/project"
)

func newEvents(a *App) *cobra.Command {
	query := project.EventQuery{Last: true}
	var follow bool
	var frame string
	var after, limit uint
	cmd := &cobra.Command{
		Use: "events", Short: "Print the event log: what happened, when, to which frame", Example: "  flame events --follow --frame frame-k3x9", Args: takes(0, 0),
	}
	a.frameFlag(cmd, &frame, "only events of this frame")
	cmd.Flags().StringSliceVar(&query.Kinds, "kind", nil, "only events of these kinds, such as FrameCompleted")
	cmd.Flags().UintVar(&after, "after", 0, "only events after this number")
	cmd.Flags().UintVar(&limit, "limit", 50, "the last so many (0: all)")
	cmd.Flags().BoolVar(&follow, "follow", false, "go on printing events as they come")
	return a.reads(cmd, func(ctx context.Context, p *project.Project, _ []string) error {
		query.AfterSeq, query.Limit = int64(after), int(limit)
		if frame != "" {
			details, err := p.Details(ctx, a.caller(), frame)
			if err != nil {
				return err
			}
			query.Frame = details.Frame.ID
		}
		last, err := a.printEvents(ctx, p, query)
		if !follow || err != nil {
			return err
		}
		query.AfterSeq = max(last, query.AfterSeq)
		return a.follow(ctx, p, query)
	})
}

// followPace is how often --follow looks for new events.
const followPace = 200 * time.Millisecond

func (a *App) follow(ctx context.Context, p *project.Project, query project.EventQuery) error {
	query.Last, query.Limit = false, 0
	tick := time.NewTicker(followPace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		last, err := a.printEvents(ctx, p, query)
		if err != nil {
			return err
		}
		query.AfterSeq = max(last, query.AfterSeq)
	}
}

// printEvents prints the events of a query, one a line, and gives the number of
// the last.
func (a *App) printEvents(ctx context.Context, p *project.Project, query project.EventQuery) (last int64, err error) {
	events, err := p.Events(ctx, query)
	if err != nil {
		return 0, err
	}
	for _, e := range events {
		last = e.Seq
		if err := a.printEvent(e); err != nil {
			return last, err
		}
	}
	return last, nil
}

func (a *App) printEvent(e core.Event) error {
	if a.json {
		raw, err := json.Marshal(e)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Stdout, "%s\n", plainJSON(raw))
		return err
	}
	_, err := fmt.Fprintf(a.Stdout, "%d %s %-16s %s %s\n", e.Seq, e.TS.Time().Local().Format(time.DateTime), e.Event, printable(e.Frame), core.OneLine(string(e.Data), 120))
	return err
}
