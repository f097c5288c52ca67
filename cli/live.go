package cli

import (
	"cmp"
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/core"
	"flame/local/guard"
	"flame/local/place"
	"flame/render/board"
	"flame/web"
)

func newWeb(a *app.App) *cobra.Command {
	c := pages{App: a}
	cmd := &cobra.Command{
		Use: "web", Short: "Open a page that shows this project live", Example: "  flame web\n  flame web --no-open --http 127.0.0.1:7070",
		Long: "Serve a page that shows the frames and agents of this project live, on loopback, and\n" +
			"open it in a browser. If a server runs already, the command opens its page. The printed\n" +
			"address contains a token: while the server runs, anyone who has it can see and change\n" +
			"this project and the others that the page lists.",
		Args: app.CheckArgs(0, 0),
	}
	cmd.Flags().BoolVar(&c.quiet, "no-open", false, "only print the address")
	cmd.Flags().StringVar(&c.addr, "http", "", "listen on this address (default: the previous address, else a free port of 127.0.0.1)")
	cmd.Flags().StringVar(&c.public, "public-url", "", "the address for browsers, if it differs: a forwarded port or a proxy")
	return a.NeedsPlace(cmd, func(ctx context.Context, at place.Place, _ []string) error {
		c.at, c.project = at, filepath.Base(at.Data.Path)
		return c.serve(ctx)
	})
}

// pages is the server of the page.
type pages struct {
	*app.App
	addr, public string // flags
	quiet        bool
	at           place.Place
	project      string // name of the project that it was started for
}

func (c pages) serve(ctx context.Context) error {
	if _, err := c.at.Data.Ready(ctx, true); err != nil {
		return err
	}
	running := web.ServerFile{Dir: c.at.Data.Path}
	last := running.Last()
	if c.addr == "" && c.public == "" && last.Answers(ctx) {
		return c.show("http://"+last.Addr, last.Token)
	}
	listener, err := listen(ctx, c.addr, last.Addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	keys := running.Next(listener.Addr(), c.Settings.HTTPToken)
	g, err := guard.New(listener.Addr().String(), keys.Token)
	if err == nil {
		g, err = g.ForPage(c.public)
	}
	if err != nil {
		return err
	}
	end, err := running.Keep(keys)
	if err != nil {
		return err
	}
	defer end()
	if keys.Addr == "" {
		c.PrintNote("other machines can connect, and the connection is not encrypted: it is safer to listen on 127.0.0.1 and forward the port")
	}
	if err := c.show(cmp.Or(strings.TrimSuffix(c.public, "/"), baseOf(listener.Addr())), keys.Token); err != nil {
		return err
	}
	return web.Serve(ctx, listener, web.Options{
		Guard: g, Secret: keys.Secret, Project: c.project, Logger: c.Log(c.at), Version: c.Build.Version, Open: c.open, Projects: c.projects,
	})
}

// baseOf returns the address of a server for a browser. If the server listens on all addresses,
// it has this machine's name.
func baseOf(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			return "http://" + net.JoinHostPort(name, port)
		}
	}
	return "http://" + addr.String()
}

// listen listens on the given address; without one, on the address of the last server, else on
// a free port.
func listen(ctx context.Context, given, last string) (net.Listener, error) {
	config := new(net.ListenConfig)
	if given == "" && last != "" {
		if listener, err := config.Listen(ctx, "tcp", last); err == nil {
			return listener, nil
		}
	}
	listener, err := config.Listen(ctx, "tcp", cmp.Or(given, "127.0.0.1:0"))
	if err != nil {
		return nil, core.Unavailablef(err, "cannot listen: %v", err).WithHint("give another address with --http; port 0 picks a free one")
	}
	return listener, nil
}

// show prints the page's address, and opens it in a browser.
func (c pages) show(base, token string) error {
	address := web.Address(base, token)
	if err := c.Out.Print(map[string]string{"url": address}, address); err != nil || c.quiet {
		return err
	}
	if err := web.Browse(c.at.Data.Path, base, token); err != nil {
		c.PrintNote("no browser was opened (" + err.Error() + "): open the address above in one; over SSH, forward its port first")
	}
	return nil
}

// open opens a project by its name in the list.
func (c pages) open(ctx context.Context, name string) (board.Source, error) {
	at := c.at
	if name != c.project {
		kept, err := c.at.Data.Find(name)
		if err != nil {
			return board.Source{}, err
		}
		if kept.Name != name || kept.State != place.Present {
			return board.Source{}, core.NotFoundf("the folder of %s is no longer at %s", name, kept.Root).
				WithHint("`flame where --adopt %s`, run in its new folder, takes its frames over", kept.Name)
		}
		at = c.PlaceOf(kept.Root)
	}
	return openLive(ctx, c.App, at), nil
}

// projects lists the projects that have data, the last used first.
func (c pages) projects(ctx context.Context) ([]web.ProjectInfo, error) {
	listed, err := projectsOf(ctx, c.at)
	slices.SortFunc(listed, func(x, y web.ProjectInfo) int {
		return cmp.Or(cmp.Compare(y.LastUsed, x.LastUsed), cmp.Compare(x.Name, y.Name))
	})
	return listed, err
}
