package codec

import "flame/core/fold"

// IndexedEdits are edits by the names of messages and the ids of calls.
type IndexedEdits struct {
	Dropped, Stale map[string]bool
	Mute           map[string]bool     // messages without the assistant's words
	Before         map[string][]string // texts of the user's that stand before a message
	Lines          map[string]string   // that replace outputs, by call, of one line or more; an empty one removes the call, too
}

// NewEdit returns an amendment as an edit.
func NewEdit(a fold.Edits) IndexedEdits {
	e := IndexedEdits{
		Dropped: map[string]bool{}, Stale: map[string]bool{}, Mute: map[string]bool{}, Before: map[string][]string{}, Lines: map[string]string{},
	}
	for _, name := range a.Drop {
		e.Dropped[name] = true
	}
	for _, name := range a.DropThinking {
		e.Stale[name] = true
	}
	for _, note := range a.Before {
		e.Before[note.Before] = append(e.Before[note.Before], note.Text)
	}
	for _, cut := range a.Cuts {
		if cut.Call == "" {
			e.Mute[cut.Message] = true
		} else {
			e.Lines[cut.Call] = cut.Text
		}
	}
	return e
}
