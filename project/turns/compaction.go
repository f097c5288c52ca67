package turns

import (
	"context"

	"flame/core"
	"flame/project"
)

// maxUnnoted bounds in bytes how much of a log FindCompaction may look at again. To read that much
// costs less than to record, by a durable write, that it has been read.
const maxUnnoted = 64 << 10

// FindCompaction finds a compaction that only the log at path shows, and records that the session is
// owed its context. It reports false if that is known, and for a compaction before the session was.
// find looks at the log behind a position; it returns when the last compaction there was, 0 without
// one, and how far it has read.
func FindCompaction(
	ctx context.Context, p *project.Project, by project.Caller, path string, find func(from int64) (at core.Millis, upTo int64),
) (news bool, err error) {
	err = p.Run(ctx, by, func(s *project.Op) error {
		mine, err := project.RecordHookState.Find(s.Tx, s.Session.ID)
		if err != nil || s.NewSession {
			return err
		}
		before := mine.Searched
		if before.Path != path {
			before = project.LogSearch{Path: path}
		}
		at, upTo := find(before.UpTo)
		news = at >= s.Session.CreatedAt && at > mine.Compacted
		if since := upTo - before.UpTo; !news && (since == 0 || since > 0 && since < maxUnnoted && !p.Changed()) {
			return nil
		}
		return s.Change(func(s *project.Op) error {
			return project.RecordHookState.Change(s.Tx, s.Session.ID, func(mine *project.HookState) {
				if mine.Searched = (project.LogSearch{Path: path, UpTo: upTo}); news {
					mine.Compacted, mine.ContextOwed = at, true
				}
			})
		})
	})
	return news, err
}
