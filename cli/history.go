package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/agents"
	"flame/cli/app"
	"flame/core"
	"flame/project"
	"flame/project/stack"
	"flame/project/transfer"
	"flame/project/view"
	"flame/render"
	"flame/transcripts"
)

func newEvents(a *app.App) *cobra.Command {
	query := project.EventQuery{Last: true}
	var follow bool
	var frame string
	var after, limit uint
	var since app.TimeValue
	cmd := &cobra.Command{
		Use: "events", Short: "List the events of this project's frames",
		Example: "  flame events --follow --frame frame-k3x9\n  flame events --since 2h --kind FrameCompleted --json", Args: app.CheckArgs(0, 0),
	}
	a.FrameFlag(cmd, &frame, "only events of this frame")
	app.NameFlag(cmd, &query.SubagentID, "agent", "AGENT", "only events of this agent: its subagent_id, or the beginning of it")
	app.NameFlag(cmd, &query.Session, "session", "SESSION", "only events of this host session and of the agents that it started")
	cmd.Flags().StringSliceVar(&query.Kinds, "kind", nil, "only events of these kinds, such as FrameCompleted (repeatable)")
	app.TimeFlag(cmd, &since, "since", "only events since this time; all of them unless --limit is given")
	cmd.Flags().UintVar(&after, "after", 0, "only events after this number")
	cmd.Flags().UintVar(&limit, "limit", 50, "only this many of the latest events (0: all)")
	cmd.Flags().BoolVar(&follow, "follow", false, "keep printing new events")
	return a.NeedsAgents(cmd, func(ctx context.Context, s *agents.Agents, _ []string) error {
		p := s.Project
		query.Below = query.Session
		query.AfterSeq, query.Limit, query.Since = int64(after), int(limit), since(p.Now())
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
		if err := errors.Join(knownKinds(query.Kinds), findAgent(ctx, s, &query.SubagentID)); err != nil {
			return err
		}
		if err := printEvents(ctx, a, p, &query); err != nil || !follow {
			return err
		}
		query.Last, query.Limit = false, 0
		for range project.Every(ctx, followPace, followPace) {
			if err := printEvents(ctx, a, p, &query); err != nil {
				return err
			}
		}
		return nil
	})
}

// followPace is how often --follow looks for new events.
const followPace = 200 * time.Millisecond

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
		return app.UsageError{Problem: core.Invalidf("there are no events of kind %q", kind).WithHint("kinds are %s", strings.Join(like, ", "))}
	}
	return nil
}

// findAgent replaces the beginning of an agent's id by the full id. Flame knows the host's own
// agents only by their events.
func findAgent(ctx context.Context, s *agents.Agents, id *string) error {
	if *id == "" {
		return nil
	}
	run, err := s.Find(ctx, *id)
	if err == nil {
		*id = run.ID
		return nil
	}
	if events, failed := view.Events(ctx, s.Project, project.EventQuery{SubagentID: *id, Limit: 1}); failed != nil || len(events) > 0 {
		return failed
	}
	return err
}

// printEvents prints the events of a query, one per line, and advances the query past them.
func printEvents(ctx context.Context, a *app.App, p *project.Project, query *project.EventQuery) error {
	events, err := view.Events(ctx, p, *query)
	if err != nil {
		return err
	}
	var goals map[string]string
	if !a.Out.JSON {
		if goals, err = view.GoalsOf(ctx, p, events); err != nil {
			return err
		}
	}
	for _, e := range events {
		query.AfterSeq = max(query.AfterSeq, e.Seq)
		if err := a.Out.Line(e, render.Event(e, goals[e.Frame], p.Now(), a.Out.Width())); err != nil {
			return err
		}
	}
	return nil
}

func newLog(a *app.App) *cobra.Command {
	var output, transcript string
	format := "markdown"
	cmd := &cobra.Command{
		Use: "log FRAME", Short: "Export the transcript of a finished frame", Example: "  flame log frame-k3x9 --format jsonl",
		Long: "Write the part of the host's transcript that covers the work in a finished frame,\n" +
			"from its start to its end, and print the path of the file. The frame keeps that path.",
		Args: app.CheckArgs(1, 1), ValidArgsFunction: a.FrameArgs,
	}
	app.EnumFlag(cmd, &format, "format", "output format", "markdown", "jsonl")
	app.NameFlag(cmd, &output, "output", "FILE", "output file (default: logs/FRAME.md or .jsonl in flame's data folder)")
	app.NameFlag(cmd, &transcript, "transcript", "PATH", "file or folder to read (default: where the host keeps it)")
	return a.NeedsProject(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		log, err := stack.LogOf(ctx, p, a.Caller(), args[0], false)
		if err != nil {
			return err
		}
		sources, err := transcriptsOf(a, log, transcript)
		if err != nil {
			return err
		}
		file := output
		if file == "" {
			at, err := a.Place()
			if err != nil {
				return err
			}
			if file, err = transfer.LogFile(at.Data.Path, log.Frame.ID, lo.Ternary(format == "jsonl", "jsonl", "md")); err != nil {
				return err
			}
		}
		frame, err := stack.SaveLog(ctx, p, a.Caller(), log.Frame.ID, file, func(w io.Writer) error { return writeLog(ctx, w, format, log, sources) })
		return a.Answer(map[string]string{"frame": frame.ID, "path": frame.LogPath}, frame.LogPath, err)
	})
}

const oldSessions = "hosts delete old sessions; if you have a copy of the transcript, name it with --transcript"

// transcriptsOf finds the host's log of a frame's session: in path, or where the host keeps it.
func transcriptsOf(a *app.App, log stack.Log, path string) ([]transcripts.Log, error) {
	if path == "" {
		machine, err := a.Machine()
		if err != nil {
			return nil, err
		}
		found, err := a.Hosts.LogOf(machine, log.Host, log.Frame.Session, log.Path)
		if problem := (*core.Problem)(nil); errors.As(err, &problem) {
			return nil, problem.WithHint(oldSessions)
		}
		return []transcripts.Log{found}, app.LogProblem(err, log.Path, a.Hosts)
	}
	logs, err := a.Hosts.Formats().Detect(path, nil)
	for i := range logs {
		if logs[i].Format.Database != nil {
			logs[i].Session = log.Frame.Session
		}
	}
	return logs, app.LogProblem(err, path, a.Hosts)
}

// writeLog writes the part of the sources that belongs to a frame's log.
func writeLog(ctx context.Context, w io.Writer, format string, log stack.Log, sources []transcripts.Log) error {
	found, failed := 0, error(nil)
	messages := func(yield func(core.Message) bool) {
		for m, err := range log.Part(transcripts.Complete(ctx, sources...)) {
			if failed = err; err != nil || !yield(m) {
				return
			}
			if m.Role != core.RoleOther {
				found++
			}
		}
	}
	var err error
	if format == "jsonl" {
		err = transcripts.JSONL(w, messages)
	} else {
		err = transcripts.Markdown(w, log.Frame.Goal+" ("+log.Frame.ID+")", messages)
	}
	if err := errors.Join(failed, err); err != nil {
		return err
	}
	if found == 0 {
		return core.NotFoundf("session %s has no messages left from the time of %s", log.Frame.Session, log.Frame.ID).WithHint(oldSessions)
	}
	return nil
}
