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

	"flame/board/feed"
	"flame/cli/app"
	"flame/cli/flags"
	"flame/core"
	"flame/guard"
	"flame/project/place"
	"flame/web"
)

// webOptions are the flags of `flame web`.
type webOptions struct {
	addr, public string
	quiet        bool
}

func newWeb(a *app.App) *cobra.Command {
	var opts webOptions
	cmd := &cobra.Command{
		Use: "web", Short: "Open a page that shows this project live", Example: "  flame web\n  flame web --no-open --http 127.0.0.1:7070",
		Long: "Serve a page that shows the frames and agents of this project live, on loopback, and\n" +
			"open it in a browser. Where it is served already, that page is opened. The address\n" +
			"that is printed carries a token: while the server runs, whoever has it can see and\n" +
			"change this project, and the others that the page lists.",
		Args: flags.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return pages{app: a}.serve(cmd.Context(), opts) },
	}
	cmd.Flags().BoolVar(&opts.quiet, "no-open", false, "only print the address")
	cmd.Flags().StringVar(&opts.addr, "http", "", "listen on this address (default: the one of last time, else a free port of 127.0.0.1)")
	cmd.Flags().StringVar(&opts.public, "public-url", "", "the address at which a browser reaches it, if that is another: a forwarded port, a proxy")
	return cmd
}

// pages is the server of the page.
type pages struct {
	app  *app.App
	name string // of the project that it was started for
	at   place.Place
}

func (c pages) serve(ctx context.Context, opts webOptions) error {
	at, err := c.app.Place()
	if err != nil {
		return err
	}
	if _, err := at.Data.Ready(ctx, true); err != nil {
		return err
	}
	c.at, c.name = at, filepath.Base(at.Data.Path)
	running := web.Running{Dir: at.Data.Path}
	last := running.Last()
	if opts.addr == "" && opts.public == "" && last.Answers(ctx) {
		return c.show("http://"+last.Addr, last.Token, opts.quiet)
	}
	listener, err := listen(ctx, opts.addr, last.Addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	keys := running.Next(listener.Addr(), c.app.Settings.HTTPToken)
	g, err := guard.New(listener.Addr().String(), keys.Token)
	if err == nil {
		g, err = g.ForPage(opts.public)
	}
	if err != nil {
		return asProblem(err)
	}
	end, err := running.Keep(keys)
	if err != nil {
		return err
	}
	defer end()
	if keys.Addr == "" {
		c.app.Note("other machines can connect, and what they see and send goes unencrypted: rather listen on 127.0.0.1 and forward the port")
	}
	if err := c.show(cmp.Or(strings.TrimSuffix(opts.public, "/"), baseOf(listener.Addr())), keys.Token, opts.quiet); err != nil {
		return err
	}
	return web.Serve(ctx, listener, web.Options{
		Guard: g, Secret: keys.Secret, Project: c.name, Logger: c.app.Log(at), Version: c.app.Version, Open: c.open, Projects: c.projects,
	})
}

// baseOf returns the address of a server for a browser: where it listens on all addresses,
// by this machine's name.
func baseOf(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			return "http://" + net.JoinHostPort(name, port)
		}
	}
	return "http://" + addr.String()
}

// listen listens on the given address; without one on that of the last server, else on a
// free port.
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
func (c pages) show(base, token string, quiet bool) error {
	address := web.Address(base, token)
	if err := c.app.Out.Print(map[string]string{"url": address}, address); err != nil || quiet {
		return err
	}
	if err := web.Browse(c.at.Data.Path, base, token); err != nil {
		c.app.Note("no browser was opened (" + err.Error() + "): open the address above in one; over SSH, forward its port first")
	}
	return nil
}

// open opens a project by its name in the list.
func (c pages) open(ctx context.Context, name string) (feed.Opened, error) {
	at := c.at
	if name != c.name {
		kept, err := c.at.Data.Find(name)
		if err != nil {
			return feed.Opened{}, err
		}
		if kept.Name != name || kept.State != place.Present {
			return feed.Opened{}, core.NotFoundf("the folder of %s is no longer at %s", name, kept.Root).
				WithHint("`flame where --adopt %s` in its new place takes its frames over", kept.Name)
		}
		at = c.app.PlaceOf(kept.Root)
	}
	return openLive(ctx, c.app, at)
}

// projects lists those with data, the last used first.
func (c pages) projects(ctx context.Context) ([]web.Listed, error) {
	all, err := c.at.Data.List()
	if err != nil {
		return nil, err
	}
	var listed []web.Listed
	for _, kept := range all {
		bytes, last, err := kept.Size(ctx)
		if err != nil {
			continue // it went away, or is another's
		}
		listed = append(listed, web.Listed{Name: kept.Name, Root: kept.Root, State: string(kept.State), Bytes: bytes, LastUsed: core.MillisOf(last)})
	}
	slices.SortFunc(listed, func(x, y web.Listed) int {
		return cmp.Or(cmp.Compare(y.LastUsed, x.LastUsed), cmp.Compare(x.Name, y.Name))
	})
	return listed, nil
}
