package op

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNamesInATextAreFilledIn(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"each as the door calls it": {Push.String() + " starts one, " + Pop.String() + " ends it", "FLAME_PUSH starts one, FLAME_POP ends it"},
		"words that look like one":  {"flame_push and %s", "flame_push and %s"},
		"half a placeholder":        {"a" + nameStart + "b", "ab"},
		"nothing":                   {"", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, ReplaceNames(tt.text, func(n Name) string { return strings.ToUpper(string(n)) }))
		})
	}
}
