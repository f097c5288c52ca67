package app

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"flame/agents/graph"
	"flame/core"
	"flame/hosts"
)

// ReadTrail reads the logs at a path.
func ReadTrail(ctx context.Context, known hosts.Registry, path string, stdin io.Reader) (graph.LogGraph, error) {
	logs, err := known.Formats().Detect(path, stdin)
	if err != nil {
		return graph.LogGraph{}, LogProblem(err, path, known)
	}
	told, err := graph.ReadLogs(ctx, logs...)
	return told, LogProblem(err, path, known)
}

// LogProblem adds a hint to the error of a log that cannot be read.
func LogProblem(err error, path string, known hosts.Registry) error {
	var problem *core.Problem
	var of *fs.PathError
	hint := "%s should be a log of " + known.Titles("or") + ", or a folder of such"
	switch {
	case err == nil || errors.As(err, &problem):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return core.NotFoundf("there is no file or folder %s", path).WithHint(hint, path)
	case errors.As(err, &of): // people know the file and the reason, not the call
		return core.Unavailablef(err, "%s: %v", of.Path, of.Err).WithHint(hint, path)
	}
	return core.Unavailablef(err, "%v", err).WithHint(hint, path)
}
