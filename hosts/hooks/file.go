package hooks

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"github.com/tidwall/gjson"

	"flame/local/safefile"
)

// Tail returns the end of a file of the user's own, at most size bytes of it; nil if flame cannot
// read it.
func Tail(path string, size int64) (part []byte) {
	read(path, func(file *os.File, length int64) { part = section(file, max(0, length-size), size) })
	return part
}

// Head returns the beginning of a file, as Tail returns its end.
func Head(path string, size int64) (part []byte) {
	read(path, func(file *os.File, _ int64) { part = section(file, 0, size) })
	return part
}

// Since returns the whole lines of a file that are behind a position, and the position behind them.
// It reads at most the last size bytes, and nothing if nothing is new. A file that is shorter was
// written anew: all of it is new.
func Since(path string, from, size int64) (part []byte, next int64) {
	next = from
	read(path, func(file *os.File, length int64) {
		if length == from {
			return
		}
		if length < from {
			from, next = 0, 0
		}
		from = max(from, length-size)
		part = section(file, from, length-from)
		part = part[:bytes.LastIndexByte(part, '\n')+1]
		if len(part) > 0 {
			next = from + int64(len(part))
		}
	})
	return part, next
}

// read calls f with a regular file of the user's own and its length, if flame can read it.
func read(path string, f func(file *os.File, length int64)) {
	if path == "" {
		return
	}
	file, err := safefile.Follow("").Open(path)
	if err != nil {
		return
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		f(file, info.Size())
	}
}

// section returns size bytes of a file, or fewer at its end; nil if flame cannot read them.
func section(file *os.File, from, size int64) []byte {
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
	content, err := safefile.ReadFile(filepath.Join(dir, filepath.FromSlash(manifest)), 1<<20)
	if err != nil || !json.Valid(content) {
		return ""
	}
	return gjson.GetBytes(content, "version").Str
}
