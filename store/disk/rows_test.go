package disk

import (
	"context"
	"database/sql"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

// Columns are read as database/sql reads them, whatever SQLite has in them.
func TestColumnsAreReadAsByTheStandardLibrary(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", ":memory:")
	require.NoError(t, err)
	defer db.Close()
	c, err := Connect(":memory:")
	require.NoError(t, err)
	defer c.Close()
	for _, value := range []string{"1", "0", "2", "-3", "2.5", "'text'", "'7'", "''", "NULL", "x'4142'", "'true'", "9007199254740993"} {
		for _, kind := range []any{"", 0, int64(0), 0.0, false, (*float64)(nil), []byte(nil), core.Status(""), core.Millis(0), sql.NullInt64{}, sql.NullString{}} {
			want, got := reflect.New(reflect.TypeOf(kind)), reflect.New(reflect.TypeOf(kind))
			wantErr := db.QueryRow("SELECT " + value).Scan(want.Interface())
			gotErr := c.Get(context.Background(), []any{got.Interface()}, "SELECT "+value)
			if _, named := kind.(core.Status); !named { // which is read as any text is
				require.Equal(t, wantErr == nil, gotErr == nil, "%s into a %T: %v, %v", value, kind, wantErr, gotErr)
			}
			if wantErr == nil {
				assert.Equal(t, want.Elem().Interface(), got.Elem().Interface(), "%s into a %T", value, kind)
			}
		}
	}
}

func TestRows(t *testing.T) {
	t.Parallel()
	c, err := Connect(":memory:")
	require.NoError(t, err)
	ctx := context.Background()
	var n int
	assert.ErrorIs(t, c.Get(ctx, []any{&n}, "SELECT 1 WHERE false"), ErrNoRow)
	assert.Error(t, c.Get(ctx, []any{&n, &n}, "SELECT 1"), "a column too few")
	for range 2 { // with the same statement
		rows, err := c.Query(ctx, "SELECT value FROM json_each(?)", "[3, 4]")
		require.NoError(t, err)
		sum := 0
		for rows.Next() {
			require.NoError(t, rows.Scan(&n))
			sum += n
		}
		require.NoError(t, rows.Err())
		require.NoError(t, rows.Close())
		assert.Equal(t, 7, sum)
	}
	require.NoError(t, c.Close())
	_, err = c.Query(ctx, "SELECT value FROM json_each(?)", "[]")
	assert.Error(t, err, "a closed connection")
}
