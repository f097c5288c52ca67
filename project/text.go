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
	if p.Dir == "" || !filepath.IsAbs(artifact) {
		return artifact
	}
	rel, err := filepath.Rel(p.Dir, artifact)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return artifact
	}
	return filepath.ToSlash(rel)
}

// MaxTitle is the length in characters that titles of sessions are cut to.
const MaxTitle = 200
