package hub

import (
	"context"
	"errors"
	"io/fs"

	"flame/core"
	"flame/project"
)

// Claim claims a frame of another machine for this one, on the hub that the project with
// this data folder has joined. It connects for that alone: the claim lasts until whoever
// keeps the project connected holds it, or a few seconds.
func Claim(ctx context.Context, data string, frame core.Frame) error {
	link, err := Load(data)
	if errors.Is(err, fs.ErrNotExist) {
		return project.Unclaimed(frame)
	}
	if err != nil {
		return err
	}
	conn, err := Connect(ctx, link)
	if errors.Is(err, core.ErrUnavailable) {
		return project.Unclaimed(frame)
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	claims, err := conn.Claims(ctx)
	if err != nil {
		return err
	}
	return claims.Claim(ctx, frame.ID)
}
