package hubcmd

import (
	"bufio"
	"cmp"
	"context"
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
	"flame/cli/flags"
	"flame/core"
	"flame/hub"
	"flame/hub/server"
	"flame/project"
	"flame/project/place"
	"flame/project/shared"
)

// joinOptions are the flags of `flame join`.
type joinOptions struct {
	project, creds string
	newID          bool
	data           dataFlags
}

// NewJoin makes `flame join`.
func NewJoin(a *app.App) *cobra.Command {
	var opts joinOptions
	cmd := &cobra.Command{
		Use: "join [LINE|URL]", Short: "Share this project's tree with other machines, by way of a hub",
		Example: "  flame join 'tls://192.168.1.5:4222/shop-1a2b3c4d#SUA…'\n  flame join\n  flame join nats://USER:PASSWORD@nats.example.com --project shop",
		Long: "Share this project's tree with the machines that have joined the same project on a hub:\n" +
			"with the LINE that `flame hub invite` printed there (- reads it from stdin), or, without\n" +
			"an argument, on the hub that runs on this machine; or on a NATS server at a URL, which\n" +
			"needs JetStream and version 2.12. What travels: goals, criteria, summaries, results,\n" +
			"decisions, paths of artifacts, usage; never logs, prompts, patches or absolute paths.\n" +
			"`flame serve`, which hosts run, does the sharing. `flame leave` ends it.",
		Args: flags.Takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			to := strings.Join(args, "")
			if to == "-" {
				line, err := bufio.NewReader(io.LimitReader(a.Stdin, 4<<10)).ReadString('\n')
				if err != nil && !errors.Is(err, io.EOF) {
					return err
				}
				to = cmp.Or(lineOf(line), "-")
			}
			return members{a}.join(cmd.Context(), to, opts)
		},
	}
	cmd.Flags().Var(flags.NotBlank{Name: &opts.project, Of: "NAME"}, "project",
		"name of the project on the hub (default: as the LINE says, else this folder's name, with the beginning of its first commit)")
	cmd.Flags().Var(flags.NotBlank{Name: &opts.creds, Of: "FILE"}, "creds", "with a URL: file with a JWT and its key")
	cmd.Flags().BoolVar(&opts.newID, "new-id", false, "have this machine be another one than before, where its data were copied from one that has joined")
	opts.data.add(cmd)
	return cmd
}

// machine returns the id with which this machine joins: the one that it had before, under
// which others know its frames.
func (c members) machine(ctx context.Context, at place.Place, opts joinOptions) (id string, err error) {
	if !opts.newID {
		id, err = c.before(ctx, at)
	}
	if err == nil && id == "" {
		id = hub.NewMachine()
	}
	return id, err
}

// before returns the id that this machine had when it shared its frames last; empty if it
// never did.
func (c members) before(ctx context.Context, at place.Place) (id string, err error) {
	err = c.app.At(at, false, func(p *project.Project) (err error) {
		id, err = shared.Machine(ctx, p)
		return err
	})
	return id, err
}

// lineOf returns the argument of `flame join` in a line that somebody passed on, which may
// have the command and its quotes.
func lineOf(text string) string {
	text = strings.TrimPrefix(strings.TrimSpace(text), "flame join ")
	return strings.Trim(strings.TrimSpace(text), `'"`)
}

// The members are the machines of a project; this one joins and leaves.
type members struct{ app *app.App }

