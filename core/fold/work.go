package fold

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"flame/core"
	"flame/core/evidence"
)

// A Command is a command that a call ran.
type Command struct {
	Call string `json:"call,omitempty"` // id, in an entry of a log
	Line string `json:"line,omitempty"` // its beginning; empty in an entry of a log with its outcome
	Why  string `json:"why,omitempty"`  // the line of its output that says why it failed; empty if it passed
}

const (
	maxNoted    = 50     // commands, sentences, files of a frame
	maxCommand  = 60     // characters of a command, and of a line that says why it failed
	maxSaid     = 120    // characters of a sentence
	maxResult   = 4000   // characters of an answer that are read
	maxSentence = 400    // characters of a sentence that are kept
	maxShown    = 3      // pictures
	maxInput    = 16_000 // bytes of a call's input that are read
	maxFacts    = 4 * 60 // UTF-16 code units of a frame's facts
)

// A Work is what flame notes of the work in a frame. Of each list the newest stands first, of sentences those that are
// most likely needed.
type Work struct {
	Ran     []ranCommand        `json:"ran,omitempty"`  // each command once
	Seen    []string            `json:"seen,omitempty"` // pictures and documents: no word finds them
	Said    []evidence.Sentence `json:"said,omitempty"` // by the agent and its subagents
	Changed []string            `json:"changed,omitempty"`
}

// A ranCommand is a command with its last outcome.
type ranCommand struct {
	Command
	First string `json:"first,omitempty"` // why it failed first
}

var picture = core.Pattern(`(?i)\.(png|jpe?g|gif|webp|bmp|heic|pdf)$`)

// Add notes the work in a message.
func (w *Work) Add(m Message) {
	for _, c := range m.Commands {
		ran := ranCommand{c, c.Why}
		if i := slices.IndexFunc(w.Ran, func(known ranCommand) bool { return known.Line == c.Line }); i >= 0 {
			ran.First = cmp.Or(w.Ran[i].First, c.Why)
			w.Ran = slices.Delete(w.Ran, i, i+1)
		}
		w.Ran = slices.Insert(w.Ran[:min(len(w.Ran), maxNoted-1)], 0, ran)
	}
	for _, file := range m.Reads {
		if folder, name := path.Split(file); picture().MatchString(file) {
			w.Seen = first(w.Seen, path.Join(path.Base(folder), name))
		}
	}
	for _, file := range m.Files {
		w.Changed = first(w.Changed, path.Base(file))
	}
	said := m.Results
	if m.Role == core.RoleAssistant {
		said = append([]string{m.Text}, m.Results...)
	}
	for _, text := range said {
		for _, s := range evidence.KeySentences(core.Head(text, maxResult)) {
			w.Said = first(w.Said, evidence.Sentence{Text: strings.Clone(core.Head(s.Text, maxSentence)), Weight: s.Weight})
		}
	}
	slices.SortStableFunc(w.Said, func(a, b evidence.Sentence) int { return b.Weight - a.Weight })
}

// first puts an item first in a list that has each once.
func first[T comparable](list []T, item T) []T {
	list = slices.DeleteFunc(list, func(known T) bool { return known == item })
	return slices.Insert(list[:min(len(list), maxNoted-1)], 0, item)
}

// Facts returns as many facts of the work in a frame that has ended as fit, one behind another: commands that still
// fail or passed at last, pictures, sentences that are needed beyond the work, commands that passed, and the files that
// changed. It leaves out what the frame's end says: of a frame for which no agent asked, its goal and summary alone.
func (w *Work) Facts(f core.Frame, unasked bool) (text string) {
	told := f.Goal + "\n" + f.Summary // as the last answer of a turn or an item has it
	if !unasked {
		told = strings.Join(slices.Concat([]string{told, f.Results}, f.Decisions, f.Artifacts), "\n")
	}
	known := func(s string) bool { return strings.Contains(told, s) }
	failing, passed := w.commands(known)
	for _, fact := range slices.Concat(failing, list("seen: ", w.Seen, known, maxShown), w.sentences(known), passed,
		list("changed: ", w.Changed, known, maxNoted)) {
		if longer := strings.TrimPrefix(text+"; "+fact, "; "); core.UTF16Len(core.EscapeXML(longer)) <= maxFacts {
			text = longer
		}
	}
	return text
}

