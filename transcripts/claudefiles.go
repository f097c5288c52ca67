package transcripts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"flame/core"
)

// A claudeAnswer is the data that the client stores beside the answer of a tool that starts
// agents or changes files.
type claudeAnswer struct {
	spawned claudeSpawnResult
	files   []core.FileChange
}

// UnmarshalJSON never fails. Answers of other tools may be long and have any form.
func (a *claudeAnswer) UnmarshalJSON(text []byte) error {
	if bytes.Contains(text, []byte(`"structuredPatch"`)) || bytes.Contains(text, []byte(`"notebook_path"`)) {
		var e claudeEditResult
		DecodeLenient(text, &e)
		a.files = e.changes()
	}
	return a.spawned.UnmarshalJSON(text)
}

// A claudeEditResult is a change of Edit, MultiEdit, Write or NotebookEdit.
type claudeEditResult struct {
	Path     string          `json:"filePath"`
	Type     string          `json:"type"` // of Write: create or update
	Content  json.RawMessage `json:"content"`
	Original json.RawMessage `json:"originalFile"`
	Old      string          `json:"oldString"`
	Hunks    []claudeHunk    `json:"structuredPatch"`

	Notebook  string `json:"notebook_path"`
	Cell      string `json:"cell_id"`
	OldSource string `json:"old_source"`
	NewSource string `json:"new_source"`
	Mode      string `json:"edit_mode"`
	Error     string `json:"error"`
}

// A claudeHunk is a hunk of a unified diff.
type claudeHunk struct {
	OldStart int      `json:"oldStart"`
	OldLines int      `json:"oldLines"`
	NewStart int      `json:"newStart"`
	NewLines int      `json:"newLines"`
	Lines    []string `json:"lines"`
}

// changes returns the changes; none if the file has its previous content.
func (e *claudeEditResult) changes() []core.FileChange {
	if e.Notebook != "" {
		return e.inNotebook()
	}
	if len(e.Hunks) == 0 {
		return e.written()
	}
	p := &Patch{}
	for _, h := range e.Hunks {
		p.write(fmt.Sprintf("@@ -%d,%d +%d,%d @@", max(0, h.OldStart), max(0, h.OldLines), max(0, h.NewStart), max(0, h.NewLines)))
		for _, line := range h.Lines {
			if line == "" || !strings.ContainsRune(" +-\\", rune(line[0])) {
				line = " " + line
			}
			p.line(strings.ReplaceAll(line, "\n", " "))
		}
	}
	kind := core.FileModified
	if string(e.Original) == "null" || e.Type == "create" || e.Type == "" && e.Old == "" && string(e.Original) == `""` {
		kind = core.FileAdded
	}
	return DropInvalidChanges([]core.FileChange{p.Of(e.Path, kind)})
}

// written returns the change of Write without a patch: the client makes no patch for a new
// file, or for a file that it cannot compare.
func (e *claudeEditResult) written() []core.FileChange {
	var content string
	if json.Unmarshal(e.Content, &content) != nil || bytes.Equal(e.Content, e.Original) {
		return nil
	}
	change := NewFilePatch(content).Of(e.Path, core.FileAdded)
	if e.Type != "create" {
		change.Kind, change.Inexact = core.FileModified, true
	}
	return DropInvalidChanges([]core.FileChange{change})
}

// inNotebook returns the change of a cell.
func (e *claudeEditResult) inNotebook() []core.FileChange {
	if e.Error != "" {
		return nil
	}
	before, after := e.OldSource, e.NewSource
	switch e.Mode {
	case "insert":
		before = ""
	case "delete":
		after = ""
	}
	p := &Patch{}
	p.replaced(before, after, strings.TrimRight("cell "+core.OneLine(e.Cell, 100), " "))
	return DropInvalidChanges([]core.FileChange{p.Of(e.Notebook, core.FileModified)})
}

// tell adds the changes of files to the tool's answer in a message.
func (a *claudeAnswer) tell(m *core.Message) {
	answered := -1
	for i, p := range m.Parts {
		if p.Type != core.PartToolResult {
			continue
		}
		if answered >= 0 {
			return // flame does not know which answer the data belong to
		}
		answered = i
	}
	if answered >= 0 && !m.Parts[answered].Failed {
		m.Parts[answered].Files = a.files
	}
}

// A claudeEditInput is the input of a tool that changes a file.
type claudeEditInput struct {
	Path     string  `json:"file_path"`
	Notebook string  `json:"notebook_path"`
	Content  *string `json:"content"`
	claudeReplacement
	Edits     []claudeReplacement `json:"edits"`
	Cell      string              `json:"cell_id"`
	NewSource string              `json:"new_source"`
	Mode      string              `json:"edit_mode"`
}

type claudeReplacement struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
}

// claudeMade begins the answer of Write to a subagent if the file is new.
const claudeMade = "File created successfully at: "

// askChanges adds the requested changes to the calls in a subagent's message: for subagents, the
// client stores no data beside the answers of tools.
func askChanges(m *core.Message) {
	for i := range m.Parts {
		part := &m.Parts[i]
		switch {
		case part.Type == core.PartToolCall && claudeEdits[part.Tool]:
			var in claudeEditInput
			DecodeLenient(part.Input, &in)
			part.Files = in.changes()
		case part.Type == core.PartToolResult && part.Files == nil && !part.Failed && strings.HasPrefix(part.Text, claudeMade):
			path, _, _ := strings.Cut(strings.TrimPrefix(part.Text, claudeMade), " (file state")
			part.Files = DropInvalidChanges([]core.FileChange{{Path: strings.TrimSpace(path), Kind: core.FileAdded}})
		}
	}
}

// claudeEdits are the tools that change files.
var claudeEdits = map[string]bool{"Edit": true, "MultiEdit": true, "Write": true, "NotebookEdit": true}

// changes returns the changes that the call requests.
func (in *claudeEditInput) changes() []core.FileChange {
	var change core.FileChange
	switch {
	case in.Notebook != "":
		e := claudeEditResult{Notebook: in.Notebook, Cell: in.Cell, NewSource: in.NewSource, Mode: in.Mode}
		if all := e.inNotebook(); len(all) > 0 {
			change = all[0]
		}
	case in.Content != nil:
		change = NewFilePatch(*in.Content).Of(in.Path, core.FileModified)
	default:
		p := &Patch{}
		for _, edit := range append(in.Edits, in.claudeReplacement) {
			p.replaced(edit.Old, edit.New, "")
		}
		change = p.Of(in.Path, core.FileModified)
	}
	change.Inexact = true
	return DropInvalidChanges([]core.FileChange{change})
}
