package conversation

import (
	"maps"
	"slices"

	"flame/core"
	"flame/core/fold"
	"flame/project"
)

// An Answer is one that somebody saw who knows how it was asked for.
type Answer struct {
	Name    string      // of its message, in the histories to come
	Time    core.Millis // when it was asked for
	Edition int         // of the request
}

// NoteSeen keeps the times and editions of answers of a session whose host tells no
// times, and counts requests that were sent without being counted.
func NoteSeen(tx project.Tx, session string, answers []Answer, sent fold.Meter) error {
	c, _, err := load(tx, session)
	if err != nil {
		return err
	}
	if sent.Requests > 0 {
		c.answers.Meter, c.told = c.answers.Add(sent), true
	}
	c.See(answers)
	return c.Save(tx, session)
}

// See notes answers, oldest first, of a host that tells no times.
func (c *Conversation) See(answers []Answer) {
	for _, a := range answers {
		if _, known := c.answers.Times[a.Name]; known {
			continue
		}
		time := max(a.Time, c.answers.Seen+1) // no two have the same
		c.keepTime(a.Name, time)
		c.note(time, a.Edition)
	}
}

func (c *Conversation) keepTime(name string, time core.Millis) {
	if c.answers.Times == nil {
		c.answers.Times = map[string]core.Millis{}
	}
	c.answers.Times[name], c.told = time, true
}

// Date gives the messages of a history, whose host tells no times, those that they had
// when a request first showed them; now is that of the request. Results of tools and what
// the host says have the time of the message before. An answer that was sent without
// flame's knowledge has none: it was asked for with the whole past. If it stands behind a
// summary that nobody has seen yet, it counts as kept beside that.
func (c *Conversation) Date(history []fold.Message, now core.Millis) {
	c.forgetTimes(history)
	last, compacted := lastAnswer(history), false // compacted: by a summary that nobody has seen yet
	var before core.Millis
	for i := range history {
		m := &history[i]
		time, known := c.answers.Times[m.Name]
		switch {
		case known:
		case m.Role == core.RoleUser && m.Answers || m.Role == core.RoleOther:
			time = before
		case m.Role == core.RoleUser && (i > last || m.Summary && !compacted):
			compacted = compacted || m.Summary
			time = now
			c.keepTime(m.Name, now)
		default:
			c.keepTime(m.Name, 0) // whatever is told of it from now on, that is how it was shown
		}
		m.Time, before = time, time
		if m.Summary {
			before = time - 1 // what is kept beside it is older
		}
	}
}

// Clone returns a copy that can be changed apart from c.
func (c Conversation) Clone() Conversation {
	c.answers.Times, c.answers.Runs = maps.Clone(c.answers.Times), slices.Clone(c.answers.Runs)
	c.record.Past, c.Folds = maps.Clone(c.record.Past), slices.Clone(c.Folds)
	return c
}

func lastAnswer(history []fold.Message) int {
	for i := len(history) - 1; i >= 0; i-- {
		if history[i].Role == core.RoleAssistant {
			return i
		}
	}
	return -1
}

// forgetTimes drops the times of messages that the history does not have, once those are
// the most: they were compacted away.
func (c *Conversation) forgetTimes(history []fold.Message) {
	const spare = 500 // a conversation may return to them: one that was cut short, or branched
	if len(c.answers.Times) < 2*len(history)+spare {
		return
	}
	kept := make(map[string]core.Millis, len(history))
	for _, m := range history {
		if time, known := c.answers.Times[m.Name]; known {
			kept[m.Name] = time
		}
	}
	c.answers.Times, c.told = kept, true
}
