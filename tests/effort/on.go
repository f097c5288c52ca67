//go:build race

package effort

// Share is the divisor of large trees: the race detector makes the database some
// twenty times slower.
const Share = 20
