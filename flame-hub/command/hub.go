// Package command has the commands of flame-hub: the hub where machines meet, joining and
// leaving it, and workers.
package command

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/samber/lo"
	"github.com/spf13/cobra"

	"flame/agents/plan"
	"flame/cli/agentcmd"
	"flame/cli/app"
	"flame/core"
	"flame/flame-hub/client"
	"flame/flame-hub/server"
	"flame/flame-hub/worker"
	"flame/hosts"
	"flame/local/place"
	"flame/project"
	"flame/render"
)

// All lists the commands of flame-hub.
func All() []app.Entry {
	return []app.Entry{
		{Name: "hub", Make: newHub}, {Name: "join", Make: newJoin}, {Name: "leave", Make: newLeave}, {Name: "worker", Make: newWorker},
		{Name: "call", Make: newCall}, {Name: "supervise", Make: agentcmd.NewSupervise},
	}
}

// newHub makes `flame hub`.
func newHub(a *app.App) *cobra.Command {
	h := server.Hub{Now: time.Now, Say: a.PrintNote}
	var temporary, printUnit bool
	cmd := app.HubCommand("hub")
	cmd.Args = app.CheckArgs(0, 0)
	cmd.Long = "Run a server through which machines that work on the same project share their frames:\n" +
		"a nats-server that flame configures. By default it accepts connections only from this\n" +
		"machine; --listen changes that. Connections are encrypted, and each machine has its own\n" +
		"key for one project. `flame hub invite` prints the line with which a machine joins. You\n" +
		"can lose the hub: some machine has each piece of its data. With a NATS server of your\n" +
		"own you do not need this command: `flame join URL`."
	cmd.Flags().StringVar(&h.Listen, "listen", "",
		"listen on this address (default: the previous address, else "+server.DefaultListen+", which only this machine reaches)")
	app.SizeFlag(cmd, &h.Space, "space", "disk space of each project; a full project does not affect the others (default: the previous value, else 5GB)")
	data := dataFlag(cmd)
	cmd.Flags().BoolVar(&temporary, "temporary", false, "allow a folder that this machine empties at a restart, for a trial")
	cmd.Flags().BoolVar(&printUnit, "print-unit", false, "print a systemd unit that runs the hub, and start nothing")
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if h.Listen != "" {
			if err := server.CheckListen(h.Listen); err != nil {
				return app.NewUsageError(cmd, "--listen: %v", err)
			}
		}
		if given := cmd.Flags().Lookup("space"); given.Changed && (h.Space < server.LeastSpace || h.Space > server.MostSpace) {
			return app.NewUsageError(cmd, "--space takes 100MB to 100TB, not %q", given.Value)
		}
		if h.Folder, err = data(temporary); err != nil {
			return err
		}
		return run(cmd.Context(), a, h, printUnit)
	}
	cmd.AddCommand(newInvite(a), newMachines(a))
	return cmd
}

// dataFlag defines the flag --data, and returns a function that returns the folder. Only
// `flame hub` decides whether it may be a temporary one.
func dataFlag(cmd *cobra.Command) func(temporary bool) (server.Folder, error) {
	var dir string
	app.NameFlag(cmd, &dir, "data", "FOLDER", "folder with the hub's data (default: ~/.local/share/flame-hub)")
	return func(temporary bool) (server.Folder, error) {
		if dir != "" {
			path, err := filepath.Abs(dir)
			return server.Folder{Path: path, Temporary: temporary}, err
		}
		home, err := os.UserHomeDir()
		dataHome := os.Getenv("XDG_DATA_HOME")
		if err != nil && !filepath.IsAbs(dataHome) {
			return server.Folder{}, core.Invalidf("there is no home folder").WithHint("name a folder for the hub's data: --data FOLDER")
		}
		return server.Folder{Path: server.DefaultFolder(dataHome, home), Temporary: temporary}, nil
	}
}

// run runs a hub, or prints its unit.
func run(ctx context.Context, a *app.App, h server.Hub, printUnit bool) error {
	home, _ := os.UserHomeDir() // without a home, flame looks for the server on PATH alone
	program, err := server.FindProgram(ctx, home)
	if err != nil {
		return err
	}
	h.Program = program.Path
	if printUnit {
		return unit(a, h)
	}
	if !program.Pinned() {
		a.PrintNote(fmt.Sprintf("%s is version %s; flame is tested with %s", program.Path, program.Version, client.ServerVersion))
	}
	a.DisableDeadline() // the server writes its data to the disk before it ends
	h.Ready = func(address string) {
		machines := "all machines that have joined and reach it"
		if server.Local(address) {
			machines = "this machine alone; for others: --listen 0.0.0.0:4222"
		}
		a.PrintNote(fmt.Sprintf("the hub listens on %s, for %s", address, machines))
		a.PrintNote("`flame hub invite`, in a project, prints the line with which a machine joins; data: " + h.Folder.Path)
	}
	return h.Run(ctx)
}

