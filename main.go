// Command flame gives coding agents a call stack: an MCP server that keeps their
// work as a tree of frames, and the commands to look at it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"flame/cli"
	"flame/cli/app"
	"flame/cli/wiring"
	"flame/hub"
	"flame/local/place"
	"flame/project"
)

func main() {
	a := wiring.App(program, func(a *app.App, _ *project.Project, at place.Place) wiring.Machines {
		return hub.Client{Root: at.Dir, Data: at.Data.Path, Version: a.Build.Version}
	})
	a.StartHub = hub.Become
	os.Exit(run(a, os.Args[1:]))
}

// program returns the path of flame's own program. Hooks do not need it, and it costs a system call.
func program() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0] // the system has no /proc
	}
	return path
}

// run runs one command line and returns the exit code.
func run(a *app.App, args []string) int {
	if cli.RunHook(a, args) {
		return 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return cli.Run(ctx, a, args)
}
