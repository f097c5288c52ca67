// Package effort tells tests how much they may try: a little while somebody works, all
// of it before a change is submitted.
package effort

import (
	"os"
	"testing"
)

// Full reports whether all tests are asked for, at full size.
func Full() bool { return os.Getenv("FLAME_TEST") == "full" }

// Heavy skips a test that starts hubs, clusters or hosts, kills by the dozen or fills
// a machine, unless all tests are asked for.
func Heavy(t testing.TB) {
	t.Helper()
	if !Full() {
		t.Skip("heavy: FLAME_TEST=full runs it")
	}
}

// Lacks skips a test that lacks what it runs with, or fails it where all tests are asked
// for.
func Lacks(t testing.TB, missing error) {
	t.Helper()
	if Full() {
		t.Fatal(missing)
	}
	t.Skip(missing)
}

// Of returns how large a test is, or how often it is tried: usual, or full where all
// tests are asked for.
func Of(usual, full int) int {
	if Full() {
		return full
	}
	return usual
}

// Seeds returns how many of full random cases are tried, usually three at most.
func Seeds(full int) uint64 { return uint64(Of(min(full, 3), full)) }
