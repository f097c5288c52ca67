package converge

import "strings"

// An answer is an agent's last text, parsed if it is JSON.
type answer struct {
	text  string // as given
	value any    // its JSON value, or the text as it is compared
	json  bool
	prose bool // there are words around the JSON
}

// readAnswer parses as JSON a text that is nothing else, or the only fenced
// block in the text: models put words before their results. A JSON string
// counts as the text in it.
func readAnswer(text string) answer {
	a := answer{text: text, value: normal(text)}
	if inside, around, ok := onlyFence(text); ok {
		if value, ok := decode(inside); ok && structured(value) {
			return answer{text: text, value: value, json: true, prose: strings.TrimSpace(around) != ""}
		}
	}
	value, ok := decode(text)
	if !ok {
		return a
	}
	if words, isText := value.(string); isText {
		return answer{text: words, value: normal(words)}
	}
	return answer{text: text, value: value, json: true}
}

// structured reports whether value is an object or a list. A lone number or
// word in a fenced block is more likely a sample or a command.
func structured(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// blank reports whether nothing was answered.
func (a answer) blank() bool { return a.value == nil || !a.json && a.value == "" }

// object returns the answer's fields, or nil if it is not a JSON object.
func (a answer) object() map[string]any {
	fields, _ := a.value.(map[string]any)
	return fields
}

// whole returns the answer as one value.
func (a answer) whole() any {
	if a.json {
		return a.value
	}
	return a.text
}

// onlyFence returns the content of the only fenced block in Markdown text, and
// the text around it; ok is false if there is none or more than one. A block
// that is not closed extends to the end, as in CommonMark.
func onlyFence(text string) (inside, around string, ok bool) {
	var in, out strings.Builder
	fence, blocks := "", 0
	for line := range strings.Lines(text) {
		mark := fenceMark(line)
		switch {
		case fence == "" && mark != "":
			fence, blocks = mark, blocks+1
		case fence == "":
			out.WriteString(line)
		case strings.HasPrefix(mark, fence) && strings.TrimSpace(line) == mark:
			fence = ""
		default:
			in.WriteString(line)
		}
	}
	return in.String(), out.String(), blocks == 1
}

// fenceMark returns the run of three or more backquotes or tildes that a line
// begins with.
func fenceMark(line string) string {
	line = strings.TrimLeft(line, " ")
	for _, char := range []string{"`", "~"} {
		run := line[:len(line)-len(strings.TrimLeft(line, char))]
		if len(run) >= 3 {
			return run
		}
	}
	return ""
}
