package board

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"flame/core"
)

// take puts what was read onto the board, as a new version if anything is different.
func (b *Board) take(r reading) {
	next := b.version + 1
	if r.begins {
		b.frames.begun = next
	}
	b.seen = r.seen
	changed := r.begins
	b.takeSessions(r)
	changed = b.takeAgents(r, next) || changed
	changed = b.takeFrames(r, next) || changed
	open := []Session{}
	for _, s := range r.live {
		if s.HasFrame() || s.State == core.SessionActive {
			open = append(open, sessionOf(s))
		}
	}
	slices.SortFunc(open, func(x, y Session) int { return cmp.Compare(x.ID, y.ID) })
	changed = b.open.set(open, next) || changed
	if r.conflicting != nil {
		changed = b.waiting.set(r.conflicting, next) || changed
	}
	changed = b.told.set(b.notices(r.events), next) || changed
	if r.idle != nil {
		b.idle = r.idle
	}
	changed = b.takeGaps(changed, next) || changed
	if changed {
		b.version = next
	}
}

func (b *Board) takeSessions(r reading) {
	for _, s := range slices.Concat(r.sessions, r.live) {
		if _, known := b.sessions[s.ID]; !known {
			b.busy.stale = true // frames may have been of nobody's session until now
		}
		b.sessions[s.ID] = s
	}
	clear(b.live)
	for _, s := range r.live {
		b.live[s.ID] = true
	}
}

// set replaces the value if it is different.
func (e *entry[T]) set(value T, version int64) (changed bool) {
	if e.at != 0 && reflect.DeepEqual(e.value, value) {
		return false
	}
	*e = entry[T]{value, version}
	return true
}

func (b *Board) takeAgents(r reading, version int64) (changed bool) {
	for _, run := range r.runs {
		a := agentOf(run)
		if r.begins && a.First == 0 && a.Turns > 1 {
			a.First = a.Asked // when its first line came nobody saw, but that was long ago
		}
		changed = b.putAgent(a, version) || changed
		if delete(b.running, run.ID); !run.State.Ended() {
			b.running[run.ID] = true
		}
	}
	changed = b.takeAbroad(r, version) || changed
	for _, s := range r.sessions {
		if at, worked := b.agents[b.working[s.Root]]; s.Parent == "" || !s.HasFrame() || worked && !at.value.Native {
			continue // a person's, without a frame, or of an agent that flame started
		}
		a := nativeOf(s)
		changed = b.putAgent(a, version) || changed
		if delete(b.natives, a.ID); !a.State.Ended() {
			b.natives[a.ID] = true
		}
	}
	for _, e := range r.events {
		if was, known := b.agents[e.SubagentID]; known && e.Event == core.SubagentRetry && !slices.Contains(was.value.Retried, e.TS) {
			was.value.Retried, was.at = append(slices.Clip(was.value.Retried), e.TS), version
			b.agents[e.SubagentID], changed = was, true
		}
	}
	return changed
}

// takeAbroad takes in the agents of other machines. What becomes of one whose machine is not
// heard of any more nobody knows.
func (b *Board) takeAbroad(r reading, version int64) (changed bool) {
	silent := maps.Clone(b.abroad)
	for _, told := range r.abroad {
		a := abroadOf(told)
		if at, own := b.agents[a.ID]; own && at.value.Machine == "" {
			continue // one of this machine's own has that id
		}
		changed = b.putAgent(a, version) || changed
		if delete(silent, a.ID); a.State.Ended() {
			delete(b.abroad, a.ID)
		} else {
			b.abroad[a.ID] = true
		}
	}
	for id := range silent {
		a := b.agents[id].value
		a.State, a.Reason = core.AgentOrphaned, "its machine is not heard of any more"
		changed = b.putAgent(a, version) || changed
		delete(b.abroad, id)
	}
	return changed
}

// putAgent puts an agent onto the board. When its first line came is known at its end; a
// reading that sees it print before knows it better.
func (b *Board) putAgent(a Agent, version int64) (changed bool) {
	was := b.agents[a.ID]
	if a.First == 0 {
		a.First = cmp.Or(was.value.First, a.Last)
	}
	a.Retried = was.value.Retried
	changed = was.set(a, version)
	b.agents[a.ID] = was
	if at, worked := b.agents[b.working[a.Frame]]; !worked || at.value.Native && !a.Native || at.value.Native == a.Native && at.value.Asked <= a.Asked {
		b.working[a.Frame] = a.ID
	}
	return changed
}

func (b *Board) takeFrames(r reading, version int64) (changed bool) {
	rows := make([]Row, len(r.frames))
	for i, f := range r.frames {
		rows[i] = rowOf(f)
		rows[i].Host = b.sessions[f.Session].Host
		if at, worked := b.agents[b.working[f.ID]]; worked {
			a := at.value
			rows[i].Agent, rows[i].AgentID, rows[i].Host = a.Type, a.ID, cmp.Or(a.Host, rows[i].Host)
		}
		b.note(rows[i])
	}
	b.busy.stale = b.busy.stale || len(r.gone) > 0
	slices.SortStableFunc(rows, func(x, y Row) int { return cmp.Compare(x.Created, y.Created) })
	b.frames.put(rows, r.gone, version)
	return len(rows) > 0 || len(r.gone) > 0
}

// notices returns the last ones, with those of new events.
func (b *Board) notices(events []core.Event) []Notice {
	all := slices.Clone(b.told.value)
	for _, e := range events {
		if n, ok := noticeOf(e, b.agents[e.SubagentID].value); ok {
			all = append(all, n)
		}
	}
	return append([]Notice{}, all[max(0, len(all)-maxNotices):]...)
}
