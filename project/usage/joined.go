package usage

import (
	"slices"

	"flame/core"
	"flame/project"
)

// A joined is by what the answers that a gateway has seen of a session are joined with
// those in the session's log. Only sessions that a gateway has metered have one.
type joined struct {
	Answers []answer  `json:"answers,omitempty"` // the newest last
	Waiting []waiting `json:"waiting,omitempty"` // requests that are not charged yet, in order

	// Unread is how far the log had been counted when the first request was told of. Which
	// answers stand in that part is not known before it is read again.
	Unread project.Transcript `json:"unread,omitzero"`
}

const recordJoined project.Kind[joined] = "joined" // by session

// An answer is one of a session's model, with who has told of it.
type answer struct {
	ID    string `json:"id"`
	Told  bool   `json:"told,omitempty"`  // by a gateway, which its usage is counted by unless the log was first
	Shown bool   `json:"shown,omitempty"` // by the log
}

// A waiting is a request, or the sum of several, that waits for a frame to be charged to
// or for what the log tells.
type waiting struct {
	Answer  string      `json:"answer,omitempty"`
	At      core.Millis `json:"at"`
	Usage   core.Usage  `json:"usage,omitzero"`    // still to be counted
	Context int         `json:"context,omitempty"` // tokens
	Classes tallies     `json:"classes"`
}

const (
	maxAnswers = 1000 // that one side alone has told of
	maxSettled = 100  // that both have told of, kept because a gateway may repeat itself
)

// see notes that a gateway or the log tells of an answer, and returns who had told of it
// before.
func (j *joined) see(now answer) (before answer) {
	i := len(j.Answers) - 1
	for i >= 0 && j.Answers[i].ID != now.ID {
		i--
	}
	if i < 0 {
		j.Answers = append(j.Answers, now)
		return answer{}
	}
	known := &j.Answers[i]
	before = *known
	known.Told, known.Shown = known.Told || now.Told, known.Shown || now.Shown
	return before
}

// bound forgets the oldest answers.
func (j *joined) bound() {
	alone, settled := 0, 0
	for i := len(j.Answers) - 1; i >= 0; i-- {
		count, most := &alone, maxAnswers
		if a := j.Answers[i]; a.Told && a.Shown {
			count, most = &settled, maxSettled
		}
		if *count++; *count > most {
			j.Answers[i].ID = ""
		}
	}
	j.Answers = slices.DeleteFunc(j.Answers, func(a answer) bool { return a.ID == "" })
	for len(j.Waiting) > maxAnswers {
		j.Waiting[1] = j.Waiting[0].with(j.Waiting[1])
		j.Waiting = j.Waiting[1:]
	}
}

// with returns the sum of w and a later request, none of which is in the log.
func (w waiting) with(later waiting) waiting {
	sum := waiting{At: w.At, Usage: w.Usage.Add(later.Usage), Context: w.Context, Classes: tallies{}.add(w.Classes).add(later.Classes)}
	if later.Context > 0 {
		sum.Context = later.Context
	}
	return sum
}

// save writes j. What waits for nothing but a frame is summed up: it will be the first.
func (j *joined) save(tx project.Tx, session string) error {
	j.bound()
	if j.unread() {
		return recordJoined.Save(tx, session, *j)
	}
	for len(j.Waiting) > 1 {
		j.Waiting[1] = j.Waiting[0].with(j.Waiting[1])
		j.Waiting = j.Waiting[1:]
	}
	return recordJoined.Save(tx, session, *j)
}

// unread reports whether part of the log has to be read again.
func (j *joined) unread() bool { return j.Unread != project.Transcript{} }

// show returns what of a log's usage is still to be counted: of an answer that has been
// told of only the tool calls, which no gateway knows.
func (j *joined) show(spent []spending) []spending {
	spent = slices.Clone(spent)
	for i := range spent {
		one := &spent[i]
		if one.answer == "" {
			continue
		}
		before := j.see(answer{ID: one.answer, Shown: true})
		if before.Told || before.Shown {
			one.usage = core.Usage{ToolCalls: one.usage.ToolCalls}
		}
		if before.Told {
			one.context = 0
		}
	}
	return spent
}

// reread notes the answers in the part of the log that had been counted before the first
// request was told of.
func (j *joined) reread(old []string) {
	told := j.Answers
	j.Answers, j.Unread = nil, project.Transcript{}
	for _, id := range old {
		j.see(answer{ID: id, Shown: true})
	}
	for _, a := range told {
		if before := j.see(a); !before.Shown {
			continue
		}
		for i := range j.Waiting {
			if j.Waiting[i].Answer == a.ID {
				j.Waiting[i].Usage, j.Waiting[i].Context = core.Usage{}, 0
			}
		}
	}
}

// charge charges the requests that wait to the frames that the session worked in at the
// time, by default to home. Without a home, or before the log was read again, they go on
// waiting.
func (j *joined) charge(s *project.Step, session, home string) error {
	if home == "" || j.unread() {
		return nil
	}
	spent := make([]spending, len(j.Waiting))
	for i, w := range j.Waiting {
		spent[i] = spending{at: w.At, usage: w.Usage, context: w.Context, classes: w.Classes}
	}
	j.Waiting = nil
	return spend(s, session, home, spent)
}

// isOld reports whether an entry of the log at path is in the part that is to be read
// again, or was in that of the log before.
func (j *joined) isOld(path string, entry core.LogEntry) bool {
	if path != j.Unread.Path {
		return entry.Time <= j.Unread.Until
	}
	return entry.Next.Offset <= j.Unread.At.Offset || entry.Time < j.Unread.Since
}

// oldAnswers returns the ids of the answers of a session since begun that were counted
// before a gateway metered it, as far as its log at path has them.
func (j *joined) oldAnswers(p *project.Project, host, path string, begun core.Millis) (ids []string) {
	for entry, err := range p.Transcripts(host, path, core.LogPosition{}) {
		if err != nil {
			return ids // whoever counts the log tells of it
		}
		m := entry.Message
		if m.Role != core.RoleAssistant || m.ID == "" || m.Time < begun || !j.isOld(path, entry) {
			continue
		}
		if ids = append(ids, m.ID); len(ids) > 2*maxAnswers {
			ids = slices.Clone(ids[len(ids)-maxAnswers:])
		}
	}
	return ids
}
