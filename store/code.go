package store

import (
	"errors"

	"modernc.org/sqlite"
)

// resultCode returns the primary result code of SQLite in err; 0 for none.
func resultCode(err error) int { return extendedCode(err) & 0xff }

// extendedCode returns the extended result code of SQLite in err; 0 for none.
func extendedCode(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code()
}
