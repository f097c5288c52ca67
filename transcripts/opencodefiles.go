package transcripts

import (
	"cmp"
	"strings"

	"flame/core"
)

// An openCodeDiff is OpenCode's data about a tool's change of a file. OpenCode's own numbers
// count the end of the file as a line.
type openCodeDiff struct {
	File  string `json:"file"`     // of edit
	Path  string `json:"filePath"` // of apply_patch
	Moved string `json:"movePath"`
	Type  string `json:"type"` // of apply_patch: add, update, delete, move
	Patch string `json:"patch"`
	Diff  string `json:"diff"` // older clients' name for it
}

// OpenCodeFiles returns the changes of files by a successful call of one of OpenCode's tools, from
// the call's input and the data that the client stores beside the answer.
func OpenCodeFiles(tool string, input, metadata []byte) []core.FileChange {
	var in struct {
		Path    string `json:"filePath"`
		Content string `json:"content"`
	}
	var did struct {
		Diff    string         `json:"diff"`
		File    openCodeDiff   `json:"filediff"`
		Exists  *bool          `json:"exists"`
		Files   []openCodeDiff `json:"files"`
		Results []struct {
			File openCodeDiff `json:"filediff"`
			Diff string       `json:"diff"`
		} `json:"results"`
	}
	switch tool {
	case "write", "edit", "multiedit", "patch", "apply_patch":
		DecodeLenient(input, &in)
		DecodeLenient(metadata, &did)
	}
	switch tool {
	case "write":
		return openCodeWritten(in.Path, in.Content, did.Exists)
	case "edit":
		did.File.Path, did.File.Diff = in.Path, did.Diff
		return DropInvalidChanges([]core.FileChange{did.File.change()})
	case "multiedit":
		for _, r := range did.Results {
			r.File.Path, r.File.Diff = in.Path, r.Diff
			did.Files = append(did.Files, r.File)
		}
	}
	var changes []core.FileChange
	for _, d := range did.Files[:min(len(did.Files), maxChanged)] {
		changes = append(changes, d.change())
	}
	return DropInvalidChanges(changes)
}

// openCodeWritten returns the change of the tool write. The previous content is unknown.
func openCodeWritten(path, content string, existed *bool) []core.FileChange {
	change := NewFilePatch(content).Of(path, core.FileAdded)
	if existed == nil || *existed {
		change.Kind, change.Inexact = core.FileModified, true
	}
	return DropInvalidChanges([]core.FileChange{change})
}

// change returns the change of the file.
func (d openCodeDiff) change() core.FileChange {
	text, path, kind := cmp.Or(d.Patch, d.Diff), cmp.Or(d.Path, d.File), core.FileModified
	switch {
	case d.Type == "add" || d.Type == "" && strings.Contains(text, "\n@@ -0,0 "): // edit names no type
		kind = core.FileAdded
	case d.Type == "delete":
		kind = core.FileDeleted
	}
	change := ParseDiff(text).Of(path, kind)
	if d.Moved != "" && d.Moved != path {
		change.Path, change.From = d.Moved, path
	}
	return change
}

// files returns the changes of files by a successful call.
func (p openCodePart) files() []core.FileChange {
	return OpenCodeFiles(p.Tool, p.State.Input, p.State.Metadata)
}
