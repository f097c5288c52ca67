package store

import (
	"database/sql"
	"slices"

	"flame/store/disk"
	"flame/store/form"
)

func scanID(rows *disk.Rows) (id string, err error) { return id, rows.Scan(&id) }

func scanKey(rows *disk.Rows) (key int64, err error) { return key, rows.Scan(&key) }

// key returns the key of an id, creating it if needed; NULL for no id.
func (s *statements) key(id string) (sql.NullInt64, error) {
	id = form.Clean(id)
	if id == "" {
		return sql.NullInt64{}, nil
	}
	key, err := s.known(id)
	if err == nil && key == 0 {
		key, err = s.insert(`INSERT INTO ids (id) VALUES (?)`, id)
		if err == nil {
			s.keys[id] = key
		}
	}
	return sql.NullInt64{Int64: key, Valid: err == nil}, err
}

// known returns the key of an id, or 0 if it has none; that is kept in keys too.
func (s *statements) known(id string) (key int64, err error) {
	if key, ok := s.keys[id]; ok {
		return key, nil
	}
	found, err := s.get([]any{&key}, `SELECT key FROM ids WHERE id = ?`, id)
	if found {
		s.keys[id] = key
	}
	return key, err
}

// ids returns the ids of keys, in order.
func (s *statements) ids(keys []int64) ([]string, error) {
	return collect(s, scanID, `SELECT ids.id FROM json_each(?) v CROSS JOIN ids ON ids.key = v.value`, form.JSONOf(keys))
}

// maxNames bounds the ids that a connection remembers.
const maxNames = 2000

// met remembers that a row has this key and id.
func (s *statements) met(key int64, id string) {
	if len(s.c.Names) >= maxNames || s.c.Names == nil {
		s.c.Names = map[int64]string{}
	}
	s.c.Names[key], s.keys[id] = id, key
}

// An unnamed is a place for the id that has a key; 0 is none.
type unnamed struct {
	key int64
	id  *string
}

// fill looks up those of the ids that the connection does not remember.
func (s *statements) fill(list []unnamed) error {
	var keys []int64
	for _, u := range list {
		var known bool
		if *u.id, known = s.c.Names[u.key]; !known && u.key != 0 && !slices.Contains(keys, u.key) {
			keys = append(keys, u.key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	found := map[int64]string{}
	err := s.each(func(rows *disk.Rows) error {
		var key int64
		var id string
		err := rows.Scan(&key, &id)
		found[key] = id
		s.met(key, id)
		return err
	}, namesOf, form.JSONOf(keys))
	for _, u := range list {
		if id, is := found[u.key]; is {
			*u.id = id
		}
	}
	return err
}

const namesOf = `SELECT ids.key, ids.id FROM json_each(?) k CROSS JOIN ids ON ids.key = k.value`

// keysOf returns the keys of those of these ids that have one; never nil, which JSON has
// another word for than for an empty list.
func (s *statements) keysOf(ids []string) ([]int64, error) {
	keys := make([]int64, 0, len(ids))
	for _, id := range ids {
		key, err := s.known(form.Clean(id))
		if err != nil {
			return nil, err
		}
		if key != 0 {
			keys = append(keys, key)
		}
	}
	return keys, nil
}
