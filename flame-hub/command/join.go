package command

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/core"
	"flame/flame-hub/client"
	"flame/flame-hub/server"
	"flame/hub"
	"flame/local/place"
	"flame/project"
	"flame/project/transfer"
)

// A joining is one run of `flame join`.
type joining struct {
	*app.App
	at             place.Place
	project, creds string // flags
	newID          bool
	data           func(temporary bool) (server.Folder, error)
}

// newJoin makes `flame join`.
func newJoin(a *app.App) *cobra.Command {
	c := joining{App: a}
	cmd := app.HubCommand("join")
	cmd.Args = app.CheckArgs(0, 1)
	cmd.Long = "Share this project's tree with the machines that have joined the same project on a hub:\n" +
		"with the LINE that `flame hub invite` printed there (- reads it from stdin); without an\n" +
		"argument, on the hub of this machine; or on a NATS server at a URL, which needs\n" +
		"JetStream and version 2.12. Flame sends goals, criteria, summaries, results, decisions,\n" +
		"paths of artifacts and usage; never logs, prompts, patches or absolute paths.\n" +
		"`flame serve`, which hosts run, does the sharing. `flame leave` ends it."
	app.NameFlag(cmd, &c.project, "project", "NAME",
		"name of the project on the hub (default: from the LINE, else this folder's name and the beginning of its first commit)")
	app.NameFlag(cmd, &c.creds, "creds", "FILE", "with a URL: a file with a JWT and its key")
	cmd.Flags().BoolVar(&c.newID, "new-id", false, "join as a new machine, if the data was copied from a machine that has joined")
	c.data = dataFlag(cmd)
	return a.NeedsPlace(cmd, func(ctx context.Context, at place.Place, args []string) error {
		to := strings.Join(args, "")
		if to == "-" {
			line, err := bufio.NewReader(io.LimitReader(a.Stdin, 4<<10)).ReadString('\n')
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			to = cmp.Or(lineOf(line), "-")
		}
		c.at = at
		return c.join(ctx, to)
	})
}

// lineOf returns the argument of `flame join` from a line that may contain the command and
// quotes, too.
func lineOf(text string) string {
	text = strings.TrimPrefix(strings.TrimSpace(text), "flame join ")
	return strings.Trim(strings.TrimSpace(text), `'"`)
}

