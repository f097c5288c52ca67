package store

import (
	"fmt"
	"slices"
	"strings"

	"flame/store/disk"
	"flame/store/form"
)

// A table keeps values of T, one per row. All SQL that names its columns is
// made from them, in their order, as are the arguments and results of that SQL.
type table[T any] struct {
	name    string
	key     string // the columns that tell rows apart
	columns []column[T]
}

// A column is a column of a table. Its field returns a pointer to the part of a
// value it keeps: see form.Bind for the supported types.
type column[T any] struct {
	name  string
	field func(*T) any
}

// An id is text outside the store and the key of that text in a column.
type id struct{ of *string }

// part returns the columns of a part of T as columns of T.
func part[T, P any](columns []column[P], in func(*T) *P) (list []column[T]) {
	for _, c := range columns {
		list = append(list, column[T]{c.name, func(v *T) any { return c.field(in(v)) }})
	}
	return list
}

// some returns the columns of these names, or all if there are none.
func (t table[T]) some(names []string) []column[T] {
	if len(names) == 0 {
		return t.columns
	}
	return slices.DeleteFunc(slices.Clone(t.columns), func(c column[T]) bool { return !slices.Contains(names, c.name) })
}

// but returns the columns without those of these names.
func (t table[T]) but(names ...string) []column[T] {
	return slices.DeleteFunc(slices.Clone(t.columns), func(c column[T]) bool { return slices.Contains(names, c.name) })
}

// each returns the SQL that as makes of the columns of these names, separated
// by commas.
func (t table[T]) each(as func(column string) string, names ...string) string {
	var list []string
	for _, c := range t.some(names) {
		list = append(list, as(c.name))
	}
	return strings.Join(list, ", ")
}

func itself(column string) string { return column }

// read returns what to select of the row called as, for scan. The given columns
// are parameters instead.
func (t table[T]) read(as string, given ...string) string {
	list, row := make([]string, 0, len(t.columns)), new(T)
	for _, c := range t.columns {
		from := as + "." + c.name
		_, isID := c.field(row).(id)
		switch {
		case slices.Contains(given, c.name):
			list = append(list, "? AS "+c.name)
		case isID:
			list = append(list, form.IDOf(from))
		default: // with its name, by which all parts of a UNION are ordered
			list = append(list, from+" AS "+c.name)
		}
	}
	return strings.Join(list, ", ")
}

// scan returns a function that reads a row of read's SQL, which the columns of
// first precede.
func (t table[T]) scan(first ...any) func(*disk.Rows) (T, error) {
	row := new(T)
	into := slices.Clone(first)
	for _, c := range t.columns {
		into = append(into, target(c.field(row)))
	}
	return func(rows *disk.Rows) (T, error) {
		var empty T
		*row = empty
		err := rows.Scan(into...)
		return *row, err
	}
}

// An own column is one that keeps no field of a value, but what the store needs.
type own struct {
	name  string
	value string // SQL
}

// save returns the SQL that writes a row, new or not, with these own columns.
func (t table[T]) save(owns ...own) string {
	names, values := t.each(itself), form.Placeholders(len(t.columns))
	var sets []string
	for _, c := range t.columns {
		if !strings.Contains(t.key, c.name) {
			sets = append(sets, c.name+" = excluded."+c.name)
		}
	}
	for _, c := range owns {
		names, values = names+", "+c.name, values+", "+c.value
		sets = append(sets, c.name+" = excluded."+c.name)
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s) ON CONFLICT (%s) DO UPDATE SET %s",
		t.name, names, values, t.key, strings.Join(sets, ", "))
}

// values returns the values for the columns of these names, or for all columns
// if there are none.
func (t table[T]) values(s *statements, v *T, names ...string) ([]any, error) {
	columns := t.some(names)
	list := make([]any, len(columns))
	for i, c := range columns {
		value, err := bind(s, c.field(v))
		if err != nil {
			return nil, err
		}
		list[i] = value
	}
	return list, nil
}

// pick returns those of all values that belong to the columns of these names.
func (t table[T]) pick(values []any, names ...string) []any {
	picked := make([]any, 0, len(names)+1) // callers append a key
	for i, c := range t.columns {
		if slices.Contains(names, c.name) {
			picked = append(picked, values[i])
		}
	}
	return picked
}

// bind returns the value of a field in SQLite's form.
func bind(s *statements, field any) (any, error) {
	if p, is := field.(id); is {
		key, err := s.key(*p.of)
		if !key.Valid {
			return nil, err
		}
		return key.Int64, err
	}
	return form.Bind(field)
}

// target returns what Scan writes into for a field.
func target(field any) any {
	if p, is := field.(id); is {
		return p.of
	}
	return form.Target(field)
}
