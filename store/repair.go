package store

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"flame/core"
	"flame/core/outline"
	"flame/project"
	"flame/store/disk"
)

// A Repairer repairs the rows and indexes of a database that can be read.
type Repairer struct {
	Ready func(ctx context.Context, write bool) (there bool, err error) // as in Options
	Now   func() core.Millis
	NewID func(kind string) string // a new id: kind, a hyphen and random characters
}

// repairBatch is how many rows one transaction repairs. This keeps it below the 50 ms for
// which others may have to wait (DESIGN §4).
const repairBatch = 100

// Repair repairs what Check finds repairable in the data folder dir: it copies the database,
// rebuilds the indexes, and then makes each row follow the rules. For a changed frame it
// writes an event with the reason. It leaves alone a database that is damaged or that it
// cannot copy. If a later step fails, earlier repairs stay; another Repair continues.
func (r Repairer) Repair(ctx context.Context, dir string) (done core.Repaired, err error) {
	if r.Ready != nil {
		if there, err := r.Ready(ctx, false); !there || err != nil {
			return done, err
		}
	}
	if !slices.ContainsFunc(Check(ctx, dir), func(f core.Finding) bool { return f.Mend != "" }) {
		return done, nil
	}
	s := Open(dir, Options{Ready: r.Ready})
	defer func() { err = errors.Join(err, s.Close()) }()
	if done.Copy, err = s.copyAside(ctx, r.Now()); err != nil {
		return done, err
	}
	err = s.Update(ctx, func(t project.Tx) error {
		_, err := t.(*tx).sql.exec("REINDEX") // all indexes except that of words
		return err
	})
	if err != nil {
		return done, err
	}
	for _, rule := range rules() {
		mended, err := s.keep(ctx, r, rule)
		done.Mended = append(done.Mended, mended...)
		if err != nil {
			return done, err
		}
	}
	done.Mended = append(done.Mended, "the indexes, including that of words")
	return done, s.relearn(ctx)
}

// copyAside copies the database to a file beside it, with the time in its name.
func (s *Store) copyAside(ctx context.Context, now core.Millis) (path string, err error) {
	path = s.path() + disk.BeforeRepair + now.Time().Format("20060102T150405.000")
	f, err := disk.OpenReadOnly(s.path())
	if err == nil && f == nil {
		err = disk.ErrGone
	}
	if err != nil {
		return "", disk.Trouble(ctx, s.path(), err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	c, err := f.Reader(ctx)
	if err == nil {
		err = c.CopyTo(ctx, path)
	}
	if err != nil {
		return "", disk.Trouble(ctx, s.path(), err)
	}
	return path, nil
}

// keep repairs the rows that break a rule, and returns descriptions.
func (s *Store) keep(ctx context.Context, by Repairer, r rule) (mended []string, err error) {
	if r.mend == "" && !r.name {
		return nil, nil
	}
	var keys []int64
	err = s.View(ctx, func(t project.Tx) (err error) {
		keys, err = (&inspection{sql: t.(*tx).sql}).find(r)
		return err
	})
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	for batch := range slices.Chunk(keys, repairBatch) {
		err := s.Update(ctx, func(t project.Tx) error {
			m := &mender{tx: t.(*tx), newID: by.NewID, now: by.Now()}
			for _, key := range batch {
				if err := m.keep(r, key); err != nil {
					return err
				}
			}
			return m.tx.sql.raiseUnstamped()
		})
		if err != nil {
			return nil, err
		}
	}
	var what string
	err = s.View(ctx, func(t project.Tx) (err error) {
		what, err = t.(*tx).sql.describe(r, keys)
		return err
	})
	return []string{what}, err
}

// keep repairs one row, unless it no longer breaks the rule.
func (m *mender) keep(r rule, key int64) error {
	changed, err := m.mend(r, key)
	if err != nil || !changed || r.field == "" {
		return err
	}
	var id string
	if _, err := m.tx.sql.get([]any{&id}, "SELECT id FROM ids WHERE key = ?", key); err != nil {
		return err
	}
	data, err := json.Marshal(map[string]any{"fields": []string{r.field}, "reason": "repaired: frame " + r.flaw})
	if err != nil {
		return err
	}
	_, err = m.tx.AppendEvent(core.Event{
		V: core.EventVersion, TS: m.now, Event: core.FrameUpdated, Frame: id, Host: project.CommandLine, Data: data,
	})
	return err
}

// relearn rebuilds the word index, batch by batch.
func (s *Store) relearn(ctx context.Context) error {
	var links []outline.Link
	err := s.Update(ctx, func(t project.Tx) (err error) {
		if links, err = t.Links(project.FrameQuery{Archived: true}); err != nil {
			return err
		}
		_, err = t.(*tx).sql.exec("INSERT INTO frames_text (frames_text) VALUES ('delete-all')")
		return err
	})
	for batch := range slices.Chunk(links, repairBatch) {
		if err != nil {
			break
		}
		err = s.Update(ctx, func(t project.Tx) error {
			for _, link := range batch {
				if err := t.(*tx).sql.relearn(link.Key); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return err
}

var relearnWords = later(func() string {
	return "INSERT INTO frames_text (" + frameTable.each(itself, wordColumns...) + ", rowid) SELECT " +
		frameTable.each(func(column string) string { return wordsOf(column, column) }, wordColumns...) + ", key FROM frames WHERE key = ?"
})

// relearn updates the word index to the row of a frame.
func (s *statements) relearn(key int64) error {
	if _, err := s.exec(forgetWords, key); err != nil {
		return err
	}
	_, err := s.exec(relearnWords(), key)
	return err
}

// Check examines the data folder dir for `flame doctor` and changes nothing. It reads the
// whole database, in about a second for 100,000 frames.
func Check(ctx context.Context, dir string) []core.Finding {
	return disk.Check(ctx, absolute(dir), look)
}

// look looks at all rows of a database.
func look(ctx context.Context, c *disk.Conn) (disk.Census, error) {
	in := &inspection{sql: &statements{ctx: ctx, c: c, keys: map[string]int64{}}}
	err := c.Transact(ctx, disk.BeginView, in.look)
	return in.Census, err
}