func (c members) join(ctx context.Context, to string, opts joinOptions) error {
	at, err := c.app.Place()
	if err != nil {
		return err
	}
	if _, err := at.Data.Ready(ctx, true); err != nil {
		return err
	}
	switch known, err := hub.Load(at.Data.Path); {
	case err == nil:
		return core.Invalidf("this project has joined the hub at %s already, as %s in %s", hub.Shown(known.URL), known.Machine, known.Project).
			WithHint("`flame doctor` shows how that goes; to join another, `flame leave` first")
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	var link hub.Link
	if to == "" || server.IsInvitation(to) {
		link, err = c.accept(ctx, at, to, opts)
	} else {
		link, err = c.connect(ctx, at, to, opts)
	}
	if err != nil {
		return err
	}
	text := fmt.Sprintf("Joined project %s at %s, as machine %s.\n"+
		"Frames of other machines show within seconds while `flame serve` runs here, as your host starts it; what travels: `flame help join`.",
		link.Project, hub.Shown(link.URL), link.Machine)
	return c.app.Out.Print(map[string]string{"project": link.Project, "url": hub.Shown(link.URL), "machine": link.Machine}, text)
}

// accept joins with an invitation, or without a line with one of this machine's own hub.
func (c members) accept(ctx context.Context, at place.Place, line string, opts joinOptions) (link hub.Link, err error) {
	if opts.creds != "" {
		return link, core.Invalidf("--creds is for the URL of a NATS server: the line of an invitation has its key in it")
	}
	var with server.Invitation
	if line == "" {
		with, err = c.ownInvitation(ctx, at, opts)
	} else {
		with, err = server.ParseInvitation(line)
	}
	if err != nil {
		return link, err
	}
	if opts.project != "" && opts.project != with.Project {
		return link, core.Invalidf("the invitation is to project %s, not %s", with.Project, opts.project).
			WithHint("ask for another: `flame hub invite --project %s`", opts.project)
	}
	own := beginning(ctx, c.app, at)
	if theirs := namedCommit(with.Project); opts.project == "" && theirs != "" && own != "" && theirs != own {
		return link, core.Invalidf("the invitation is to project %s, another repository by its name: the first commit of %s is %s…", with.Project, at.Dir, own).
			WithHint("change to a clone of that one; if it is right all the same: --project %s", with.Project)
	}
	machine, err := c.machine(ctx, at, opts)
	if err != nil {
		return link, err
	}
	if link, err = with.Accept(ctx, machine, core.MillisOf(time.Now())); err != nil {
		return link, err
	}
	if err := hub.Save(at.Data.Path, link); err != nil {
		return link, err
	}
	if err := server.Await(ctx, link); err != nil {
		c.app.Note("joined, but the hub does not answer yet: " + err.Error() + "; `flame doctor` says how it goes")
	}
	return link, nil
}

// namedCommit returns the beginning of a commit in a project's name, as projectOf puts it
// there; empty if there is none.
func namedCommit(project string) string {
	at := strings.LastIndexByte(project, '-') + 1
	if part := project[at:]; at > 0 && len(part) == commitPart && strings.Trim(part, "0123456789abcdef") == "" {
		return part
	}
	return ""
}

// ownInvitation makes an invitation to the hub that runs on this machine.
func (c members) ownInvitation(ctx context.Context, at place.Place, opts joinOptions) (server.Invitation, error) {
	opts.data.temporary = true
	folder, err := opts.data.folder()
	if err != nil {
		return server.Invitation{}, err
	}
	if !folder.Running() {
		return server.Invitation{}, core.Invalidf("no hub runs on this machine, in %s", folder.Path).
			WithHint("`flame hub` starts one; to join another machine's, give the line that `flame hub invite` printed there; or give the URL of a NATS server")
	}
	here, err := folder.Here()
	if err != nil {
		return server.Invitation{}, err
	}
	guest := server.Guest{Project: cmp.Or(opts.project, projectOf(ctx, c.app, at)), For: time.Minute, Address: here}
	made, err := folder.Invite(ctx, guest, time.Now())
	if err != nil {
		return made, err
	}
	return made, made.AwaitAt(ctx, here)
}

// connect joins on a server that somebody else runs.
func (c members) connect(ctx context.Context, at place.Place, to string, opts joinOptions) (link hub.Link, err error) {
	if err := server.CheckURL(to); err != nil {
		return link, err
	}
	machine, err := c.machine(ctx, at, opts)
	if err != nil {
		return link, err
	}
	link = hub.Link{URL: to, Project: cmp.Or(opts.project, projectOf(ctx, c.app, at)), Machine: machine, JoinedAt: core.MillisOf(time.Now())}
	if err := server.ValidProject(link.Project); err != nil {
		return link, err
	}
	if opts.creds != "" {
		if link.Creds, err = filepath.Abs(opts.creds); err != nil {
			return link, err
		}
		if _, err := os.Stat(link.Creds); err != nil {
			return link, core.Invalidf("--creds: %v", err)
		}
	}
	conn, err := hub.Connect(ctx, link)
	if err != nil {
		return link, err
	}
	conn.Close()
	return link, hub.Save(at.Data.Path, link)
}

// NewLeave makes `flame leave`.
func NewLeave(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "leave", Short: "Share this project's tree with no other machine any more", Example: "  flame leave", Args: flags.Takes(0, 0),
		Long: "Share this project's tree with no other machine any more. Frames of other machines\n" +
			"stay in it as they were; `flame activate` takes one over without asking anybody. A hub\n" +
			"that flame runs forgets this machine's key, if it can be reached. It joins again as the\n" +
			"machine that it was.",
		RunE: func(cmd *cobra.Command, _ []string) error { return members{a}.leave(cmd.Context()) },
	}
}

func (c members) leave(ctx context.Context) error {
	at, err := c.app.Place()
	if err != nil {
		return err
	}
	if _, err := at.Data.Ready(ctx, false); err != nil {
		return err
	}
	link, err := hub.Load(at.Data.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return core.Invalidf("this project has joined no hub").WithHint("`flame help join` says how it does")
	}
	if err != nil {
		link = hub.Link{}
		link.Machine, _ = c.before(ctx, at) // to leave, it needs not be known
		c.app.Note(fmt.Sprintf("%v; the hub may still know the key that was in it: "+
			"`flame hub remove %s` there ends that, and `flame hub machines` lists those that it knows", err, cmp.Or(link.Machine, "MACHINE")))
	} else if link.Seed != "" && link.Pin != "" {
		if err := server.GiveBack(ctx, link); err != nil {
			c.app.Note(fmt.Sprintf("the hub still lets this machine in: %v; `flame hub remove %s` there ends that", err, link.Machine))
		}
	}
	if err := hub.Remove(at.Data.Path); err != nil {
		return err
	}
	text := "Left. Frames of other machines stay in this project's tree as they are.\n" +
		"There is nobody to agree with any more: `flame activate` takes one over without asking. `flame join` joins again as the same machine."
	return c.app.Out.Print(map[string]any{"left": true, "project": link.Project, "machine": link.Machine}, text)
}