// unit prints the unit of systemd.
func unit(a *app.App, h server.Hub) error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	words := []string{own, "hub", "--data", h.Folder.Path}
	if h.Listen != "" {
		words = append(words, "--listen", h.Listen)
	}
	if h.Space > 0 {
		words = append(words, "--space", fmt.Sprintf("%dMB", h.Space>>20))
	}
	text := server.Unit(words, filepath.Dir(h.Program)+":/usr/local/bin:/usr/bin:/bin")
	return a.Out.Print(map[string]string{"unit": text}, text)
}

func newInvite(a *app.App) *cobra.Command {
	var guest server.InviteOptions
	cmd := &cobra.Command{
		Use: "invite", Short: "Print the line with which one machine joins this project",
		Example: "  flame hub invite\n  flame hub invite --project shop-1a2b3c4d --expires 1d --address build.example.com:4222",
		Long: "Print the line with which one machine joins this project on the hub that runs here.\n" +
			"It works once, within an hour. Until then keep it secret: anyone who has it can join.",
		Args: app.CheckArgs(0, 0),
	}
	app.NameFlag(cmd, &guest.Project, "project", "NAME",
		"name of the project on the hub (default: this folder's name and the beginning of its first commit)")
	app.DurationFlag(cmd, &guest.For, "expires", "1h", "how long the line works")
	app.NameFlag(cmd, &guest.Address, "address", "HOST:PORT", "the hub's address as that machine reaches it (default: the address on which the hub listens)")
	return asksHub(cmd, func(ctx context.Context, folder server.Folder, _ []string) error {
		return invite(ctx, a, folder, guest)
	})
}

// asksHub sets up a command that works with the folder of the hub that runs here.
func asksHub(cmd *cobra.Command, run func(ctx context.Context, folder server.Folder, args []string) error) *cobra.Command {
	data := dataFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		folder, err := data(true)
		if err != nil {
			return err
		}
		return run(cmd.Context(), folder, args)
	}
	return cmd
}

func invite(ctx context.Context, a *app.App, folder server.Folder, guest server.InviteOptions) error {
	if guest.Project == "" {
		at, err := a.Place()
		if err != nil {
			return err
		}
		guest.Project = projectOf(ctx, a, at)
	}
	made, err := folder.Invite(ctx, guest, time.Now())
	if err != nil {
		return err
	}
	if err := awaited(ctx, a, folder, made); err != nil {
		return err
	}
	switch {
	case guest.Address != "":
	case !server.Local(made.Address):
		a.PrintNote("if other machines reach this machine at another address than " + made.Address + ", give it with --address")
	default:
		a.PrintNote("only this machine reaches " + made.Address + "; for others: `flame hub --listen 0.0.0.0:4222`, or --address if they reach it in another way")
	}
	line := "flame join '" + made.String() + "'"
	return a.Out.Print(map[string]string{"join": made.String(), "project": made.Project, "address": made.Address}, line)
}

// awaited waits until a line works, if the hub runs.
func awaited(ctx context.Context, a *app.App, folder server.Folder, made server.Invitation) error {
	if !folder.Running() {
		a.PrintNote("the hub is not running; the line works once it is")
		return nil
	}
	here, err := folder.Here()
	if err != nil {
		return err
	}
	return made.AwaitAt(ctx, here)
}

// projectOf returns the default name of a project on a hub: that of
// its folder, with the beginning of its first commit, which is the same in every clone.
func projectOf(ctx context.Context, a *app.App, at place.Place) string {
	name := strings.Trim(strings.Map(func(c rune) rune {
		if server.ValidProject(string(c)) != nil {
			return '-'
		}
		return c
	}, filepath.Base(at.Dir)), "-_")
	name = cmp.Or(name[:min(len(name), 40)], "project")
	if begin := commitOf(ctx, a, at); begin != "" {
		name += "-" + begin
	}
	return name
}

// commitPart is how many characters of the first commit are in a project's name.
const commitPart = 8

