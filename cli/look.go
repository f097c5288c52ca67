package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/agents"
	"flame/cli/app"
	"flame/core"
	"flame/core/outline"
	"flame/local/place"
	"flame/project"
	"flame/project/briefing"
	"flame/project/usage"
	"flame/project/view"
	"flame/render"
	"flame/transcripts"
	"flame/web"
)

func newTree(a *app.App) *cobra.Command {
	var all, details, follow bool
	cmd := &cobra.Command{
		Use: "tree [FRAME]", Aliases: []string{"ls", "list"}, Short: "Draw the frames of this project", Example: "  flame tree --details\n  flame tree --follow",
		Args: app.CheckArgs(0, 1), ValidArgsFunction: a.FrameArgs,
	}
	cmd.Flags().BoolVar(&all, "all", false, "draw all frames, archived ones too (default: open roots, and the latest others)")
	cmd.Flags().BoolVar(&details, "details", false, "show summaries, reasons, decisions and artifacts")
	cmd.Flags().BoolVar(&follow, "follow", false, "draw the tree again whenever it changes, until Ctrl-C")
	once := a.NeedsProject(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		tree, err := view.OutlineOf(ctx, p, a.Caller(), view.TreeArgs{Root: lo.FirstOrEmpty(args), Archived: all, Latest: latestRoots(all || a.Out.JSON)})
		switch {
		case err != nil:
			return err
		case tree.Size() == 0:
			return a.Out.Print([]core.Frame{}, a.NoFrames(ctx))
		case tree.Size() > treeLimit && !all && len(args) == 0 && !a.Out.JSON:
			return drawPart(ctx, a, p, tree.Size()+tree.Frames, details)
		}
		if err := noteOff(ctx, a, p); err != nil {
			return err
		}
		return a.Out.Tree(ctx, tree, details)
	}).RunE
	following := a.NeedsPlace(cmd, func(ctx context.Context, at place.Place, args []string) error {
		return followTree(ctx, a, at, view.TreeArgs{Root: lo.FirstOrEmpty(args), Archived: all, Latest: latestRoots(all || a.Out.JSON)}, details)
	}).RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if follow {
			return following(cmd, args)
		}
		return once(cmd, args)
	}
	return cmd
}

// latestRoots returns how many roots that have ended a tree shows beside the open ones; 0: all.
func latestRoots(all bool) int { return lo.Ternary(all, 0, 5) }

// treeLimit is how many frames `flame tree` draws before it draws a part.
const treeLimit = 200

// drawPart draws the frames around the current one, open and newest ones first of all, and counts
// the others.
func drawPart(ctx context.Context, a *app.App, p *project.Project, size int, details bool) error {
	tree, err := view.TreeOf(ctx, p, a.Caller(), view.TreeArgs{Limit: treeLimit})
	if err != nil {
		return err
	}
	options := outline.DrawOptions{Current: tree.Current, Details: details, MaxLine: a.Out.Width(), Wide: a.Out.Width() > 0}
	text := render.Off(tree.Off) + outline.Draw(tree.Lines, options) + outline.Legend()
	return a.Out.Draw(nil, fmt.Sprintf("%s\n%d frames: `flame tree --all` draws all, `flame tree FRAME` those below one", text, size))
}

// noteOff says so if hooks and injection are off.
func noteOff(ctx context.Context, a *app.App, p *project.Project) error {
	off, err := p.Off(ctx)
	if off {
		a.PrintNote(strings.TrimSpace(render.Off(true)))
	}
	return err
}

func newStatus(a *app.App) *cobra.Command {
	var short bool
	cmd := &cobra.Command{
		Use: "status", Short: "Say how the project stands, with the current frame and the tree around it", Example: "  flame status --line",
		Args: app.CheckArgs(0, 0),
	}
	cmd.Flags().BoolVar(&short, "line", false, "one line of at most 80 columns, for a host's status line")
	cmd.PersistentPreRun = func(*cobra.Command, []string) {
		if !short {
			a.Warn()
		}
	}
	whole := a.NeedsAgents(cmd, func(ctx context.Context, s *agents.Agents, _ []string) error { return printStatus(ctx, a, s) }).RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if short {
			return statusLine(cmd.Context(), a)
		}
		return whole(cmd, args)
	}
	return cmd
}

// A status is what `flame status --json` prints.
type status struct {
	Current string              `json:"current,omitempty"`
	Counts  map[core.Status]int `json:"counts"`
	Tree    json.RawMessage     `json:"tree"`
	More    map[core.Status]int `json:"more,omitempty"`    // roots left out
	Metered []usage.ClassTotals `json:"metered,omitempty"` // requests of the project that gateways measured
}

// statusLimit is how many frames a status shows before it counts the rest.
const statusLimit = 60

