package definition

import (
	"path/filepath"
	"strings"
)

// LoadUntil is Load that reads no more after a time.
var LoadUntil = loadUntil

// Parse reads a definition by the name of its file.
func Parse(file string, content []byte) (Definition, []Finding) {
	return parse(file, strings.TrimSuffix(filepath.Base(file), ".md"), content)
}
