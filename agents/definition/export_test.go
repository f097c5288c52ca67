package definition

import (
	"path/filepath"
	"strings"

	"flame/hosts"
)

// LoadUntil is Load that reads no more after a time.
var LoadUntil = loadUntil

// Parse reads a definition by the name of its file.
func Parse(known hosts.Registry, file string, content []byte) (Definition, []Issue) {
	return parse(known, file, strings.TrimSuffix(filepath.Base(file), ".md"), content)
}
