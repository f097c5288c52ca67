package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"flame/cli/app"
	"flame/core"
	"flame/local/place"
	"flame/project"
	"flame/project/view"
	"flame/render"
	"flame/render/board"
)

// followTree draws the tree again whenever the project has changed, until ctx ends. It fails only
// before the first drawing; later ones show the error, and go on when it is over.
func followTree(ctx context.Context, a *app.App, at place.Place, args view.TreeArgs, details bool) error {
	open := func(ctx context.Context) (board.Source, error) { return openLive(ctx, a, at), nil }
	opened, err := open(ctx)
	if err != nil {
		return err
	}
	feed := board.NewFeed(ctx, opened, open)
	defer feed.Close() // nothing was written
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	display, begun := app.Display{Printer: &a.Out}, false
	for {
		next := feed.News().Next
		text, current, err := drawnTree(ctx, a, feed.Agents().Project, args, details)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !begun:
			return err
		case err != nil:
			text = core.OneLine("flame: "+err.Error(), 0) + "\n"
		}
		if err := display.Draw(text, current); err != nil {
			return err
		}
		begun = true
		select {
		case <-ctx.Done():
			return nil
		case <-next:
		case <-resized:
		}
	}
}

// drawnTree returns the tree as text or JSON, and the mark of the current frame in it.
func drawnTree(ctx context.Context, a *app.App, p *project.Project, args view.TreeArgs, details bool) (text, current string, err error) {
	tree, err := view.OutlineOf(ctx, p, a.Caller(), args)
	if err != nil {
		return "", "", err
	}
	if tree.Size() == 0 && !a.Out.JSON {
		return core.Printable(render.ToCommands(a.NoFrames(ctx))) + "\n", "", nil
	}
	text, err = a.Out.DrawnTree(ctx, tree, details)
	return text, "[" + tree.Current + "]", err
}