// commands returns the commands that still fail or passed at last, and those that passed.
func (w *Work) commands(known func(string) bool) (failing, passed []string) {
	var mended []string
	for _, c := range w.Ran {
		short, why := core.OneLine(c.Line, maxCommand), core.OneLine(c.First, maxCommand)
		switch {
		case c.Why != "" && !(known(c.Line) && known(c.Why)):
			failing = append(failing, "still fails: "+short+" ("+core.OneLine(c.Why, maxCommand)+")")
		case c.Why == "" && why != "" && !known(c.First):
			mended = append(mended, "passed at last: "+short+" (first: "+why+")")
		case c.Why == "" && !known(c.Line) && !(evidence.Call{Tool: "bash", Input: c.Line}).OnlyReads():
			passed = append(passed, "passed: "+short)
		}
	}
	return append(failing, mended...), passed
}

func (w *Work) sentences(known func(string) bool) (all []string) {
	for _, s := range w.Said {
		if !known(s.Text) {
			all = append(all, core.OneLine(s.Text, maxSaid))
		}
	}
	return all
}

// list returns a line with at most max of the files that are not known; nothing without any.
func list(what string, files []string, known func(string) bool, max int) []string {
	files = slices.DeleteFunc(slices.Clone(files), func(file string) bool { return known(path.Base(file)) })
	if len(files) == 0 {
		return nil
	}
	return []string{what + strings.Join(files[:min(len(files), max)], ", ")}
}

// A SessionWork is the work of a session in the frames in which it worked last, as far as the log of its host was read.
type SessionWork struct {
	Frames []FrameWork `json:"frames"`          // the latest first
	Asked  []Command   `json:"asked,omitempty"` // whose outcome is not known yet, the latest first
}

// A FrameWork is the work of a session in a frame.
type FrameWork struct {
	Frame string `json:"frame"`
	Told  string `json:"told,omitempty"` // its facts, once it has ended
	Work
}

// maxOpen limits the frames of a SessionWork. It keeps some that have ended: the log may have late entries of them.
const maxOpen = 8

// Add notes an entry of the log, as ReadEntry returns it.
func (w *SessionWork) Add(frame string, m Message) {
	var ended []Command
	for _, c := range m.Commands {
		if c.Line != "" {
			w.Asked = first(w.Asked, c)
		} else if i := slices.IndexFunc(w.Asked, func(asked Command) bool { return asked.Call == c.Call }); i >= 0 {
			ended = append(ended, Command{Line: w.Asked[i].Line, Why: c.Why})
			w.Asked = slices.Delete(w.Asked, i, i+1)
		}
	}
	m.Commands = ended
	i := slices.IndexFunc(w.Frames, func(f FrameWork) bool { return f.Frame == frame })
	if i < 0 {
		i, w.Frames = 0, slices.Insert(w.Frames[:min(len(w.Frames), maxOpen-1)], 0, FrameWork{Frame: frame})
	}
	w.Frames[i].Add(m)
}

// ReadEntry returns what an entry of a host's log tells of the work in a frame.
func ReadEntry(entry core.Message) (m Message, tells bool) {
	m = Message{Role: entry.Role, Time: entry.Time}
	for _, part := range entry.Parts {
		var input struct {
			Command, Cmd string
			Path         string `json:"file_path"`
		}
		switch {
		case part.Type == core.PartText && m.Role == core.RoleAssistant:
			m.Text = strings.Clone(core.Head(part.Text, maxResult))
		case part.Type == core.PartToolCall && len(part.Input) <= maxInput:
			_ = json.Unmarshal(part.Input, &input) // what is of other types stays empty
			if line := (evidence.Call{Tool: part.Tool, Input: cmp.Or(input.Command, input.Cmd)}).Command(); line != "" {
				m.Commands = append(m.Commands, Command{Call: part.CallID, Line: line})
			}
			if picture().MatchString(input.Path) {
				m.Reads = append(m.Reads, input.Path)
			}
		case part.Type == core.PartToolResult && part.CallID != "":
			m.Commands = append(m.Commands, Command{Call: part.CallID, Why: strings.Clone(evidence.WhyFailed(part.Text, part.Failed))})
		}
	}
	return m, entry.Agent == "" && !entry.Synthetic && (m.Text != "" || len(m.Commands)+len(m.Reads) > 0)
}

const leastFacts = 600 // tokens that a fold leaves out, from which on facts are worth their place

// facts returns what the work of a stay tells and its frame's end does not say.
func (f *folding) facts(s *stay) string {
	var work Work
	if m := f.begunBy(s); m != nil {
		work.Add(*m)
	}
	for i := s.from; i < s.to; i++ {
		if f.drops[i] {
			work.Add(f.history[i])
		}
	}
	return work.Facts(f.frames[s.frame].Frame, f.unasked(s))
}

// factsRemark tells a conversation from which the work in a frame is left out the facts of that work.
func factsRemark(frame, facts string) string {
	return `<flame-facts frame="` + core.EscapeXML(core.OneLine(frame, 0)) + `">` + core.EscapeXML(facts) + "</flame-facts>"
}
