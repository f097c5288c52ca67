// Package effort tells tests how much to try: little while somebody works, everything before a
// change is submitted.
package effort

import (
	"os"
	"testing"
)

// Full reports whether all tests are requested.
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
