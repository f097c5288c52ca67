package cli

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"flame/agents/glance"
	"flame/cli/app"
	"flame/project"
	"flame/render"
)

// The bounds of what a host tells its status line: it is small, and comes at once.
const (
	maxToldToLine = 1 << 20 // bytes
	linePatience  = 300 * time.Millisecond
)

// statusLine prints the work at hand in one line, or nothing (null in JSON) if there is
// none. Where no person reads the errors, as in a host, there are none: what is printed
// then would be taken for the status, and the next look may go well.
func statusLine(ctx context.Context, a *app.App) error {
	err := showLine(ctx, a)
	if err != nil && !a.Out.JSON && !a.Out.OnTerminal() {
		return nil
	}
	return err
}

func showLine(ctx context.Context, a *app.App) error {
	if a.Settings.Off {
		return printLine(a, glance.Glance{}, false)
	}
	if !a.AtTerminal() {
		shown := a.Hosts.Shown(readDocument(a.Stdin))
		a.Folder = shown.Folder
		if a.Session == "" {
			a.Session = shown.Session
		}
	}
	at, err := a.Place()
	if err != nil {
		return err
	}
	at.Data.Hurried = true
	// Neither is what waits taken in nor what is due done: the host asks again and again.
	p, closeProject, err := a.Open(at, false)
	if err != nil {
		return err
	}
	defer func() { _ = closeProject() }() // it only read
	return lookAt(ctx, a, p)
}

func lookAt(ctx context.Context, a *app.App, p *project.Project) error {
	g, ok, err := glance.Of(ctx, p, a.Caller())
	if err != nil {
		return err
	}
	return printLine(a, g, ok)
}

func printLine(a *app.App, g glance.Glance, ok bool) error {
	switch {
	case ok:
		return a.Out.Glance(g, render.Glance(g))
	case a.Out.JSON:
		return a.Out.Print(nil, "")
	}
	return nil
}

// readDocument returns the JSON document that is about to come from in; nil without one.
// It does not wait for what may follow.
func readDocument(in io.Reader) []byte {
	read := make(chan []byte, 1)
	go func() {
		var document json.RawMessage
		if json.NewDecoder(io.LimitReader(in, maxToldToLine)).Decode(&document) != nil {
			document = nil
		}
		read <- document
	}()
	select {
	case document := <-read:
		return document
	case <-time.After(linePatience):
		return nil
	}
}
