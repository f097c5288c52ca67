package autonomy

import (
	"encoding/json"
	"errors"
	"slices"

	"flame/core"
	"flame/project"
)

// recordHistory has one record, under no id: the project's suggestions, the oldest first.
const recordHistory project.RecordKind[[]core.Suggestion] = "suggestion_history"

// maxHistory limits the history of suggestions. If it is full, the newer half stays.
const maxHistory = 100

// historyOf returns the history. An unreadable one counts as empty, so that it cannot stop an
// operation.
func historyOf(s *project.Op) ([]core.Suggestion, error) {
	history, err := recordHistory.Find(s.Tx, "")
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, form := errors.AsType[*json.UnmarshalTypeError](err)
	if syntax || form {
		s.Project.Log.Warn("flame cannot read the history of suggestions, and begins a new one", "error", err)
		return nil, nil
	}
	return history, err
}

// remember adds a suggestion to the project's history, or notes there that it was acted on.
func remember(s *project.Op, suggestion core.Suggestion) error {
	history, err := historyOf(s)
	if err != nil {
		return err
	}
	for i, h := range slices.Backward(history) {
		if suggestion.ActedAt != 0 && h.ActedAt == 0 && h.Same(suggestion) {
			history[i] = suggestion
			return recordHistory.Save(s.Tx, "", history)
		}
	}
	if len(history) >= maxHistory {
		history = history[len(history)-maxHistory/2+1:]
	}
	return recordHistory.Save(s.Tx, "", append(history, suggestion))
}
