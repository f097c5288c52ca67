package trail

import (
	"cmp"
	"context"
	"errors"

	"flame/core"
	"flame/transcripts"
)

// A Tracker combines what messages say about sessions and agents, in whatever
// order they come: an agent may appear by its id before the call that started
// it, and by that before its parent.
type Tracker struct {
	names    map[string]*sighting // by idName, callName, frameName
	asked    map[string]bool      // calls of flame's tools, by callName: whether they start an agent
	order    []*sighting          // as they were met
	torn     []string
	unread   []UnreadLog
	messages int
	unknown  int
	aside    int
}

// NewTracker returns a tracker that has seen nothing.
func NewTracker() *Tracker { return &Tracker{names: map[string]*sighting{}, asked: map[string]bool{}} }

// Add records a message of one of the host's logs.
func (t *Tracker) Add(host string, m core.Message) {
	t.messages++
	switch {
	case m.Unknown():
		t.unknown++
		return
	case m.Aside:
		t.aside++
		return
	}
	for _, n := range m.Notes {
		if s := t.meet(m.Session, n.ID, n.Call); s != nil {
			s.host = host
			s.learn(n)
		}
	}
	if m.Role == core.RoleOther {
		return
	}
	s := t.speaker(m)
	if s == nil {
		return
	}
	s.host = host
	first := s.prompt == ""
	s.hear(m)
	if first && s.talks {
		s = t.frame(s)
	}
	for _, p := range m.Parts {
		t.flame(m, s.newest(), p)
		t.call(m.Session, s.newest(), p)
	}
}

// read adds a whole log.
func (t *Tracker) read(ctx context.Context, log transcripts.Log) error {
	for m, err := range log.Messages(ctx) {
		switch {
		case errors.Is(err, transcripts.ErrTorn):
			t.torn = append(t.torn, log.Path)
		case err != nil:
			t.unread = append(t.unread, UnreadLog{Path: log.Path, Reason: err.Error()})
			return err
		default:
			t.Add(log.Host(), m)
		}
	}
	return nil
}

// speaker returns the sighting of a message's speaker.
func (t *Tracker) speaker(m core.Message) *sighting {
	if m.Agent == "" && m.SpawnCall == "" {
		s := t.meet(m.Session, m.Session, "")
		if s != nil {
			s.talks = true
		}
		return s
	}
	s := t.meet(m.Session, m.Agent, m.SpawnCall)
	s.spawned = true
	return s
}

// call records a call that the speaker made, or its outcome.
func (t *Tracker) call(session string, speaker *sighting, p core.Part) {
	started, ok := t.names[callName(session, p.CallID)]
	if !ok || p.CallID == "" {
		return
	}
	started = started.newest()
	switch {
	case started == speaker:
	case p.Type == core.PartToolCall && started.caller == nil:
		started.caller = speaker
	case p.Type == core.PartToolResult && p.Failed && !started.told.Ended():
		started.told, started.note.Error = core.AgentError, cmp.Or(started.note.Error, p.Text)
	}
}

// meet finds or makes the sighting of these names, some of which may be empty;
// it returns nil if all are.
func (t *Tracker) meet(session, id, call string) *sighting {
	return t.meetIn(session, id, call, "")
}

// meetIn is meet for an agent whose frame is known.
func (t *Tracker) meetIn(session, id, call, frame string) *sighting {
	var found *sighting
	for _, name := range namesOf(session, id, call, frame) {
		known, ok := t.names[name]
		switch {
		case !ok && found == nil:
			found = &sighting{answers: map[string]core.Usage{}, calls: map[string]bool{}}
			t.order = append(t.order, found)
		case ok && found == nil:
			found = known.newest()
		case ok && known.newest() != found:
			if known = known.newest(); known.id != "" && found.id != "" {
				continue // one call may start several agents
			}
			known.merge(found)
			found = known
		}
		t.names[name] = found
		found.id = cmp.Or(found.id, id)
	}
	if found == nil {
		return nil
	}
	found.session, found.call, found.frame = cmp.Or(found.session, session), cmp.Or(found.call, call), cmp.Or(found.frame, frame)
	return found
}

// namesOf returns the names of an agent with this id, call and frame, any of
// which may be empty.
func namesOf(session, id, call, frame string) []string {
	names := make([]string, 0, 3)
	if id != "" {
		names = append(names, idName(id))
	}
	if call != "" {
		names = append(names, callName(session, call))
	}
	if frame != "" {
		names = append(names, frameName(frame))
	}
	return names
}

func idName(id string) string { return "id " + id }

func frameName(frame string) string { return "frame " + frame }

// callName returns a call's name. Hosts number calls anew in each session.
func callName(session, call string) string { return "call " + session + " " + call }
