package hooks

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Document returns a file of a plugin with a JSON document of texts and numbers.
func Document(document any) []byte {
	content, _ := json.MarshalIndent(document, "", "  ") // such a document always has a form in JSON
	return append(content, '\n')
}

// Digest returns a short digest of a plugin's files, by their paths in it, for its version: hosts keep
// a plugin whose version stays the same.
func Digest(files map[string][]byte) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(sum, "%s %d\n%s", name, len(files[name]), files[name])
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:4])
}

// ByEvent returns the matchers of rows, by their events, which all run the same hook.
func ByEvent[X any](rows []EventRule[X], hook Entry) map[string][]Matcher {
	all := map[string][]EventRule[X]{}
	for _, r := range rows {
		all[r.Event] = append(all[r.Event], r)
	}
	matchers := map[string][]Matcher{}
	for event, rows := range all {
		matchers[event] = []Matcher{On(ToolsOf(rows), hook)}
	}
	return matchers
}

// ShellWord returns a path as one word of a shell, which some hosts start for a hook's command.
func ShellWord(path string) string {
	if strings.ContainsFunc(path, func(c rune) bool { return strings.ContainsRune(" \t\n'\"\\$`*?[]{}()<>|&;~#!", c) }) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// TOML returns a text as a string of TOML.
func TOML(text string) string {
	raw, err := json.Marshal(text) // its escapes are TOML's, but for one character
	if err != nil {
		return `""`
	}
	return strings.ReplaceAll(string(raw), "\x7f", `\u007f`)
}
