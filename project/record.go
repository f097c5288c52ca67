package project

// A Kind is a kind of record: its name in the store, and the type of its records.
type Kind[T any] string

// Load reads a record into into and reports whether there is one; if not, into stays as
// it is. Fields that the record leaves out become zero.
func (k Kind[T]) Load(from Records, id string, into *T) (known bool, err error) {
	var record T
	if known, err = from.Record(string(k), id, &record); known && err == nil {
		*into = record
	}
	return known, err
}

// Save writes a record.
func (k Kind[T]) Save(to Records, id string, record T) error {
	return to.SaveRecord(string(k), id, record)
}

// Delete removes a record, if it exists.
func (k Kind[T]) Delete(from Records, id string) error {
	return from.DeleteRecord(string(k), id)
}

// Each calls f for every record, in order of id.
func (k Kind[T]) Each(from Records, f func(id string, record T) error) error {
	return k.each(from, Which{}, f)
}

func (k Kind[T]) each(from Records, which Which, f func(id string, record T) error) error {
	return from.Records(string(k), which, func(id string, decode func(any) error) error {
		var record T
		if err := decode(&record); err != nil {
			return err
		}
		return f(id, record)
	})
}

// At returns the records that have one of these ids, by id.
func (k Kind[T]) At(from Records, ids []string) (map[string]T, error) {
	at := map[string]T{}
	if len(ids) == 0 {
		return at, nil
	}
	err := k.each(from, Which{IDs: ids}, func(id string, record T) error {
		at[id] = record
		return nil
	})
	return at, err
}

// All returns every record, in order of id.
func (k Kind[T]) All(from Records) (all []T, err error) {
	err = k.Each(from, func(_ string, record T) error {
		all = append(all, record)
		return nil
	})
	return all, err
}

// IDs returns the ids that begin with prefix, in order, without decoding the records.
func (k Kind[T]) IDs(from Records, prefix string) (ids []string, err error) {
	err = from.Records(string(k), Which{Prefix: prefix}, func(id string, _ func(any) error) error {
		ids = append(ids, id)
		return nil
	})
	return ids, err
}
