package store

import (
	"strings"

	"flame/core"
)

// A mender repairs rows in one transaction.
type mender struct {
	tx    *tx
	newID func(kind string) string
	now   core.Millis
}

// mendSQL repairs a row by one statement; ?1 is its key and ?2 the time.
func mendSQL(query string) func(*mender, int64) (bool, error) {
	return func(m *mender, key int64) (bool, error) {
		args := []any{key}
		if strings.Contains(query, "?2") {
			args = append(args, m.now)
		}
		changed, err := m.tx.sql.exec(query, args...)
		return changed > 0, err
	}
}

// name gives an id to a frame without one.
func (m *mender) name(key int64) (bool, error) {
	id := m.newID("frame")
	for taken := 0; ; id = m.newID("frame") {
		if _, err := m.tx.sql.get([]any{&taken}, "SELECT count(*) FROM ids WHERE id = ?", id); err != nil {
			return false, err
		}
		if taken == 0 {
			break
		}
	}
	changed, err := m.tx.sql.exec(`INSERT INTO ids (key, id) VALUES (?, ?)
		ON CONFLICT (key) DO UPDATE SET id = excluded.id WHERE id = ''`, key, id)
	return changed > 0, err
}
