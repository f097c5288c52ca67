package tools

import (
	"errors"
	"fmt"
	"strings"

	"flame/core"
	"flame/render"
)

// ExplainError returns an error in words for a model: what was wrong and what to do next. Errors
// that the model cannot fix read "internal error". For them ok is false, and the caller logs
// them.
func ExplainError(err error) (text string, ok bool) {
	var problem *core.Problem
	if !errors.As(err, &problem) {
		return "Error: internal error in flame. Its log says more (`flame where` prints the folder with flame.log); `flame doctor` checks the installation.", false
	}
	if problem.Hint == "" {
		return "Error: " + problem.Message, true
	}
	return fmt.Sprintf("Error: %s (%s)", problem.Message, render.ToToolNames(problem.Hint)), true
}

// readable returns err in words that a client may see.
func readable(err error) error {
	if err == nil {
		return nil
	}
	text, _ := ExplainError(err)
	return adviceError(strings.TrimPrefix(text, "Error: "))
}

type adviceError string

func (e adviceError) Error() string { return string(e) }

// exactly returns a setting in ms, as it is set and as people say it.
func exactly(ms int64) string { return fmt.Sprintf("%d ms (%s)", ms, core.Span(ms)) }

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
