package disk

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Lists that hold nothing escaped take a short way, which must read what the long one does.
func TestPlainListsReadAsJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`["a"]`, `["a","b"]`, `[""]`, `["",""]`, `["a, b","日本"]`, `["a", "b"]`, `[ "a"]`, `["a\"b"]`, `["\u0041"]`, `["a"b"]`,
		`["]`, `[",]`, `["",]`, `[1]`, `null`, `{}`, "[\"\xff\"]", `["<&>"]`,
	} {
		var want, got []string
		wantErr := json.Unmarshal([]byte(text), &want)
		gotErr := ListInto{&got}.Scan(text)
		assert.Equal(t, wantErr, gotErr, text)
		assert.Equal(t, want, got, text)
	}
}
