package render

import (
	"fmt"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/project/usage"
)

// Files returns the line about the files that were changed in a frame; it is empty
// without any.
func Files(l usage.FileList) string {
	if len(l.Files) == 0 {
		return Field("Files", l.Trouble)
	}
	all := lo.Map(l.Files[:min(len(l.Files), maxListed)], func(f usage.ChangedFile, _ int) string { return core.OneLine(f.Path+changed(f), 0) })
	text := "Files: " + strings.Join(all, ", ")
	if more := len(l.Files) - maxListed; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	if l.More > 0 {
		text += fmt.Sprintf(" (and %s in other files)", Count(l.More, "change"))
	}
	return text + "\n" + Field("Files", l.Trouble)
}

// changed returns the kind and size of a change, to follow the path of the file.
func changed(f usage.ChangedFile) string {
	text := ""
	if f.From != "" {
		text = " (was " + f.From + ")"
	}
	if f.Kind != core.FileModified {
		text += " (" + string(f.Kind) + ")"
	}
	about := ""
	if f.Inexact {
		about = "about "
	}
	return fmt.Sprintf("%s %s+%d -%d", text, about, f.Added, f.Removed)
}

// Patches returns the patches of the files that were changed in a frame, by file.
func Patches(l usage.FileList) string {
	if len(l.Files) == 0 && l.Trouble == "" {
		return "No file changes are known. Hosts do not report what shell commands change."
	}
	var b strings.Builder
	for _, f := range l.Files {
		b.WriteString(f.Path + changed(f) + "\n" + f.Patch)
		if f.Cut {
			b.WriteString("(flame did not keep the whole patch)\n")
		}
		b.WriteString("\n")
	}
	if l.Trouble != "" {
		b.WriteString(l.Trouble + "\n")
	}
	if l.Dropped > 0 {
		fmt.Fprintf(&b, "Older patches that made room for newer ones: %d\n", l.Dropped)
	}
	if l.More > 0 {
		fmt.Fprintf(&b, "%s of other files are not listed.\n", Count(l.More, "change"))
	}
	return strings.TrimSuffix(b.String(), "\n")
}
