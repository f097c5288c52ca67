package disk

import (
	"errors"

	"modernc.org/sqlite"
)

// Code returns the primary result code of SQLite in err; 0 for none.
func Code(err error) int { return ExtendedCode(err) & 0xff }

// ExtendedCode returns the extended result code of SQLite in err; 0 for none.
func ExtendedCode(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code()
}
