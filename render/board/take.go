package board

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
)

// take puts a reading onto the board, as a new version if anything is different.
func (b *Board) take(r readResult) {
	b.seen = r.readPosition
	changed := r.begins
	for _, s := range slices.Concat(r.sessions, r.live) {
		b.sessions[s.ID] = s
	}
	changed = b.takeAgents(r) || changed
	changed = b.takeFrames(r) || changed
	open := lo.FilterMap(r.live, func(s core.Session, _ int) (Session, bool) {
		return sessionOf(s), s.Host != project.CommandLine && (s.HasFrame() || s.State == core.SessionActive)
	})
	slices.SortFunc(open, func(x, y Session) int { return cmp.Compare(x.ID, y.ID) })
	changed = set(&b.open, open) || changed
	if r.conflicting != nil {
		changed = set(&b.waiting, r.conflicting) || changed
	}
	changed = set(&b.told, b.notices(r.events)) || changed
	if r.idle != nil {
		b.idle = r.idle
	}
	if r.decided != nil {
		b.decided, b.folded, b.said = r.decided, r.folded, r.said
	}
	changed = b.takeTimes(changed) || changed
	changed = b.takeGaps(changed) || changed
	changed = b.takeToday(changed) || changed
	if changed {
		b.version++
	}
}

// set replaces a list if another is different.
func set[T any](list *[]T, other []T) (changed bool) {
	if len(*list)+len(other) == 0 || reflect.DeepEqual(*list, other) {
		return false
	}
	*list = other
	return true
}

func (b *Board) takeAgents(r readResult) (changed bool) {
	for _, run := range r.runs {
		changed = b.putAgent(agentOf(run)) || changed
	}
	changed = b.takeAbroad(r) || changed
	for _, s := range r.sessions {
		if at, worked := b.agents[b.working[s.Root]]; s.Parent == "" || !s.HasFrame() || worked && !at.Native {
			continue // the session of a person or of an agent that flame started, or one without a frame
		}
		changed = b.putAgent(nativeOf(s)) || changed
	}
	return changed
}

// takeAbroad adds the agents of other machines. An agent is lost if its machine no longer reports
// it.
func (b *Board) takeAbroad(r readResult) (changed bool) {
	heard := map[string]bool{}
	for _, told := range r.abroad {
		a := abroadOf(told)
		if at, own := b.agents[a.ID]; own && at.Machine == "" {
			continue // an agent of this machine has that id
		}
		heard[a.ID] = true
		changed = b.putAgent(a) || changed
	}
	for _, id := range b.atWork(func(a Agent) bool { return a.Machine != "" && !heard[a.ID] }) {
		a := b.agents[id]
		a.State, a.Reason = core.AgentOrphaned, "its machine no longer reports it"
		changed = b.putAgent(a) || changed
	}
	return changed
}

// putAgent puts an agent onto the board.
func (b *Board) putAgent(a Agent) (changed bool) {
	was, known := b.agents[a.ID]
	b.agents[a.ID] = a
	if at, worked := b.agents[b.working[a.Frame]]; !worked || at.Native && !a.Native || at.Native == a.Native && at.Asked <= a.Asked {
		b.working[a.Frame] = a.ID
	}
	return !known || was != a
}

func (b *Board) takeFrames(r readResult) (changed bool) {
	rows := make([]Row, len(r.frames))
	for i, f := range r.frames {
		rows[i] = rowOf(f)
		rows[i].Host = b.sessions[f.Session].Host
		rows[i].Short, rows[i].Turn = r.short[f.ID]
		if at, worked := b.agents[b.working[f.ID]]; worked {
			rows[i].Agent, rows[i].AgentID, rows[i].Host = at.Type, at.ID, cmp.Or(at.Host, rows[i].Host)
		}
	}
	if len(rows)+len(r.gone) == 0 {
		return false
	}
	b.frames.sum(rows, r.gone)
	return true
}

// notices returns the last notices, with those of new events.
func (b *Board) notices(events []core.Event) []Notice {
	all := slices.Clone(b.told)
	for _, e := range events {
		if n, ok := noticeOf(e, b.agents[e.SubagentID]); ok {
			all = append(all, n)
		}
	}
	return all[max(0, len(all)-maxNotices):]
}
