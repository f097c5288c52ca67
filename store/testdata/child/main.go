// Command child is a process that the tests of package store start, stop, kill
// and wait for. It works on the store in the folder that its first argument
// names, as its second says.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"flame/core"
	"flame/project"
	"flame/store"
)

func main() {
	signal.Ignore(syscall.SIGXFSZ) // a limit on the size of files is to be an error
	kept := store.Open(os.Args[1], store.Options{LockTimeout: 10 * time.Second})
	if err := roles[os.Args[2]](context.Background(), kept, os.Args[3:]); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

var roles = map[string]func(ctx context.Context, kept *store.Store, args []string) error{
	"write": write,
	"read":  read,
	"hold":  hold,
}

// write saves frames <prefix>-0, <prefix>-1, … up to a number, each with an
// event, and prints the id of each when it is acknowledged.
func write(ctx context.Context, kept *store.Store, args []string) error {
	n, err := strconv.Atoi(args[1])
	for i := 0; i < n && err == nil; i++ {
		id := fmt.Sprintf("%s-%d", args[0], i)
		err = kept.Update(ctx, func(tx project.Tx) error {
			if err := tx.SaveFrame(core.Frame{ID: id, Status: core.InProgress, Goal: "goal of " + id}); err != nil {
				return err
			}
			_, err := tx.AppendEvent(core.Event{Event: core.FrameCreated, Frame: id})
			return err
		})
		if err == nil {
			fmt.Println(id)
		}
	}
	return err
}

// read prints the number of frames.
func read(ctx context.Context, kept *store.Store, _ []string) error {
	return kept.View(ctx, func(tx project.Tx) error {
		frames, err := tx.FindFrames(project.FrameQuery{})
		fmt.Println(len(frames))
		return err
	})
}

// hold stays inside an Update until its input ends.
func hold(ctx context.Context, kept *store.Store, _ []string) error {
	return kept.Update(ctx, func(project.Tx) error {
		fmt.Println("held")
		_, err := bufio.NewReader(os.Stdin).ReadString('\n')
		return err
	})
}
