// Package hubcmd has the commands about several machines: the hub where they meet, and
// joining and leaving it.
package hubcmd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/cli/flags"
	"flame/core"
	"flame/hub"
	"flame/hub/server"
	"flame/project/place"
)

// hubOptions are the flags of `flame hub`.
type hubOptions struct {
	listen    string
	space     int64
	data      dataFlags
	printUnit bool
}

// NewHub makes `flame hub`.
func NewHub(a *app.App) *cobra.Command {
	var opts hubOptions
	cmd := &cobra.Command{
		Use: "hub", Short: "Run the server where several machines share their trees",
		Example: "  flame hub\n  flame hub --listen 0.0.0.0:4222\n  flame hub --print-unit > ~/.config/systemd/user/flame-hub.service",
		Long: "Run a server where machines meet that work on the same project, so that each shows\n" +
			"the frames of all: a nats-server, whose configuration flame writes. Unless --listen says\n" +
			"otherwise, only this machine reaches it. Connections are encrypted, and each machine has a key of its own, for\n" +
			"one project. `flame hub invite` prints the line with which a machine joins. The hub\n" +
			"holds nothing that some machine does not have; it may be lost. If you have a NATS server\n" +
			"already, you need none of this: `flame join URL`.",
		Args: flags.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.listen != "" {
				if err := server.CheckListen(opts.listen); err != nil {
					return flags.Wrong(cmd, "--listen: %v", err)
				}
			}
			if given := cmd.Flags().Lookup("space"); given.Changed && (opts.space < server.LeastSpace || opts.space > server.MostSpace) {
				return flags.Wrong(cmd, "--space takes 100MB to 100TB, not %q", given.Value)
			}
			return hubs{a}.run(cmd.Context(), opts)
		},
	}
	cmd.Flags().StringVar(&opts.listen, "listen", "",
		"listen on this address (default: the one of last time, else "+server.DefaultListen+", for this machine alone)")
	flags.Holds(cmd, &opts.space, "space", "what each project may keep on the disk; others go on when one has it all (default: that of last time, else 5GB)")
	opts.data.add(cmd)
	cmd.Flags().BoolVar(&opts.data.temporary, "temporary", false, "for a trial: allow a folder that this machine empties when it restarts")
	cmd.Flags().BoolVar(&opts.printUnit, "print-unit", false, "print a unit for systemd that runs it, and start nothing")
	cmd.AddCommand(newInvite(a), newMachines(a), newRemove(a))
	return cmd
}

// dataFlags say where a hub's data is.
type dataFlags struct {
	dir       string
	temporary bool
}

// add defines the flag --data.
func (d *dataFlags) add(cmd *cobra.Command) {
	cmd.Flags().Var(flags.NotBlank{Name: &d.dir, Of: "FOLDER"}, "data", "folder with the hub's data (default: ~/.local/share/flame-hub)")
}

// folder returns the folder.
func (d dataFlags) folder() (server.Folder, error) {
	if d.dir != "" {
		path, err := filepath.Abs(d.dir)
		return server.Folder{Path: path, Temporary: d.temporary}, err
	}
	home, err := os.UserHomeDir()
	dataHome := os.Getenv("XDG_DATA_HOME")
	if err != nil && !filepath.IsAbs(dataHome) {
		return server.Folder{}, core.Invalidf("there is no home folder").WithHint("name a folder for the hub's data with --data")
	}
	return server.Folder{Path: server.DefaultFolder(dataHome, home), Temporary: d.temporary}, nil
}

// The hubs are those of this user's on this machine.
type hubs struct{ app *app.App }

func (c hubs) run(ctx context.Context, opts hubOptions) error {
	folder, err := opts.data.folder()
	if err != nil {
		return err
	}
	home, _ := os.UserHomeDir() // without one, the server is on PATH or nowhere
	program, err := server.FindProgram(ctx, home)
	if err != nil {
		return err
	}
	if opts.printUnit {
		return c.unit(opts, folder, program)
	}
	if !program.Pinned() {
		c.app.Note(fmt.Sprintf("%s is version %s; flame is tested with %s", program.Path, program.Version, hub.ServerVersion))
	}
	c.app.TakeTime() // the server writes what it has before it ends
	return server.Hub{
		Folder: folder, Listen: opts.listen, Space: opts.space, Program: program.Path, Now: time.Now, Say: c.app.Note,
		Ready: func(address string) {
			who := "every machine that reaches it and has joined"
			if server.Local(address) {
				who = "this machine alone; for others: --listen 0.0.0.0:4222"
			}
			c.app.Note(fmt.Sprintf("the hub listens on %s, for %s", address, who))
			c.app.Note("`flame hub invite`, in a project, prints the line with which a machine joins; data: " + folder.Path)
		},
	}.Run(ctx)
}

