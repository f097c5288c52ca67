package project

import (
	"path/filepath"
	"strings"
	"unicode/utf8"

	"flame/core"
)

// maxText limits every incoming text, in bytes: a thousand times what a context can
// show, and small enough for one transaction.
const maxText = 1 << 20

// Clean trims a text. It refuses one that is empty, too long or not text.
func Clean(name, text string) (string, error) {
	text, err := CleanOptional(name, text)
	if err == nil && text == "" {
		err = core.Invalidf("%s is empty", name).WithHint("give %s as text", name)
	}
	return text, err
}

// CleanOptional is Clean for texts that may be left out.
func CleanOptional(name, text string) (string, error) {
	if len(text) > maxText {
		return "", core.Invalidf("%s has %d bytes, the limit is %d", name, len(text), maxText).
			WithHint("write it to a file and record the file as an artifact")
	}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return "", core.Invalidf("%s is not UTF-8 text", name).WithHint("write it to a file and record the file as an artifact")
	}
	return strings.TrimSpace(text), nil
}

// Relative returns an artifact as it is stored: a path inside the worktree relative to
// it, with forward slashes; anything else unchanged.
func (p *Project) Relative(artifact string) string {
	if !filepath.IsAbs(artifact) {
		return artifact
	}
	if rel, is := below(p.Agents, artifact); is {
		if parts := strings.SplitN(rel, "/", 3); len(parts) == 3 && parts[1] == "worktree" {
			return parts[2]
		}
	}
	if rel, is := below(p.Dir, artifact); is {
		return rel
	}
	return artifact
}

// below returns where path is in dir, with slashes.
func below(dir, path string) (rel string, is bool) {
	if dir == "" {
		return "", false
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// MaxTitle is the length in characters that titles of sessions are cut to.
const MaxTitle = 200
