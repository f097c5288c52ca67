package store

import (
	"context"

	"flame/core"
	"flame/store/disk"
	"flame/store/health"
)

// Check looks at the data folder dir for `flame doctor` and changes nothing. It
// reads the whole database, in about a second for 100,000 frames.
func Check(ctx context.Context, dir string) []core.Finding {
	return health.Check(ctx, absolute(dir), look)
}

// look looks at all rows of a database.
func look(ctx context.Context, c *disk.Conn) (health.Rows, error) {
	in := &inspection{sql: &statements{ctx: ctx, c: c, keys: map[string]int64{}}}
	err := c.Transact(ctx, disk.BeginView, in.look)
	return in.Rows, err
}