func printStatus(ctx context.Context, a *app.App, s *agents.Agents) error {
	tree, err := view.TreeOf(ctx, s.Project, a.Caller(), view.TreeArgs{Limit: statusLimit})
	if err != nil {
		return err
	}
	metered, err := project.Read(ctx, s.Project, usage.ByClass)
	if err != nil {
		return err
	}
	nodes, more, err := app.TreeJSON(tree.Lines, tree.Current)
	if err != nil {
		return err
	}
	_, text, err := todayOf(ctx, a, s, render.Around(tree, a.Out.Width()))
	if err != nil {
		return err
	}
	return a.Out.Draw(status{tree.Current, tree.Counts, nodes, more, metered}, text)
}

// The bounds of the document that a host writes to the command of its status line. It is small and arrives at once.
const (
	maxLineDocument = 1 << 20 // bytes
	linePatience    = 300 * time.Millisecond
)

// statusLine prints the current work in one line, or nothing (null in JSON) without any. A host
// would show an error as the status, so it gets no errors; the next call may succeed.
func statusLine(ctx context.Context, a *app.App) error {
	g, ok, err := lineOf(ctx, a)
	switch {
	case err != nil && !a.Out.JSON && !a.Out.OnTerminal():
		return nil
	case err != nil || ok:
		return a.Answer(g, render.StatusLine(g), err)
	case a.Out.JSON:
		return a.Out.Print(nil, "")
	}
	return nil
}

// lineOf returns the content of the status line; ok is false if there is no work.
func lineOf(ctx context.Context, a *app.App) (g agents.StatusSummary, ok bool, err error) {
	if a.Settings.Off {
		return g, false, nil
	}
	if !a.AtTerminal() {
		// It waits only for the document, and not for long.
		document, _ := within(linePatience, "document", func() (document json.RawMessage, err error) {
			err = json.NewDecoder(io.LimitReader(a.Stdin, maxLineDocument)).Decode(&document)
			return document, err
		})
		shown := a.Hosts.LinePlace(document)
		a.Folder, a.Session = shown.Folder, cmp.Or(a.Session, shown.Session)
	}
	at, err := hurriedPlace(a)
	if err != nil {
		return g, false, err
	}
	// It stores no waiting events and does no due work, because the host asks again and again.
	p, closeProject := a.Open(at, false)
	defer func() { _ = closeProject() }() // it only read
	return agents.StatusSummaryFor(ctx, p, a.Caller())
}

func newShow(a *app.App) *cobra.Command {
	var diff bool
	cmd := &cobra.Command{
		Use: "show FRAME", Short: "Show everything about one frame", Example: "  flame show frame-k3x9\n  flame show frame-k3x9 --diff",
		Args: app.CheckArgs(1, 1), ValidArgsFunction: a.FrameArgs,
	}
	cmd.Flags().BoolVar(&diff, "diff", false, "print the patches of the files that changed in it")
	return a.NeedsAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		details, err := view.DetailsOf(ctx, s.Project, a.Caller(), args[0])
		if err != nil {
			return err
		}
		details.Files, err = agents.FilesOf(ctx, s, a.Caller(), details.Frame.ID)
		if diff {
			return a.Answer(details, render.Patches(details.Files), err)
		}
		details.Files = details.Files.Bare()
		return a.Answer(details, render.Details(details, s.Project.Now()), err)
	})
}

func newContext(a *app.App) *cobra.Command {
	var chars uint
	cmd := &cobra.Command{
		Use: "context [FRAME]", Short: "Show the context that an agent in a frame gets", Example: "  flame context frame-k3x9",
		Args: app.CheckArgs(0, 1), ValidArgsFunction: a.FrameArgs,
	}
	cmd.Flags().UintVar(&chars, "chars", 0, "limit in characters (0: none)")
	return a.NeedsProject(cmd, func(ctx context.Context, p *project.Project, args []string) error {
		contexts, by := briefing.Contexts{Project: p}, a.Caller()
		made, err := contexts.Context(ctx, by, lo.FirstOrEmpty(args), int(chars))
		if err != nil {
			return err
		}
		if made.Text == "" {
			return core.Invalidf("no context fits in %d characters", chars).WithHint("allow about 500 or more")
		}
		return a.Out.Print(map[string]any{"frame": made.Frame.ID, "text": made.Text, "meta": made.Meta}, made.Text)
	})
}

func newSearch(a *app.App) *cobra.Command {
	var search view.SearchArgs
	var limit uint
	cmd := &cobra.Command{
		Use: "search TEXT", Short: "Find frames by words in goals, summaries, results, decisions and the work done in them",
		Example: "  flame search login --status completed", Args: app.CheckArgs(1, -1),
	}
	app.EnumFlag(cmd, &search.Status, "status", "only frames of this status", core.Words(core.Statuses...)...)
	cmd.Flags().UintVar(&limit, "limit", 20, "at most this many, up to 100")
	return a.NeedsAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		search.Text, search.Limit = strings.Join(args, " "), int(limit)
		found, err := view.Search(ctx, s.Project, a.Caller(), search)
		if err != nil || a.Out.JSON || search.Status != "" {
			return a.Answer(found, render.ShortSearchResults(search.Text, found), err)
		}
		reach, err := agents.Passages(ctx, s, a.Caller(), search.Text, "", int(limit))
		return a.Answer(found, render.WithPassages(render.ShortSearchResults(search.Text, found), found, reach), err)
	})
}

