package board

import (
	"cmp"
	"slices"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
)

// take puts a reading onto the board, as a new version if anything is different.
func (b *Board) take(r reading) {
	next := b.version + 1
	if r.begins {
		b.frames.begun = next
	}
	b.seen = r.seen
	changed := r.begins
	for _, s := range slices.Concat(r.sessions, r.live) {
		b.sessions[s.ID] = s
	}
	changed = b.takeAgents(r, next) || changed
	changed = b.takeFrames(r, next) || changed
	open := lo.FilterMap(r.live, func(s core.Session, _ int) (Session, bool) {
		return sessionOf(s), s.Host != project.CommandLine && (s.HasFrame() || s.State == core.SessionActive)
	})
	slices.SortFunc(open, func(x, y Session) int { return cmp.Compare(x.ID, y.ID) })
	changed = b.open.set(open, next) || changed
	if r.conflicting != nil {
		changed = b.waiting.set(r.conflicting, next) || changed
	}
	changed = b.told.set(b.notices(r.events), next) || changed
	if r.idle != nil {
		b.idle = r.idle
	}
	changed = b.takeTimes(changed, next) || changed
	changed = b.takeGaps(changed, next) || changed
	if changed {
		b.version = next
	}
}

func (b *Board) takeAgents(r reading, version int64) (changed bool) {
	for _, run := range r.runs {
		changed = b.putAgent(agentOf(run), version) || changed
	}
	changed = b.takeAbroad(r, version) || changed
	for _, s := range r.sessions {
		if at, worked := b.agents[b.working[s.Root]]; s.Parent == "" || !s.HasFrame() || worked && !at.value.Native {
			continue // the session of a person or of an agent that flame started, or one without a frame
		}
		changed = b.putAgent(nativeOf(s), version) || changed
	}
	return changed
}

// takeAbroad adds the agents of other machines. An agent is lost if its machine no longer reports
// it.
func (b *Board) takeAbroad(r reading, version int64) (changed bool) {
	heard := map[string]bool{}
	for _, told := range r.abroad {
		a := abroadOf(told)
		if at, own := b.agents[a.ID]; own && at.value.Machine == "" {
			continue // an agent of this machine has that id
		}
		heard[a.ID] = true
		changed = b.putAgent(a, version) || changed
	}
	for _, id := range b.atWork(func(a Agent) bool { return a.Machine != "" && !heard[a.ID] }) {
		a := b.agents[id].value
		a.State, a.Reason = core.AgentOrphaned, "its machine no longer reports it"
		changed = b.putAgent(a, version) || changed
	}
	return changed
}

// atWork returns the ids of wanted agents that have not ended, sorted.
func (b *Board) atWork(wanted func(a Agent) bool) (ids []string) {
	for id, a := range b.agents {
		if !a.value.State.Ended() && wanted(a.value) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// putAgent puts an agent onto the board.
func (b *Board) putAgent(a Agent, version int64) (changed bool) {
	was := b.agents[a.ID]
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
	}
	slices.SortStableFunc(rows, func(x, y Row) int { return cmp.Compare(x.Created, y.Created) })
	if len(rows)+len(r.gone) == 0 {
		return false
	}
	b.frames.put(rows, r.gone, version)
	return true
}

// notices returns the last notices, with those of new events.
func (b *Board) notices(events []core.Event) []Notice {
	all := slices.Clone(b.told.value)
	for _, e := range events {
		if n, ok := noticeOf(e, b.agents[e.SubagentID].value); ok {
			all = append(all, n)
		}
	}
	return append([]Notice{}, all[max(0, len(all)-maxNotices):]...)
}
