// Command invalidator invalidates a frame: the second argument, of the project whose
// data is in the first. Tests of package project kill it.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"flame/core"
	"flame/project"
	"flame/project/stack"
	"flame/store"
)

func main() {
	p := &project.Project{
		Store: store.Open(os.Args[1], store.Options{}), Log: slog.New(slog.DiscardHandler), NewID: project.NewID,
		Now: func() core.Millis { return core.MillisOf(time.Now()) }, Budget: core.DefaultBudget(),
		Subagents: core.DefaultSubagentConfig(), Autonomy: core.DefaultAutonomyConfig(),
	}
	if _, err := stack.Invalidate(context.Background(), p, project.Caller{Session: "s", Host: project.CommandLine}, os.Args[2], "gone"); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}
