package project

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/samber/lo"

	"flame/core"
)

// A RecordKind is a kind of record: its name in the store, and the type of its records. What flame
// keeps of one session, frame, host or other thing is one record with parts, which have names like
// "session.turns".
type RecordKind[T any] string

// Get returns a record, zero if there is none, and reports whether there is one.
func (k RecordKind[T]) Get(from Records, id string) (record T, known bool, err error) {
	if known, err = from.Record(string(k), id, &record); err != nil {
		record = *new(T)
	}
	return record, known, err
}

// Find returns a record, or the zero value without one.
func (k RecordKind[T]) Find(from Records, id string) (T, error) {
	record, _, err := k.Get(from, id)
	return record, err
}

// Change applies change to a record and saves it. If there is none, it applies change to a
// zero record, and saves that unless it stays zero.
func (k RecordKind[T]) Change(in Records, id string, change func(*T)) error {
	record, known, err := k.Get(in, id)
	if err != nil {
		return err
	}
	if change(&record); !known && reflect.ValueOf(&record).Elem().IsZero() {
		return nil
	}
	return k.Save(in, id, record)
}

// Save writes a record.
func (k RecordKind[T]) Save(to Records, id string, record T) error {
	return to.SaveRecord(string(k), id, record)
}

// Delete removes a record, if it exists.
func (k RecordKind[T]) Delete(from Records, id string) error {
	return from.DeleteRecord(string(k), id)
}

// DeleteAll removes the records that have one of these ids.
func (k RecordKind[T]) DeleteAll(from Records, ids []string) error {
	return errors.Join(lo.Map(ids, func(id string, _ int) error { return k.Delete(from, id) })...)
}

// Forget removes the records that are old.
func (k RecordKind[T]) Forget(from Records, old func(T) bool) error {
	var gone []string
	err := k.Each(from, func(id string, record T) error {
		if old(record) {
			gone = append(gone, id)
		}
		return nil
	})
	return errors.Join(err, k.DeleteAll(from, gone))
}

// Clear removes the records whose ids begin with prefix.
func (k RecordKind[T]) Clear(from Records, prefix string) error {
	ids, err := k.IDs(from, prefix)
	return errors.Join(err, k.DeleteAll(from, ids))
}

// Each calls f for every record, in order of id.
func (k RecordKind[T]) Each(from Records, f func(id string, record T) error) error {
	return k.each(from, RecordQuery{}, f)
}

func (k RecordKind[T]) each(from Records, which RecordQuery, f func(id string, record T) error) error {
	return from.Records(string(k), which, func(id string, decode func(any) error) error {
		var record T
		if err := decode(&record); err != nil {
			return err
		}
		return f(id, record)
	})
}

// At returns the records that have one of these ids, by id.
func (k RecordKind[T]) At(from Records, ids []string) (map[string]T, error) {
	at := map[string]T{}
	if len(ids) == 0 {
		return at, nil
	}
	err := k.each(from, RecordQuery{IDs: ids}, func(id string, record T) error {
		at[id] = record
		return nil
	})
	return at, err
}

// All returns every record, in order of id.
func (k RecordKind[T]) All(from Records) (all []T, err error) {
	err = k.Each(from, func(_ string, record T) error {
		all = append(all, record)
		return nil
	})
	return all, err
}

// Where returns the records for which a column of the kind's table is in a range, in the order of
// that column, and their ids.
func (k RecordKind[T]) Where(from Records, column string, least, most any) (ids []string, found []T, err error) {
	err = k.each(from, RecordQuery{Column: column, From: least, To: most}, func(id string, record T) error {
		ids, found = append(ids, id), append(found, record)
		return nil
	})
	return ids, found, err
}

// ByID returns every record, by id.
func (k RecordKind[T]) ByID(from Records) (map[string]T, error) {
	all := map[string]T{}
	return all, k.Each(from, func(id string, record T) error {
		all[id] = record
		return nil
	})
}