// commitOf returns the first characters of the id of a project's first commit; empty if it
// has none, or git is slow.
func commitOf(ctx context.Context, a *app.App, at place.Place) string {
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	commit, err := a.FirstCommit(ctx, at.Worktree)
	if err != nil || len(commit) < commitPart {
		return ""
	}
	return commit[:commitPart]
}

// commitIn returns the beginning of a commit that projectOf has put into a project's name;
// empty without one.
func commitIn(project string) string {
	at := strings.LastIndexByte(project, '-') + 1
	if part := project[at:]; at > 0 && len(part) == commitPart && strings.Trim(part, "0123456789abcdef") == "" {
		return part
	}
	return ""
}

func newMachines(a *app.App) *cobra.Command {
	var removed string
	cmd := &cobra.Command{
		Use: "machines", Short: "List the machines that have joined the hub that runs here, or remove one", Args: app.CheckArgs(0, 0),
		Example: "  flame hub machines\n  flame hub machines --remove laptop-k3x9",
	}
	app.NameFlag(cmd, &removed, "remove", "MACHINE", "stop this machine, for example a lost one, from connecting; its frames stay")
	return asksHub(cmd, func(ctx context.Context, folder server.Folder, _ []string) error {
		if removed != "" {
			gone, err := folder.Remove(ctx, removed)
			text := strings.Join(lo.Map(gone, func(m server.Machine, _ int) string {
				return fmt.Sprintf("%s can no longer connect to project %s.\n", m.ID, m.Project)
			}), "")
			return a.Answer(gone, text, err)
		}
		known, err := folder.Machines()
		text := ""
		for _, m := range known {
			text += fmt.Sprintf("%s/%s  joined %s\n", m.Project, m.ID, render.Time(m.JoinedAt, core.MillisOf(time.Now())))
		}
		return a.Answer(known, cmp.Or(text, "No machine has joined. `flame hub invite` prints the line with which a machine joins."), err)
	})
}

// newWorker makes `flame worker`.
func newWorker(a *app.App) *cobra.Command {
	w := worker.Worker{Most: hosts.ModeAcceptEdits}
	cmd := app.HubCommand("worker")
	cmd.Args = app.CheckArgs(0, 0)
	cmd.Long = "Take agents from a queue of the hub that this project has joined, and run them here,\n" +
		"with the hosts and the keys of the user who runs this command. Other machines queue\n" +
		"them: `flame agents spawn --on QUEUE`. An agent gets the mode that the asking machine\n" +
		"gives it, but none wider than --max-mode. Ctrl-C cancels running agents and reports\n" +
		"that to the machines that asked for them."
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case !plan.ValidQueue(w.Queue):
			return app.NewUsageError(cmd, "--queue: name a queue, with letters, digits, - and _")
		case w.Slots < 1 || w.Slots > maxSlots:
			return app.NewUsageError(cmd, "--slots is from 1 to %d", maxSlots)
		}
		return nil
	}
	own := cmd.Flags()
	own.StringVar(&w.Queue, "queue", "default", "the queue to serve")
	own.IntVar(&w.Slots, "slots", 1, "how many agents to run at a time")
	app.EnumFlag(cmd, &w.Most, "max-mode", "the widest mode that agents may have", w.Most.Values()...)
	own.StringSliceVar(&w.Repos, "repos", nil, "repositories that agents may work in, such as github.com/me/* (default: this project's)")
	return a.NeedsPlace(cmd, func(ctx context.Context, at place.Place, _ []string) error { return work(ctx, a, at, &w) })
}

// maxSlots bounds how many agents a worker runs at a time.
const maxSlots = 64

// work serves a queue until ctx ends.
func work(ctx context.Context, a *app.App, at place.Place, w *worker.Worker) error {
	return a.At(at, true, func(p *project.Project) error {
		w.Agents = a.Agents(p, at)
		p.HostProcess = nil // this process is no host
		a.DisableDeadline()
		w.Data, w.Log = at.Data.Path, p.Log
		if len(w.Repos) == 0 {
			w.Repos = worker.OwnRepository(ctx, at.Worktree)
		}
		var mu sync.Mutex
		w.Say = func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			a.PrintNote(fmt.Sprintf(format, args...))
		}
		// The background work continues until the last agent has ended: this may be the only
		// process of flame on its machine.
		lasting, stop := context.WithCancel(context.WithoutCancel(ctx))
		beside := a.RunMaintenance(lasting, w.Agents, at)
		defer beside.Wait()
		defer stop()
		beside.Go(func() { a.KeepHub(lasting, p, at) })
		return w.Run(ctx)
	})
}
