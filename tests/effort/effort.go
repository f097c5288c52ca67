// Package effort tells tests how much they may try: a little while somebody works, all
// of it before a change is submitted, less of what is random where the race detector
// slows it.
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

// Of returns how large a test is: usual, or full where all tests are asked for.
func Of(usual, full int) int {
	if Full() {
		return full
	}
	return usual
}

// Seeds returns how many of n random cases are tried: with the race detector three at
// most.
func Seeds(n int) uint64 {
	if Share > 1 {
		n = min(n, 3)
	}
	return uint64(n)
}
