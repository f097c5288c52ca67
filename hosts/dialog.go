package hosts

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"flame/core"
)

// A Dialog is what a user said in the result of a call of a tool.
type Dialog struct {
	Answer  string // to the questions of the call
	Refusal string // the reason for which the user refused the call
	// Stays says that the result may have words of the user's that nothing tells from those of a
	// tool: it stays in requests, as a result.
	Stays bool
}

// AnswersOf returns the dialog of a result that holds nothing but answers, as JSON; it has no words if
// the result does not.
func AnswersOf(result string) (d Dialog) {
	if gjson.Valid(result) && gjson.Get(result, "answers").IsObject() {
		d.Answer = result
	}
	return d
}

// maxRefused is how much of the input of a refused call is named, in characters.
const maxRefused = 200

// Said returns the user's words, after the questions that they answer or the call that they refuse;
// empty without words. The answers of some hosts repeat the questions.
func (d Dialog) Said(tool string, input gjson.Result) string {
	if d.Refusal != "" {
		return fmt.Sprintf("Refused: %s %s\n%s", tool, core.OneLine(input.Raw, maxRefused), d.Refusal)
	}
	if d.Answer == "" {
		return ""
	}
	var asked []string
	for _, question := range input.Get("questions.#.question").Array() {
		if !strings.Contains(d.Answer, question.Str) {
			asked = append(asked, question.Str)
		}
	}
	return strings.Join(append(asked, d.Answer), "\n")
}
