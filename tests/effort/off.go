//go:build !race

package effort

// Share is the divisor of large trees.
const Share = 1
