package trail

import (
	"cmp"
	"context"
	"errors"

	"flame/core"
	"flame/transcripts"
)

// A Tracker puts together what messages tell of sessions and agents, in whatever
// order they come: an agent may be met by its id before the call that started it,
// and by that before its parent.
type Tracker struct {
	names    map[string]*sighting // by idName, callName
	order    []*sighting          // as they were met
	torn     []string
	unread   []UnreadLog
	messages int
	unknown  int
}

// NewTracker gives one that has seen nothing.
func NewTracker() *Tracker { return &Tracker{names: map[string]*sighting{}} }

// Add takes in a message of one of the host's logs.
func (t *Tracker) Add(host string, m core.Message) {
	t.messages++
	if m.Unknown() {
		t.unknown++
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
	s.hear(m)
	for _, p := range m.Parts {
		t.call(m.Session, s, p)
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

// speaker is whose message it is.
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

// call takes in a call that the speaker made, or what became of it.
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

// meet finds or makes the sighting of these names, one of which may be empty; nil
// where both are.
func (t *Tracker) meet(session, id, call string) *sighting {
	var found *sighting
	for _, name := range []string{idName(id), callName(session, call)} {
		if name == idName("") || name == callName(session, "") {
			continue
		}
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
	found.session, found.call = cmp.Or(found.session, session), cmp.Or(found.call, call)
	return found
}

func idName(id string) string { return "id " + id }

// callName is a call's name. Hosts number calls anew in each session.
func callName(session, call string) string { return "call " + session + " " + call }
