package feed

import (
	"errors"

	"flame/core"
	"flame/render"
)

// A Trouble is what is wrong, in words for people.
type Trouble struct {
	Kind    string `json:"kind"` // unavailable, invalid, not found, or error
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// TroubleOf returns what an error tells people; nil for nil.
func TroubleOf(err error) *Trouble {
	if err == nil {
		return nil
	}
	t := &Trouble{Kind: "error", Message: core.OneLine(err.Error(), 2000)}
	for kind, is := range kinds {
		if errors.Is(err, is) {
			t.Kind = kind
		}
	}
	var problem *core.Problem
	if errors.As(err, &problem) {
		t.Hint = core.OneLine(render.ForShell(problem.Hint), 2000)
	}
	return t
}

var kinds = map[string]error{"unavailable": core.ErrUnavailable, "invalid": core.ErrInvalid, "not found": core.ErrNotFound}
