package hooks

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"flame/local/confine"
)

// Tail returns the end of a file of the user's own, at most size bytes of it; nil if flame cannot
// read it.
func Tail(path string, size int64) []byte { return partOf(path, size, true) }

// Head returns the beginning of a file, as Tail returns its end.
func Head(path string, size int64) []byte { return partOf(path, size, false) }

func partOf(path string, size int64, end bool) []byte {
	if path == "" {
		return nil
	}
	file, err := confine.Follow("").Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	from := int64(0)
	if end {
		from = max(0, info.Size()-size)
	}
	part, err := io.ReadAll(io.NewSectionReader(file, from, size))
	if err != nil {
		return nil
	}
	return part
}

// PluginVersion returns the version of the plugin that a host runs this hook for: the host names
// the plugin's folder in an environment variable, and manifest is a path in that folder. It returns
// "" for a hook from settings.
func PluginVersion(variable, manifest string) string {
	dir := os.Getenv(variable)
	if dir == "" {
		return ""
	}
	content, err := confine.ReadFile(filepath.Join(dir, filepath.FromSlash(manifest)), 1<<20)
	var plugin struct {
		Version string `json:"version"`
	}
	if err != nil || json.Unmarshal(content, &plugin) != nil {
		return ""
	}
	return plugin.Version
}