// IDs returns the ids that begin with prefix, in order, without decoding the records.
func (k RecordKind[T]) IDs(from Records, prefix string) (ids []string, err error) {
	err = from.Records(string(k), RecordQuery{Prefix: prefix}, func(id string, _ func(any) error) error {
		ids = append(ids, id)
		return nil
	})
	return ids, err
}

// A Setting is the name of a group of settings that tools can change for a project. The
// store holds only the changed members; the others follow the environment.
type Setting[T any] string

const (
	recordOff   RecordKind[bool] = "project.off"
	recordArmed RecordKind[bool] = "project.events" // the deadline that drops old events was set once

	// SettingSubagents are the settings for subagents.
	SettingSubagents Setting[core.SubagentConfig] = "subagents"
)

// In returns base with the changed settings on top. Lists in the result may be base's
// own: clone one before changing it.
func (n Setting[T]) In(tx Records, base T) (result T, err error) {
	changed, err := n.changed(tx)
	if len(changed) == 0 || err != nil {
		return base, err
	}
	fields, err := fieldsOf(base)
	if err != nil {
		return result, err
	}
	maps.Copy(fields, changed)
	raw, err := json.Marshal(fields)
	if err != nil {
		return result, err
	}
	return result, json.Unmarshal(raw, &result)
}

// Change sets the fields that patch has, and reports whether that changed any.
func (n Setting[T]) Change(tx Records, patch any) (updated bool, err error) {
	changed, err := n.changed(tx)
	if err != nil {
		return false, err
	}
	fields, err := fieldsOf(patch)
	if err != nil {
		return false, err
	}
	now := lo.Assign(changed, fields)
	same := func(a, b json.RawMessage) bool { return string(a) == string(b) }
	return !maps.EqualFunc(changed, now, same), n.record().Save(tx, "", now)
}

// AddRemove returns a list with add, if that is not empty, and without remove; nil if this
// changes nothing.
func AddRemove(list []string, add, remove string) *[]string {
	amended := slices.DeleteFunc(slices.Clone(list), func(one string) bool { return one == remove })
	if add != "" && !slices.Contains(amended, add) {
		amended = append(amended, add)
	}
	if slices.Equal(amended, list) {
		return nil
	}
	return &amended
}

// Reset drops all changes.
func (n Setting[T]) Reset(tx Records) error { return n.record().Delete(tx, "") }

// record is the kind of the JSON members that were changed.
func (n Setting[T]) record() RecordKind[map[string]json.RawMessage] {
	return RecordKind[map[string]json.RawMessage]("project." + n)
}

// Changed returns the names of the fields that were changed, sorted.
func (n Setting[T]) Changed(tx Records) ([]string, error) {
	changed, err := n.changed(tx)
	return slices.Sorted(maps.Keys(changed)), err
}

func (n Setting[T]) changed(tx Records) (map[string]json.RawMessage, error) {
	return n.record().Find(tx, "")
}

// fieldsOf returns the JSON members of v.
func fieldsOf(v any) (fields map[string]json.RawMessage, err error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return fields, json.Unmarshal(raw, &fields)
}

// SubagentConfig returns the subagent settings in force.
func (s *Op) SubagentConfig() (core.SubagentConfig, error) {
	return SettingSubagents.In(s.Tx, s.Project.Subagents)
}

// SetOff turns hooks and context injection off for the project, or on again.
func (p *Project) SetOff(ctx context.Context, off bool) error {
	return p.Store.Update(ctx, func(tx Tx) error {
		if off {
			return recordOff.Save(tx, "", true)
		}
		return recordOff.Delete(tx, "")
	})
}

// Off reports whether hooks and context injection are off for the project.
func (p *Project) Off(ctx context.Context) (bool, error) {
	return Read(ctx, p, func(tx Tx) (bool, error) { return p.Step(tx, Caller{}).Off() })
}

// Off reports whether hooks and context injection are off for the project.
func (s *Op) Off() (bool, error) { return recordOff.Find(s.Tx, "") }
