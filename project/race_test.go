//go:build race

package project_test

// share is by how much the race detector has large trees divided, as it makes the
// database some twenty times slower.
const share = 20
