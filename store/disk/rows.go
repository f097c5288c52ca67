package disk

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// ErrNoRow is returned by Get if a query has no row.
var ErrNoRow = errors.New("no row")

// A preparedStmt is what the driver prepares.
type preparedStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// A stmt is a prepared statement with space for its arguments and rows, which it reuses each
// time.
type stmt struct {
	of   preparedStmt
	args []driver.NamedValue
	rows Rows
}

// appendNamed appends args in the driver's form.
func appendNamed(named []driver.NamedValue, args []any) ([]driver.NamedValue, error) {
	for i, arg := range args {
		switch arg.(type) {
		case string, int64, nil: // as it is
		default:
			var err error
			if arg, err = driver.DefaultParameterConverter.ConvertValue(arg); err != nil {
				return named, fmt.Errorf("argument %d: %w", i+1, err)
			}
		}
		named = append(named, driver.NamedValue{Ordinal: i + 1, Value: arg})
	}
	return named, nil
}

// Rows are the rows of a query. They are valid until the query runs again.
type Rows struct {
	of     driver.Rows // nil once they are closed
	values []driver.Value
	err    error // the error that ended them early
}

// begin makes r the rows that the driver found.
func (r *Rows) begin(found driver.Rows) *Rows {
	r.of, r.err = found, nil
	if r.values == nil {
		r.values = make([]driver.Value, len(found.Columns()))
	}
	return r
}

// Next reports whether there is another row, and reads it. After the last row it closes the
// rows.
func (r *Rows) Next() bool {
	if r.of == nil {
		return false
	}
	err := r.of.Next(r.values)
	if err == nil {
		return true
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	r.err = errors.Join(err, r.Close())
	return false
}

// Err returns the error that ended the rows early, if any.
func (r *Rows) Err() error { return r.err }

// Close ends the rows. It does nothing if they are closed.
func (r *Rows) Close() error {
	if r.of == nil {
		return nil
	}
	of := r.of
	r.of = nil
	return of.Close()
}

// Scan copies the columns of the row into the variables that dest points to.
func (r *Rows) Scan(dest ...any) error {
	if len(dest) != len(r.values) {
		return fmt.Errorf("a row has %d columns instead of %d", len(r.values), len(dest))
	}
	for i, value := range r.values {
		if err := assign(dest[i], value); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}

// ScanAny is Scan for rows that another program may have written. It reads a value of another
// type as the zero value, and a text that is no list as the only item of one, so that one
// such row does not hide the others.
func (r *Rows) ScanAny(dest ...any) error {
	if len(dest) != len(r.values) {
		return r.Scan(dest...)
	}
	for i, value := range r.values {
		if assign(dest[i], value) == nil {
			continue
		}
		switch to := dest[i].(type) {
		case JSONList:
			*to.List = nil
			if text := new(string); assign(text, value) == nil {
				*to.List = []string{*text}
			}
		default:
			reflect.ValueOf(to).Elem().SetZero()
		}
	}
	return nil
}

// assign copies a value of the driver into the variable that dest points to.
func assign(dest any, value driver.Value) (err error) {
	is := false
	switch to := dest.(type) {
	case *string:
		*to, is = value.(string)
	case *int64:
		*to, is = value.(int64)
	case *int:
		var n int64
		n, is = value.(int64)
		*to = int(n)
	case *bool:
		var n int64
		n, is = value.(int64)
		*to, is = n == 1, is && n>>1 == 0
	case sql.Scanner:
		return to.Scan(value)
	}
	if !is {
		err = convert(reflect.ValueOf(dest).Elem(), value)
	}
	return err
}

// convert sets dest to a value of another type, by the rules of database/sql.
func convert(dest reflect.Value, value driver.Value) error {
	switch dest.Kind() {
	case reflect.Pointer:
		if value == nil {
			dest.SetZero()
			return nil
		}
		dest.Set(reflect.New(dest.Type().Elem()))
		return convert(dest.Elem(), value)
	case reflect.String:
		return convertTo[string](dest, value)
	case reflect.Int, reflect.Int64:
		return convertTo[int64](dest, value)
	case reflect.Float64:
		return convertTo[float64](dest, value)
	case reflect.Bool:
		return convertTo[bool](dest, value)
	case reflect.Slice:
		return convertTo[[]byte](dest, value)
	}
	return fmt.Errorf("a column is read into a %s", dest.Type())
}

func convertTo[T any](dest reflect.Value, value driver.Value) error {
	var as sql.Null[T]
	if err := as.Scan(value); err != nil {
		return err
	}
	if !as.Valid && dest.Kind() != reflect.Slice {
		return fmt.Errorf("it is NULL instead of a %s", dest.Type())
	}
	dest.Set(reflect.ValueOf(as.V).Convert(dest.Type()))
	return nil
}

// A JSONList reads a column of JSON text into a list; an empty one leaves it nil.
type JSONList struct{ List *[]string }

// Scan reads src, which is text.
func (l JSONList) Scan(src any) error {
	var text []byte
	switch src := src.(type) {
	case string:
		text = []byte(src)
	case []byte:
		text = src
	default:
		return fmt.Errorf("a list is %T instead of text", src)
	}
	if string(text) == "[]" {
		return nil
	}
	return json.Unmarshal(text, l.List)
}