func (c joining) join(ctx context.Context, to string) error {
	if _, err := c.at.Data.Ready(ctx, true); err != nil {
		return err
	}
	switch known, err := hub.Load(c.at.Data.Path); {
	case err == nil:
		return core.Invalidf("this project has already joined the hub at %s, as %s in %s", hub.RedactURL(known.URL), known.Machine, known.Project).
			WithHint("`flame doctor` shows its state; to join another hub, run `flame leave` first")
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	join := c.connect
	if to == "" || server.IsInvitation(to) {
		join = c.accept
	}
	link, err := join(ctx, to)
	text := fmt.Sprintf("Joined project %s at %s, as machine %s.\n"+
		"Frames of other machines appear within seconds while `flame serve` runs here; your host starts it. `flame help join` lists the data that flame sends.",
		link.Project, hub.RedactURL(link.URL), link.Machine)
	return c.Answer(map[string]string{"project": link.Project, "url": hub.RedactURL(link.URL), "machine": link.Machine}, text, err)
}

// machine returns the id with which this machine joins: its previous id, by which other machines
// know its frames, or a new one.
func (c joining) machine(ctx context.Context) (id string, err error) {
	if !c.newID {
		id, err = machineBefore(ctx, c.App, c.at)
	}
	if err == nil && id == "" {
		id = newMachine()
	}
	return id, err
}

// machineBefore returns the id with which this machine last shared its frames; empty if it
// never did.
func machineBefore(ctx context.Context, a *app.App, at place.Place) (id string, err error) {
	err = a.At(at, false, func(p *project.Project) (err error) {
		id, err = transfer.SharedAs(ctx, p)
		return err
	})
	return id, err
}

// accept joins with an invitation, or without a line with one of this machine's own hub.
func (c joining) accept(ctx context.Context, line string) (link hub.Link, err error) {
	if c.creds != "" {
		return link, core.Invalidf("--creds is for the URL of a NATS server: the line of an invitation contains a key")
	}
	var with server.Invitation
	if line == "" {
		with, err = c.ownInvitation(ctx)
	} else {
		with, err = server.ParseInvitation(line)
	}
	if err != nil {
		return link, err
	}
	if c.project != "" && c.project != with.Project {
		return link, core.Invalidf("the invitation is to project %s, not %s", with.Project, c.project).
			WithHint("ask for another line: `flame hub invite --project %s`", c.project)
	}
	own := commitOf(ctx, c.App, c.at)
	if theirs := commitIn(with.Project); c.project == "" && theirs != "" && own != "" && theirs != own {
		return link, core.Invalidf("the invitation is to project %s, another repository by its name: the first commit of %s is %s…", with.Project, c.at.Dir, own).
			WithHint("change to a clone of that repository; if the project is right, add --project %s", with.Project)
	}
	machine, err := c.machine(ctx)
	if err != nil {
		return link, err
	}
	if link, err = with.Accept(ctx, machine, core.MillisOf(time.Now())); err != nil {
		return link, err
	}
	if err := hub.Save(c.at.Data.Path, link); err != nil {
		return link, err
	}
	if err := server.Await(ctx, link); err != nil {
		c.PrintNote("joined, but the hub does not answer yet: " + err.Error() + "; `flame doctor` shows its state")
	}
	return link, nil
}

// ownInvitation makes an invitation to the hub that runs on this machine.
func (c joining) ownInvitation(ctx context.Context) (made server.Invitation, err error) {
	folder, err := c.data(true)
	if err != nil {
		return made, err
	}
	if !folder.Running() {
		return made, core.Invalidf("no hub runs on this machine, in %s", folder.Path).
			WithHint("`flame hub` starts one; to join the hub of another machine, give the line that `flame hub invite` printed there; or give the URL of a NATS server")
	}
	here, err := folder.Here()
	if err != nil {
		return made, err
	}
	guest := server.InviteOptions{Project: cmp.Or(c.project, projectOf(ctx, c.App, c.at)), For: time.Minute, Address: here}
	if made, err = folder.Invite(ctx, guest, time.Now()); err != nil {
		return made, err
	}
	return made, made.AwaitAt(ctx, here)
}

// connect joins on a NATS server of the user's.
func (c joining) connect(ctx context.Context, to string) (link hub.Link, err error) {
	if err := server.CheckURL(to); err != nil {
		return link, err
	}
	machine, err := c.machine(ctx)
	if err != nil {
		return link, err
	}
	link = hub.Link{URL: to, Project: cmp.Or(c.project, projectOf(ctx, c.App, c.at)), Machine: machine, JoinedAt: core.MillisOf(time.Now())}
	if err := server.ValidProject(link.Project); err != nil {
		return link, err
	}
	if c.creds != "" {
		if link.Creds, err = filepath.Abs(c.creds); err != nil {
			return link, err
		}
		if _, err := os.Stat(link.Creds); err != nil {
			return link, core.Invalidf("--creds: %v", err)
		}
	}
	conn, err := client.Connect(ctx, link)
	if err != nil {
		return link, err
	}
	conn.Close()
	return link, hub.Save(c.at.Data.Path, link)
}

// newLeave makes `flame leave`.
func newLeave(a *app.App) *cobra.Command {
	cmd := app.HubCommand("leave")
	cmd.Args = app.CheckArgs(0, 0)
	cmd.Long = "Stop sharing this project's tree with other machines. Frames of other machines stay in it\n" +
		"unchanged; `flame activate` takes one over without asking its machine. A hub that flame\n" +
		"runs deletes this machine's key, if flame reaches it. `flame join` joins again as the\n" +
		"same machine."
	return a.NeedsPlace(cmd, func(ctx context.Context, at place.Place, _ []string) error { return leave(ctx, a, at) })
}

func leave(ctx context.Context, a *app.App, at place.Place) error {
	if _, err := at.Data.Ready(ctx, false); err != nil {
		return err
	}
	link, err := hub.Load(at.Data.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return core.Invalidf("this project has joined no hub").WithHint("`flame help join` explains how to join one")
	case err != nil:
		link = hub.Link{}
		link.Machine, _ = machineBefore(ctx, a, at) // leaving works without it
		a.PrintNote(fmt.Sprintf("%v; the hub may still know the key that was in it: "+
			"`flame hub machines --remove %s`, run there, deletes it, and `flame hub machines` lists the known machines", err, cmp.Or(link.Machine, "MACHINE")))
	case link.Seed != "" && link.Pin != "":
		if err := server.GiveBack(ctx, link); err != nil {
			a.PrintNote(fmt.Sprintf("the hub still accepts this machine: %v; `flame hub machines --remove %s`, run there, ends that", err, link.Machine))
		}
	}
	text := "Left. Frames of other machines stay in this project's tree as they are.\n" +
		"`flame activate` now takes one over without asking its machine. `flame join` joins again as the same machine."
	return a.Answer(map[string]any{"left": true, "project": link.Project, "machine": link.Machine}, text, hub.Remove(at.Data.Path))
}

// newMachine returns an id for this machine on a hub: its name, without characters that ids
// lack, and some random characters.
func newMachine() string {
	name, _ := os.Hostname() // without a name, the random characters distinguish it
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	name = strings.Trim(strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, name), "-")
	if name = name[:min(len(name), 30)]; name == "" {
		name = "machine"
	}
	return name + "-" + strings.ToLower(rand.Text()[:5])
}
