package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/core"
	"flame/render"
	"flame/transcripts"
	"flame/transcripts/economy"
)

func newEconomy(a *app.App) *cobra.Command {
	var by string
	cmd := &cobra.Command{
		Use: "economy [FILE|DIR]", Short: "Show where the tokens of past sessions went, and what folding would have saved",
		Example: "  flame economy\n  flame economy --by day\n  flame economy " + a.Hosts.LogsOf(),
		Long: "Read the log of a session of " + a.Hosts.Titles("or") + ", by default the newest one of this\n" +
			"project, or all logs of a folder, and show what its requests were made of, what folding\n" +
			"would have left out, and what to do about the rest. The session need not have used flame.\n" +
			"With --by, add up what all sessions in all hosts used.",
		Args: app.CheckArgs(0, 1), ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		RunE: func(cmd *cobra.Command, args []string) error {
			logs, err := pastLogs(cmd.Context(), a, args, by != "")
			if err != nil {
				return err
			}
			if by != "" {
				return printSums(cmd.Context(), a, logs, by)
			}
			var unread []string
			report, err := economy.Analyze(transcripts.Readable(cmd.Context(), &unread, logs...), func(host string) int64 { return a.Hosts.Of(host).Setup.Burden })
			report.Unread = unread
			if err == nil && report.Requests == 0 {
				err = core.NotFoundf("%s has no answer that says how many tokens were sent", logs[0].Path).
					WithHint("name the log of another session: flame economy FILE")
			}
			return a.Answer(report, render.Economy(report, core.MillisOf(time.Now())), app.LogProblem(err, logs[0].Path, a.Hosts))
		},
	}
	app.EnumFlag(cmd, &by, "by", "add up what was used by this", sumParts()...)
	return cmd
}

// noteUnread names logs that flame could not read.
func noteUnread(a *app.App, unread []string) {
	for _, one := range unread {
		a.PrintNote("not read: " + one)
	}
}

// pastLogs returns the logs at the path of a command line; without one those of all sessions, or of the project's
// newest.
func pastLogs(ctx context.Context, a *app.App, args []string, all bool) ([]transcripts.Log, error) {
	if len(args) > 0 {
		logs, err := a.Hosts.Formats().Detect(args[0], a.Stdin)
		return logs, app.LogProblem(err, args[0], a.Hosts)
	}
	machine, err := a.Machine()
	if err != nil {
		return nil, err
	}
	if all {
		logs, unread, err := a.Hosts.AllLogs(machine)
		noteUnread(a, unread)
		return logs, err
	}
	return a.Hosts.NewestLogs(ctx, machine)
}
