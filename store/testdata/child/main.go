// Command child is a process that the tests of package store start, stop, kill
// and wait for. It works on the store in the folder that its first argument
// names, as its second says.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"modernc.org/sqlite"

	"flame/core"
	"flame/project"
	"flame/store"
)

func main() {
	signal.Ignore(syscall.SIGXFSZ) // a limit on the size of files is to be an error
	kept := store.Open(os.Args[1], store.Options{LockTimeout: 30 * time.Second})
	if err := roles[os.Args[2]](context.Background(), kept, os.Args[3:]); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

var roles = map[string]func(ctx context.Context, kept *store.Store, args []string) error{
	"write": write,
	"read":  read,
	"check": check,
	"hold":  hold,
	"echo":  echo,
	"burst": burst,
	"visit": visit,
	"locks": locks,
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

// echo saves a frame of the name of each line of its input, and answers with the
// line or an error.
func echo(ctx context.Context, kept *store.Store, _ []string) error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		soon, cancel := context.WithTimeout(ctx, 20*time.Second)
		err := kept.Update(soon, func(tx project.Tx) error {
			return tx.SaveFrame(core.Frame{ID: lines.Text(), Status: core.Planned})
		})
		cancel()
		if err != nil {
			fmt.Println("error:", err)
			continue
		}
		fmt.Println(lines.Text())
	}
	return lines.Err()
}

// check ends with the first thing that is broken.
func check(ctx context.Context, _ *store.Store, _ []string) error {
	for _, f := range store.Check(ctx, os.Args[1]) {
		if f.Broken {
			return errors.New(f.What)
		}
	}
	return nil
}

// locks checks the folder first, and then reports whether SQLite's locks are those of
// descriptors.
func locks(ctx context.Context, kept *store.Store, _ []string) error {
	err := check(ctx, nil, nil)
	err = errors.Join(err, kept.View(ctx, func(project.Tx) error { return nil }))
	fmt.Println(sqlite.OFDLockingEnabled())
	return err
}

// watch looks into the folder again and again, each time like a process of its
// own, until a frame is there.
func watch(ctx context.Context) error {
	for i, there := 0, 0; there == 0; i++ {
		if i%4 == 0 {
			if err := check(ctx, nil, nil); err != nil {
				return fmt.Errorf("check: %w", err)
			}
		}
		kept := store.Open(os.Args[1], store.Options{LongLived: i%2 == 1})
		err := kept.View(ctx, func(tx project.Tx) error {
			frames, err := tx.FindFrames(project.FrameQuery{Limit: 1})
			there = len(frames)
			return err
		})
		if err := errors.Join(err, kept.Close()); err != nil {
			return fmt.Errorf("view: %w", err)
		}
	}
	return nil
}

// burst begins as soon as its input ends: to watch or, with a number, to write.
func burst(ctx context.Context, kept *store.Store, args []string) error {
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	if len(args) == 1 {
		return errors.Join(watch(ctx), write(ctx, kept, []string{args[0], "1"}))
	}
	return write(ctx, kept, args)
}

// visit is write by one Store after the other, each as a process of its own would use it:
// it reads before it writes, serves or does not, and is closed or left as it is.
func visit(ctx context.Context, _ *store.Store, args []string) error {
	n, err := strconv.Atoi(args[1])
	for i := 0; i < n && err == nil; i++ {
		kept := store.Open(os.Args[1], store.Options{LongLived: i%3 == 0})
		id := fmt.Sprintf("%s-%d", args[0], i)
		err = kept.Run(ctx, func(tx project.Tx) error {
			if _, err := tx.FindFrames(project.FrameQuery{Limit: 1}); err != nil {
				return err
			}
			return tx.SaveFrame(core.Frame{ID: id, Status: core.InProgress})
		})
		if err == nil {
			fmt.Println(id)
		}
		if i%4 != 0 {
			err = errors.Join(err, kept.Close())
		}
	}
	return err
}

// hold stays inside an Update until its input ends.
func hold(ctx context.Context, kept *store.Store, _ []string) error {
	return kept.Update(ctx, func(project.Tx) error {
		fmt.Println("held")
		_, err := bufio.NewReader(os.Stdin).ReadString('\n')
		return err
	})
}
