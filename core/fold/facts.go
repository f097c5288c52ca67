package fold

import (
	"path"
	"slices"
	"strings"

	"flame/core"
	"flame/core/evidence"
)

// A Command is a command that a call ran.
type Command struct {
	Line string // its beginning
	Why  string // the line of its output that says why it failed; empty if it passed
}

const (
	leastFacts = 600 // tokens that a fold leaves out, from which on facts are worth their place
	maxCommand = 60  // characters of a command, and of a line that says why it failed
	maxSaid    = 100 // characters of a sentence
)

// facts returns what the work of a stay tells and its frame's end does not say, the newest first:
// commands that still fail or passed at last, sentences that hold beyond the work, commands that
// passed, and the files that changed.
func (f *folding) facts(s *stay) string {
	frame := f.frames[s.frame].Frame
	told := frame.Summary // as the last answer of a turn has it
	if !f.isTurn(s) {
		told = strings.Join(slices.Concat([]string{told, frame.Results}, frame.Decisions, frame.Artifacts), "\n")
	}
	last, first := map[string]Command{}, map[string]string{} // by line; first is why it failed first
	var lines, files, said []string
	for _, m := range f.history[s.from:s.to] {
		for _, c := range m.Commands {
			lines = append(slices.DeleteFunc(lines, func(line string) bool { return line == c.Line }), c.Line)
			if last[c.Line] = c; first[c.Line] == "" {
				first[c.Line] = c.Why
			}
		}
		files = append(files, m.Files...)
		for _, sentence := range evidence.Lasting(m.Text) {
			if m.Role == core.RoleAssistant && !strings.Contains(told, sentence) {
				said = append(said, core.OneLine(sentence, maxSaid))
			}
		}
	}
	var red, mended, passed []string
	for _, line := range slices.Backward(lines) {
		short, known := core.OneLine(line, maxCommand), strings.Contains(told, line)
		switch why := core.OneLine(first[line], maxCommand); {
		case last[line].Why != "" && !(known && strings.Contains(told, last[line].Why)):
			red = append(red, "still fails: "+short+" ("+core.OneLine(last[line].Why, maxCommand)+")")
		case last[line].Why == "" && why != "" && !strings.Contains(told, first[line]):
			mended = append(mended, "passed at last: "+short+" (first: "+why+")")
		case last[line].Why == "" && !known && !(evidence.Call{Tool: "bash", Input: line}).OnlyReads():
			passed = append(passed, "passed: "+short)
		}
	}
	slices.Reverse(said)
	var changed []string
	for _, file := range slices.Backward(files) {
		if name := path.Base(file); !strings.Contains(told, name) && !slices.Contains(changed, name) {
			changed = append(changed, name)
		}
	}
	if len(changed) > 0 {
		passed = append(passed, "changed: "+strings.Join(changed, ", "))
	}
	return core.FactsRemark(frame, slices.Concat(red, mended, said, passed))
}
