package hubcmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/hub/server"
)

func newMachines(a *app.App) *cobra.Command {
	var data dataFlags
	cmd := &cobra.Command{
		Use: "machines", Short: "List the machines that have joined the hub that runs here", Example: "  flame hub machines", Args: flags.Takes(0, 0),
		RunE: func(*cobra.Command, []string) error { return hubs{a}.machines(data) },
	}
	data.add(cmd)
	return cmd
}

func (c hubs) machines(data dataFlags) error {
	data.temporary = true
	folder, err := data.folder()
	if err != nil {
		return err
	}
	known, err := folder.Machines()
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, m := range known {
		fmt.Fprintf(&b, "%s/%s  joined %s\n", m.Project, m.ID, m.JoinedAt.Time().Format("2006-01-02 15:04"))
	}
	if len(known) == 0 {
		b.WriteString("No machine has joined. `flame hub invite` prints the line with which one does.")
	}
	return c.app.Out.Print(append([]server.Machine{}, known...), strings.TrimSuffix(b.String(), "\n"))
}

func newRemove(a *app.App) *cobra.Command {
	var data dataFlags
	cmd := &cobra.Command{
		Use: "remove MACHINE", Short: "Let a machine connect no more to the hub that runs here",
		Example: "  flame hub remove laptop-k3x9", Args: flags.Takes(1, 1),
		Long: "Let a machine connect no more to the hub that runs here, for example because it was\nlost. Its frames stay.",
		RunE: func(cmd *cobra.Command, args []string) error { return hubs{a}.remove(cmd.Context(), data, args[0]) },
	}
	data.add(cmd)
	return cmd
}

func (c hubs) remove(ctx context.Context, data dataFlags, id string) error {
	data.temporary = true
	folder, err := data.folder()
	if err != nil {
		return err
	}
	removed, err := folder.Remove(ctx, id)
	if err != nil {
		return err
	}
	var lines []string
	for _, m := range removed {
		lines = append(lines, fmt.Sprintf("%s can no longer connect to project %s.", m.ID, m.Project))
	}
	return c.app.Out.Print(removed, strings.Join(lines, "\n"))
}