func newSessions(a *app.App) *cobra.Command {
	var args view.SessionArgs
	var limit uint
	cmd := &cobra.Command{
		Use: "sessions", Short: "List the hosts' sessions that work in this project", Example: "  flame sessions\n  flame sessions --all --json",
		Args: app.CheckArgs(0, 0),
		Long: "List the hosts' sessions that work in this project, the most recent first: id, host,\n" +
			"state, current work, and usage with that of subagents and agents.",
	}
	cmd.Flags().BoolVar(&args.Ended, "all", false, "include ended sessions")
	cmd.Flags().UintVar(&limit, "limit", 20, "at most this many (0: all)")
	return a.NeedsProject(cmd, func(ctx context.Context, p *project.Project, _ []string) error {
		args.Limit = int(limit)
		listed, more, err := view.SessionsOf(ctx, p, args)
		return a.Answer(listed, render.Sessions(listed, more, args.Ended, a.Hosts, p.Now(), a.Out.Width()), err)
	})
}

func newStats(a *app.App) *cobra.Command {
	var by string
	cmd := &cobra.Command{
		Use: "stats", Short: "Count frames and sessions, and sum up their usage", Example: "  flame stats\n  flame stats --by model", Args: app.CheckArgs(0, 0),
		Long: "Count the frames, sessions and agents of this project, and sum up their usage. With --by,\n" +
			"read the hosts' logs of its sessions, as far as hosts keep them, and add up what they used.",
	}
	app.EnumFlag(cmd, &by, "by", "add up what was used by this", sumParts()...)
	return a.NeedsAgents(cmd, func(ctx context.Context, s *agents.Agents, _ []string) error {
		if by == "" {
			stats, err := s.Stats(ctx)
			return a.Answer(stats, render.Stats(stats, a.Hosts), err)
		}
		logs, gone, foreign, err := logsOf(ctx, a, s.Project)
		if gone > 0 {
			a.PrintNote("not counted: " + render.Count(gone, "session") + " whose logs are gone or cannot be read")
		}
		if foreign > 0 {
			a.PrintNote("not counted: " + render.Count(foreign, "frame") + " without a session here: imported, or older than what flame keeps of sessions")
		}
		if err != nil {
			return err
		}
		return printSums(ctx, a, logs, by)
	})
}

// logsOf returns the hosts' logs of the project's sessions, how many sessions have none that flame can read, and how
// many frames used something in no session that is known here.
func logsOf(ctx context.Context, a *app.App, p *project.Project) (logs []transcripts.Log, gone, foreign int, err error) {
	machine, err := a.Machine()
	if err != nil {
		return nil, 0, 0, err
	}
	err = p.Store.View(ctx, func(tx project.Tx) error {
		sessions, err := tx.FindSessions(project.SessionQuery{})
		for _, session := range sessions {
			told, failed := project.RecordTranscript.Find(tx, session.ID)
			if failed != nil || session.Host == project.CommandLine {
				err = cmp.Or(err, failed)
				continue
			}
			if log, failed := a.Hosts.LogOf(machine, session.Host, session.ID, told.Path); failed == nil {
				logs = append(logs, log)
			} else if session.Parent == "" {
				gone++
			}
		}
		here := lo.SliceToMap(sessions, func(s core.Session) (string, bool) { return s.ID, true })
		frames, failed := tx.FramesChangedSince(0)
		foreign = lo.CountBy(frames, func(f core.Frame) bool { return f.Usage != (core.Usage{}) && !here[f.Session] })
		return cmp.Or(err, failed)
	})
	return logs, gone, foreign, err
}

func newReport(a *app.App) *cobra.Command {
	format, file := web.HTML, ""
	cmd := &cobra.Command{
		Use: "report [FRAME]", Short: "Write a report with the picture and the tree into one file",
		Example: "  flame report -o report.html\n  flame report frame-k3x9 --format md",
		Long: "Write the frames of this project, or those below one frame, into one self-contained\n" +
			"file: a page (html) or a text (md). It contains goals, summaries, results, decisions,\n" +
			"artifacts and agents' last words, but no logs.\n" +
			"An output of - is standard output.",
		Args: app.CheckArgs(0, 1), ValidArgsFunction: a.FrameArgs,
	}
	app.EnumFlag(cmd, &format, "format", "format of the file", string(web.HTML), string(web.Markdown))
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this file (default: standard output)")
	return a.NeedsAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		report, err := web.ReportOf(ctx, s, lo.FirstOrEmpty(args))
		switch {
		case err != nil:
			return err
		case file == "" && a.Out.JSON:
			return a.Out.Print(report, "")
		case file == "" || file == "-":
			return report.Write(a.Stdout, format)
		}
		path, err := filepath.Abs(file)
		if err == nil {
			err = place.Save(path, 0o600, func(w io.Writer) error { return report.Write(w, format) })
		}
		return a.Answer(map[string]string{"path": path}, path, err)
	})
}