// unit prints the unit of systemd.
func (c hubs) unit(opts hubOptions, folder server.Folder, program server.Program) error {
	flame, err := os.Executable()
	if err != nil {
		return err
	}
	words := []string{flame, "hub", "--data", folder.Path}
	if opts.listen != "" {
		words = append(words, "--listen", opts.listen)
	}
	if opts.space > 0 {
		words = append(words, "--space", fmt.Sprintf("%dMB", opts.space>>20))
	}
	text := server.Unit(words, filepath.Dir(program.Path)+":/usr/local/bin:/usr/bin:/bin")
	return c.app.Out.Print(map[string]string{"unit": text}, strings.TrimSuffix(text, "\n"))
}

// inviteOptions are the flags of `flame hub invite`.
type inviteOptions struct {
	project, address string
	expires          time.Duration
	data             dataFlags
}

func newInvite(a *app.App) *cobra.Command {
	var opts inviteOptions
	cmd := &cobra.Command{
		Use: "invite", Short: "Print the line with which one machine joins this project",
		Example: "  flame hub invite\n  flame hub invite --project shop-1a2b3c4d --expires 1d --address build.example.com:4222",
		Long: "Print the line with which one machine joins this project on the hub that runs here.\n" +
			"It works once, and for an hour; until then it is a secret: whoever has it can join.",
		Args: flags.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return hubs{a}.invite(cmd.Context(), opts) },
	}
	cmd.Flags().Var(flags.NotBlank{Name: &opts.project, Of: "NAME"}, "project",
		"name of the project on the hub (default: this folder's name, with the beginning of its first commit)")
	flags.Lasts(cmd, &opts.expires, "expires", time.Hour, "how long it works")
	cmd.Flags().Var(flags.NotBlank{Name: &opts.address, Of: "HOST:PORT"}, "address", "at which that machine reaches the hub (default: where it listens)")
	opts.data.add(cmd)
	return cmd
}

func (c hubs) invite(ctx context.Context, opts inviteOptions) error {
	opts.data.temporary = true // `flame hub` has decided that
	folder, err := opts.data.folder()
	if err != nil {
		return err
	}
	if opts.project == "" {
		at, err := c.app.Place()
		if err != nil {
			return err
		}
		opts.project = projectOf(ctx, c.app, at)
	}
	made, err := folder.Invite(ctx, server.Guest{Project: opts.project, For: opts.expires, Address: opts.address}, time.Now())
	if err != nil {
		return err
	}
	if err := c.awaited(ctx, folder, made); err != nil {
		return err
	}
	switch {
	case opts.address != "":
	case !server.Local(made.Address):
		c.app.Note("if other machines reach this one at another address than " + made.Address + ", name it with --address")
	default:
		c.app.Note(made.Address + " is reached by this machine alone; for others: `flame hub --listen 0.0.0.0:4222`, or --address if they reach it otherwise")
	}
	line := "flame join '" + made.String() + "'"
	return c.app.Out.Print(map[string]string{"join": made.String(), "project": made.Project, "address": made.Address}, line)
}

// awaited returns once a line works, if the hub runs.
func (c hubs) awaited(ctx context.Context, folder server.Folder, made server.Invitation) error {
	if !folder.Running() {
		c.app.Note("the hub does not run now; the line works once it does")
		return nil
	}
	here, err := folder.Here()
	if err != nil {
		return err
	}
	return made.AwaitAt(ctx, here)
}

// projectOf returns the name that a project has on a hub if nobody chooses another: that of
// its folder, with the beginning of its first commit, which is the same in every clone.
func projectOf(ctx context.Context, a *app.App, at place.Place) string {
	name := strings.Trim(strings.Map(func(c rune) rune {
		if server.ValidProject(string(c)) != nil {
			return '-'
		}
		return c
	}, filepath.Base(at.Dir)), "-_")
	name = cmp.Or(name[:min(len(name), 40)], "project")
	if begin := beginning(ctx, a, at); begin != "" {
		name += "-" + begin
	}
	return name
}

// commitPart is how many characters of the first commit are in a project's name.
const commitPart = 8

// beginning returns the first characters of the id of a project's first commit; empty if it
// has none, or git is slow.
func beginning(ctx context.Context, a *app.App, at place.Place) string {
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	commit, err := a.FirstCommit(ctx, at.Worktree)
	if err != nil || len(commit) < commitPart {
		return ""
	}
	return commit[:commitPart]
}
