// Package effort tells tests how much to try: little during development, everything before a
// change is submitted.
package effort

import (
	"maps"
	"os"
	"slices"
	"testing"
)

// Full reports whether all tests are requested, at full size.
func Full() bool { return os.Getenv("FLAME_TEST") == "full" }

// Heavy skips a test that starts hubs, clusters or hosts, kills by the dozen or fills a machine,
// unless all tests are requested.
func Heavy(t testing.TB) {
	t.Helper()
	if !Full() {
		t.Skip("heavy: FLAME_TEST=full runs it")
	}
}

// Lacks skips a test whose means are missing, or fails it if all tests are requested.
func Lacks(t testing.TB, missing error) {
	t.Helper()
	if Full() {
		t.Fatal(missing)
	}
	t.Skip(missing)
}

// Of returns the size of a test, or its number of tries: usual, or full if all tests are
// requested.
func Of(usual, full int) int {
	if Full() {
		return full
	}
	return usual
}

// Seeds returns how many of full random cases are tried, usually one.
func Seeds(full int) uint64 { return uint64(Of(1, full)) }

// Few returns the cases of a table of which each starts processes: usually three, the first by
// their names, or all if all tests are requested.
func Few[V any](cases map[string]V) map[string]V {
	few := map[string]V{}
	for _, name := range slices.Sorted(maps.Keys(cases))[:Of(min(len(cases), 3), len(cases))] {
		few[name] = cases[name]
	}
	return few
}
