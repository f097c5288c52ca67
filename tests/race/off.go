//go:build !race

// Package race tells tests how large their trees may be.
package race

// Share is the divisor of large trees.
const Share = 1
