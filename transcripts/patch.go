package transcripts

import (
	"fmt"
	"slices"
	"strings"

	"flame/core"
)

const (
	// maxPatch bounds the patch of one call for one file, in bytes.
	maxPatch = 64 << 10
	// maxChanged bounds the changed files of one call.
	maxChanged = 500
	// maxPath bounds the path of a changed file, in bytes.
	maxPath = 1 << 10
	// nowhere begins a hunk with an unknown place in the file.
	nowhere = "@@ @@"
	// noNewline follows a last line without a newline.
	noNewline = "\\ No newline at end of file"
)

// A patch collects the hunks of one file. Beyond maxPatch it only counts lines.
type Patch struct {
	text           strings.Builder
	added, removed int
	cut            bool
}

// line adds a line of a hunk. It begins with its mark.
func (p *Patch) line(line string) {
	switch {
	case strings.HasPrefix(line, "+"):
		p.added++
	case strings.HasPrefix(line, "-"):
		p.removed++
	}
	p.write(line)
}

// write adds a line without counting it.
func (p *Patch) write(line string) {
	if p.cut = p.cut || p.text.Len()+len(line) >= maxPatch; !p.cut {
		p.text.WriteString(line + "\n")
	}
}

// lines adds lines with the same mark.
func (p *Patch) lines(mark string, lines []string) {
	for _, line := range lines {
		p.line(mark + line)
	}
}

// Of returns the change of the file at path.
func (p *Patch) Of(path string, kind core.ChangeKind) core.FileChange {
	return core.FileChange{Path: path, Kind: kind, Added: p.added, Removed: p.removed, Patch: p.text.String(), Cut: p.cut}
}

// NewFilePatch returns the patch of a new file with this content.
func NewFilePatch(content string) *Patch {
	p := &Patch{}
	if content == "" {
		return p
	}
	lines := linesOf(content)
	p.write(fmt.Sprintf("@@ -0,0 +1,%d @@", len(lines)))
	p.lines("+", lines)
	if !strings.HasSuffix(content, "\n") {
		p.write(noNewline)
	}
	return p
}

// DeletedFilePatch returns the patch of a file with this content that was deleted.
func DeletedFilePatch(content string) *Patch {
	p := &Patch{}
	p.lines("-", linesOf(content))
	return p
}

// linesOf returns the lines of a text. A newline at its end does not begin another line.
func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// maxContext is how many lines a hunk has before and after the change.
const maxContext = 3

// replaced adds the hunk of a text that replaced another.
func (p *Patch) replaced(before, after, where string) {
	from, to := linesOf(before), linesOf(after)
	if slices.Equal(from, to) {
		return
	}
	same := 0
	for same < min(len(from), len(to)) && from[same] == to[same] {
		same++
	}
	behind := 0
	for behind < min(len(from), len(to))-same && from[len(from)-1-behind] == to[len(to)-1-behind] {
		behind++
	}
	p.write(strings.TrimRight(nowhere+" "+where, " "))
	p.lines(" ", from[max(0, same-maxContext):same])
	p.lines("-", from[same:len(from)-behind])
	p.lines("+", to[same:len(to)-behind])
	p.lines(" ", from[len(from)-behind:][:min(behind, maxContext)])
}

// ParseDiff reads the hunks of a unified diff of one file.
func ParseDiff(diff string) *Patch {
	p := &Patch{}
	inside := false
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "@@ ") {
			inside = true
			p.write(line)
		} else if inside && line != "" {
			p.line(line)
		}
	}
	return p
}

// DropInvalidChanges drops changes of files with an empty or impossible path, and those beyond maxChanged.
func DropInvalidChanges(changes []core.FileChange) []core.FileChange {
	known := slices.DeleteFunc(changes, func(c core.FileChange) bool {
		return c.Path == "" || len(c.Path) > maxPath || len(c.From) > maxPath || strings.ContainsRune(c.Path+c.From, 0)
	})
	return slices.Clip(known[:min(len(known), maxChanged)])
}
