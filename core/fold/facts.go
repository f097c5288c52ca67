package fold

import (
	"math"
	"path"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/evidence"
)

// A Command is a command that a call ran.
type Command struct {
	Line string // its beginning
	Why  string // the line of its output that says why it failed; empty if it passed
}

const (
	leastFacts = 600  // tokens that a fold leaves out, from which on facts are worth their place
	maxCommand = 60   // characters of a command, and of a line that says why it failed
	maxSaid    = 120  // characters of a sentence
	maxResult  = 4000 // characters of a subagent's answer that are read
	maxShown   = 3    // pictures
)

// facts returns what the work of a stay tells and its frame's end does not say: commands that still fail or
// passed at last, pictures, sentences of the agent's and its subagents' that are needed beyond the work, commands that
// passed, and the files that changed; of each kind the newest first.
func (f *folding) facts(s *stay) string {
	frame := f.frames[s.frame].Frame
	told := frame.Goal + "\n" + frame.Summary // as the last answer of a turn or an item has it
	if !f.unasked(s) {
		told = strings.Join(slices.Concat([]string{told, frame.Results}, frame.Decisions, frame.Artifacts), "\n")
	}
	work := workOf{told: told}
	if m := f.begunBy(s); m != nil {
		work.messages = append(work.messages, m)
	}
	for i := s.from; i < s.to; i++ {
		if f.drops[i] {
			work.messages = append(work.messages, &f.history[i])
		}
	}
	failing, passed := work.commands()
	return core.FactsRemark(frame, slices.Concat(failing, work.pictures(), work.sentences(), passed, work.changed()))
}

// A workOf is the work of a stay that is left out, oldest message first, and what the requests say of it.
type workOf struct {
	messages []*Message
	told     string
}

// commands returns the commands that still fail or passed at last, and those that passed.
func (w workOf) commands() (failing, passed []string) {
	last, first := map[string]Command{}, map[string]string{} // by line; first is why it failed first
	var lines, mended []string
	for _, m := range w.messages {
		for _, c := range m.Commands {
			lines = append(slices.DeleteFunc(lines, func(line string) bool { return line == c.Line }), c.Line)
			if last[c.Line] = c; first[c.Line] == "" {
				first[c.Line] = c.Why
			}
		}
	}
	for _, line := range slices.Backward(lines) {
		short, known := core.OneLine(line, maxCommand), strings.Contains(w.told, line)
		switch why := core.OneLine(first[line], maxCommand); {
		case last[line].Why != "" && !(known && strings.Contains(w.told, last[line].Why)):
			failing = append(failing, "still fails: "+short+" ("+core.OneLine(last[line].Why, maxCommand)+")")
		case last[line].Why == "" && why != "" && !strings.Contains(w.told, first[line]):
			mended = append(mended, "passed at last: "+short+" (first: "+why+")")
		case last[line].Why == "" && !known && !(evidence.Call{Tool: "bash", Input: line}).OnlyReads():
			passed = append(passed, "passed: "+short)
		}
	}
	return append(failing, mended...), passed
}

// sentences returns what the agent and its subagents said, what is most likely needed first.
func (w workOf) sentences() []string {
	var all []evidence.Sentence
	for _, m := range w.messages {
		said := m.Results
		if m.Role == core.RoleAssistant {
			said = append([]string{m.Text}, m.Results...)
		}
		for _, text := range said {
			all = append(all, evidence.KeySentences(core.Head(text, maxResult))...)
		}
	}
	slices.Reverse(all)
	slices.SortStableFunc(all, func(a, b evidence.Sentence) int { return b.Weight - a.Weight })
	return lo.FilterMap(all, func(s evidence.Sentence, _ int) (string, bool) {
		return core.OneLine(s.Text, maxSaid), !strings.Contains(w.told, s.Text)
	})
}

var picture = core.Pattern(`(?i)\.(png|jpe?g|gif|webp|bmp|heic|pdf)$`)

// pictures returns the newest pictures and documents that the agent saw: no word finds them.
func (w workOf) pictures() []string {
	return w.files("seen: ", maxShown, func(m *Message) []string {
		return lo.FilterMap(m.Reads, func(file string, _ int) (string, bool) {
			folder, name := path.Split(file)
			return path.Join(path.Base(folder), name), picture().MatchString(file)
		})
	})
}

func (w workOf) changed() []string {
	return w.files("changed: ", math.MaxInt, func(m *Message) []string {
		return lo.Map(m.Files, func(file string, _ int) string { return path.Base(file) })
	})
}

// files returns a list of at most max files of the messages, the newest first, without those that were told; nothing
// without any.
func (w workOf) files(what string, max int, of func(*Message) []string) []string {
	var files []string
	for _, m := range slices.Backward(w.messages) {
		for _, file := range slices.Backward(of(m)) {
			if len(files) < max && !strings.Contains(w.told, path.Base(file)) && !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	if len(files) == 0 {
		return nil
	}
	return []string{what + strings.Join(files, ", ")}
}
