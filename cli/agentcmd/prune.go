package agentcmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/cli/app"
	"flame/cli/flags"
	"flame/core"
	"flame/render"
)

func newPrune(a *app.App) *cobra.Command {
	var age time.Duration
	var look bool
	cmd := &cobra.Command{
		Use: "prune", Short: "Delete the output and worktrees of agents that ended long ago",
		Example: "  flame agents prune --older-than 7d --dry-run", Args: flags.Takes(0, 0),
		Long: "Delete what agents that ended long ago printed, and their worktrees. Records,\n" +
			"results, frames and patches stay, and the agents can still be resumed.",
	}
	flags.Lasts(cmd, &age, "older-than", 30*24*time.Hour, "minimum time since they ended")
	cmd.Flags().BoolVar(&look, "dry-run", false, "only say what would be deleted")
	return asksAgents(a, cmd, func(ctx context.Context, s *agents.Agents, _ []string) error {
		pruned, err := s.Prune(ctx, s.Project.Now()-core.Millis(age.Milliseconds()), look)
		if err != nil {
			return err
		}
		done := "deleted"
		if look {
			done = "to delete"
		}
		size, count := render.Megabytes(pruned.Bytes), render.Count(len(pruned.Agents), "agent")
		return a.Out.Print(pruned, fmt.Sprintf("%s of %s %s\n%s", size, count, done, strings.Join(pruned.Agents, "\n")))
	})
}
