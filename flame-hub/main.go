// Command flame-hub does what flame does with several machines: the hub where they meet, joining and
// leaving it, and workers. Flame starts it, for these commands and whenever it needs a project's hub.
// It is a program of its own because only it speaks to NATS, which every process of flame would pay
// for otherwise.
package main

import (
	"cmp"
	"context"
	"os"
	"os/signal"
	"syscall"

	"flame/cli"
	"flame/cli/wiring"
	"flame/flame-hub/command"
	"flame/hub"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(cli.RunHub(ctx, wiring.App(program, command.Machines), os.Args[1:], command.All()))
}

// program returns the path of flame, which supervises agents and serves their tools.
func program() string {
	path, _ := hub.FindProgram("flame") // whoever starts it says that it is missing
	return cmp.Or(path, "flame")
}
