//go:build !race

package project_test

// share is by how much large trees are divided.
const share = 1
