package turns

import (
	"context"

	"flame/core"
	"flame/project"
)

// NoteCompaction records that a host compacted the session's conversation, and that the session is
// owed its context. It reports false if that is known, and for a compaction before the session was.
func NoteCompaction(ctx context.Context, p *project.Project, by project.Caller, at core.Millis) (news bool, err error) {
	err = p.Consider(ctx, by, func(s *project.Step) (func(*project.Step) error, error) {
		mine, err := project.RecordPresence.Of(s.Tx, s.Session.ID)
		news = err == nil && !s.Fresh && at >= s.Session.CreatedAt && at > mine.Compacted
		if !news {
			return nil, err
		}
		return func(s *project.Step) error {
			return project.RecordPresence.Change(s.Tx, s.Session.ID, func(mine *project.Presence) { mine.Compacted, mine.Owed = at, true })
		}, nil
	})
	return news, err
}
