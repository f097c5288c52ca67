package core_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core"
)

func TestAMessageShortensItsArguments(t *testing.T) {
	t.Parallel()
	a := func(n int) string { return strings.Repeat("a", n) }
	long := core.List{a(1000), a(1000)}
	tests := map[string]struct {
		problem *core.Problem
		want    string
	}{
		"a short one stays":                  {core.NotFoundf("frame %q not found", "a"), `frame "a" not found`},
		"a quoted one of 200 stays":          {core.NotFoundf("%q", a(200)), `"` + a(200) + `"`},
		"a quoted one of 201 is cut":         {core.NotFoundf("no %q", a(201)), `no "` + a(200) + `…" (201 characters)`},
		"a million characters":               {core.Invalidf("%q is no id", a(1<<20)), `"` + a(200) + `…" (1,048,576 characters) is no id`},
		"characters count, not bytes":        {core.NotFoundf("%q", strings.Repeat("ä", 200)), `"` + strings.Repeat("ä", 200) + `"`},
		"one of a type of its own":           {core.Invalidf("%q", core.Status(a(300))), `"` + a(200) + `…" (300 characters)`},
		"a path stays":                       {core.Invalidf("%s is no folder", a(1000)), a(1000) + " is no folder"},
		"what is longer than any path":       {core.Invalidf("%s: no", a(1001)), a(200) + "… (1,001 characters): no"},
		"an error that quotes":               {core.Unavailablef(nil, "it is: %v", errors.New(a(2000))), "it is: " + a(200) + "… (2,000 characters)"},
		"a problem, whose arguments are cut": {core.Invalidf("%v", core.Invalidf("there are %s", long)), "there are " + long.String()},
		"a list of what there is":            {core.Invalidf("there are %s", long), "there are " + long.String()},
		"numbers":                            {core.Invalidf("%d of %.2f, %*d", 3, 1.5, 3, 7), "3 of 1.50,   7"},
		"values of any kind":                 {core.Invalidf("%v %v", []string{"a"}, nil), "[a] <nil>"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tt.want, tt.problem.Message) })
	}
}
