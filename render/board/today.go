package board

import (
	"cmp"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"

	"flame/agents/converge"
	"flame/core"
	"flame/project"
)

// A Today says how a project stands: what a person who comes back to it asks first. The page begins with
// it, and `flame` prints it.
type Today struct {
	Since   core.Millis `json:"since"`           // the beginning of yesterday
	Needs   []Item      `json:"needs"`           // what a person can do something about, the most urgent first
	Works   []Item      `json:"works"`           // in progress: where someone works, the latest first; then where nobody does
	Done    []Item      `json:"done"`            // of the last week, the latest first, but what failed before the rest
	Decided []Item      `json:"decided"`         // the latest first
	Spent   string      `json:"spent,omitempty"` // what these days cost, and what folding left out
}

// An Item is a line of a Today.
type Item struct {
	Sign     string      `json:"sign"` // conflict, budget, silent, blocked, person, live, decision, or the status of its frame
	Text     string      `json:"text"`
	Why      string      `json:"why,omitempty"`
	Who      string      `json:"who,omitempty"`   // works there
	Above    []string    `json:"above,omitempty"` // where it is: the goals above, from the root down
	Frame    string      `json:"frame,omitempty"`
	Conflict string      `json:"conflict,omitempty"` // id of a convergence
	At       core.Millis `json:"at,omitempty"`       // since when, or when; 0: not known

	row Row // of the frame
}

// Took returns how long work went on in the line's frame until now, in ms.
func (i Item) Took(now core.Millis) core.Millis { return i.row.Took(now) }

// The limits of a Today.
const (
	MaxItems   = 100           // of a list; there may be more
	maxAbove   = 5             // goals above a frame
	recently   = 7 * day       // in which a frame ended
	day        = 24 * 3600_000 // in ms, as those below
	silentFrom = 3 * 60_000    // without output
	lowBudget  = 0.8           // the share of its budget that an agent has used
	nobody     = "Nobody works in it now"
)

// takeToday finds out how the project stands.
func (b *Board) takeToday(changed bool) (anew bool) {
	now := b.now()
	if !b.isDue(&b.todayFound, changed) {
		return false
	}
	yesterday := midnight(now, -1)
	t := Today{Since: yesterday, Needs: b.needs(now), Done: b.done(now), Decided: b.decided, Spent: b.spent(now)}
	t.Works = b.inProgress(t.Needs)
	anew = !reflect.DeepEqual(b.today, t)
	b.today = t
	return anew
}

// midnight returns the beginning of the day that lies so many days after that of now.
func midnight(now core.Millis, days int) core.Millis {
	at := now.Time().Local()
	return core.MillisOf(time.Date(at.Year(), at.Month(), at.Day()+days, 0, 0, 0, 0, at.Location()))
}

// item returns the line of a frame.
func (b *Board) item(n *Node, sign, why string, at core.Millis) Item {
	i := Item{Sign: sign, Text: cmp.Or(n.Goal, n.ID), Why: why, Frame: n.ID, At: at, row: n.Row}
	host := ""
	if n.Host != project.CommandLine {
		host = b.hosts.Title(n.Host)
	}
	i.Who = lo.Ternary(n.Agent != "" && host != "", n.Agent+" in "+host, cmp.Or(n.Agent, host))
	return i
}

// placed returns the line of an open frame, with where it is.
func (b *Board) placed(n *Node, sign, why string, at core.Millis) Item {
	i := b.item(n, sign, why, at)
	for up := n.Up; up != nil && len(i.Above) < maxAbove; up = up.Up {
		i.Above = append(i.Above, up.Goal)
	}
	slices.Reverse(i.Above)
	return i
}

// needs returns what a person can do something about. Of a tree that ended as a whole, its top says it.
func (b *Board) needs(now core.Millis) []Item {
	items := disagreements(b.waiting)
	for _, id := range b.atWork(func(a Agent) bool { return !a.Native }) {
		a := b.agents[id]
		if sign, why := trouble(a, now); sign != "" {
			who := cmp.Or(a.Type, "agent") + lo.Ternary(a.Machine == "", "", " @"+a.Machine)
			i := Item{Sign: sign, Text: who, Why: why + ": " + who, At: a.Last}
			if n := b.frames.byID[a.Frame]; n != nil {
				i.Text, i.Frame = cmp.Or(n.Goal, who), n.ID
			}
			items = append(items, i)
		}
	}
	blocked := b.listed(func(n *Node) bool { return n.Status == core.Blocked && !n.isBelowEnded() })
	for _, n := range newest(blocked) {
		items = append(items, b.item(n, "blocked", cmp.Or(b.said[n.ID], "Blocked until a person has done something"), n.Until))
	}
	for _, s := range b.open {
		if n := b.frames.byID[s.Current]; s.State == core.SessionIdle && now-s.Heard < day && n != nil && n.Status == core.InProgress {
			i := b.placed(n, "person", "Waits for your prompt in "+b.hosts.Title(s.Host), s.Heard)
			i.Who = ""
			items = append(items, i)
		}
	}
	return items[:min(len(items), MaxItems)]
}

// disagreements returns a line for each convergence with conflicts that wait.
func disagreements(waiting []Conflict) []Item {
	items := []Item{}
	for _, all := range lo.PartitionBy(waiting, func(c Conflict) string { return c.Convergence }) {
		text := "Agents disagree: " + path.Base(all[0].Key)
		if len(all) > 1 {
			text = fmt.Sprintf("Agents disagree on %d things", len(all))
		}
		sides := lo.FlatMap(all, func(c Conflict, _ int) []converge.Side { return c.Sides })
		tasks := lo.Map(all[0].Sides, func(side converge.Side, _ int) string { return cmp.Or(side.Task, side.SubagentID) })
		ended := lo.Map(sides, func(side converge.Side, _ int) core.Millis { return side.CompletedAt })
		items = append(items, Item{Sign: "conflict", Text: text, Why: strings.Join(tasks, " · "), Conflict: all[0].Convergence, At: lo.Max(ended)})
	}
	return items
}

// trouble says why a running agent needs a person; empty if it does not.
func trouble(a Agent, now core.Millis) (sign, why string) {
	switch {
	case a.Budget >= lowBudget:
		return "budget", "It has used " + core.Percent(a.Budget, 1) + " of its budget"
	case a.State == core.AgentActive && a.Last > 0 && now-a.Last >= silentFrom:
		return "silent", "It has been silent"
	}
	return "", ""
}

// isBelowEnded reports whether a frame above has ended, or is blocked.
func (n *Node) isBelowEnded() bool {
	for up := n.Up; up != nil; up = up.Up {
		if up.Until != 0 {
			return true
		}
	}
	return false
}

// listed returns the wanted frames that are not archived.
func (b *Board) listed(wanted func(n *Node) bool) []*Node {
	return lo.Filter(b.frames.all, func(n *Node, _ int) bool { return !n.Archived && wanted(n) })
}

// newest returns frames with those that ended or changed last first, and no more than a list has.
func newest(all []*Node) []*Node {
	slices.SortStableFunc(all, func(x, y *Node) int {
		return cmp.Or(cmp.Compare(cmp.Or(y.Until, y.Updated), cmp.Or(x.Until, x.Updated)), cmp.Compare(x.ID, y.ID))
	})
	return all[:min(len(all), MaxItems)]
}

// inProgress returns the frames in which a session or an agent is now, and then the lowest of the others, but
// for those where a session waits for a person.
func (b *Board) inProgress(needs []Item) []Item {
	items, in := []Item{}, map[string]string{} // frames, and what is said there
	for _, s := range b.open {
		if s.State == core.SessionActive {
			in[s.Current] = ""
		}
	}
	for _, id := range b.atWork(func(a Agent) bool { return a.State != core.AgentSuspended }) {
		in[b.agents[id].Frame] = b.agents[id].Text
	}
	waits := lo.SliceToMap(needs, func(i Item) (string, bool) { return i.Frame, i.Sign == "person" })
	open := func(n *Node) bool { return n.Status == core.InProgress }
	live := b.listed(func(n *Node) bool { _, is := in[n.ID]; return is && open(n) })
	slices.SortStableFunc(live, func(x, y *Node) int { return cmp.Compare(y.From, x.From) })
	for _, n := range live {
		items = append(items, b.placed(n, "live", in[n.ID], n.From))
	}
	left := b.listed(func(n *Node) bool {
		_, is := in[n.ID]
		return open(n) && !is && !waits[n.ID] && n.Machine == "" && !slices.ContainsFunc(n.Below, open)
	})
	for _, n := range newest(left) {
		items = append(items, b.placed(n, string(n.Status), nobody, cmp.Or(n.Still, n.Updated)))
	}
	return items
}

// done returns the frames that ended lately.
func (b *Board) done(now core.Millis) []Item {
	ended := newest(b.listed(func(n *Node) bool {
		return (n.Status == core.Completed || n.Status == core.Failed) && n.Until >= now-recently
	}))
	// The root of a session ends with the outcome of its last turn, which is listed once.
	ended = lo.Reject(ended, func(n *Node, _ int) bool {
		return b.said[n.ID] != "" && slices.ContainsFunc(n.Below, func(below *Node) bool { return b.said[below.ID] == b.said[n.ID] && below.Until != 0 })
	})
	failed, others := lo.FilterReject(ended, func(n *Node, _ int) bool { return n.Status == core.Failed })
	return lo.Map(slices.Concat(failed, others), func(n *Node, _ int) Item {
		return b.item(n, string(n.Status), cmp.Or(b.agents[n.AgentID].Reason, b.said[n.ID]), n.Until)
	})
}

// spent says what today and yesterday cost, and what folding left out. The cost of a frame is spread evenly over
// the time in which it was worked in.
func (b *Board) spent(now core.Millis) string {
	edges := []core.Millis{midnight(now, 0), midnight(now, -1)}
	days := make([]core.Usage, len(edges))
	for _, n := range b.frames.all {
		if n.Self.CostUSD == 0 && n.Self.Unpriced == 0 {
			continue
		}
		from := cmp.Or(n.From, n.Created)
		until := max(from+1, min(cmp.Or(n.Until, n.Still, now), now))
		worked := func(from, until core.Millis) float64 { return float64(max(0, until-from-overlap(b.gaps, from, until))) }
		whole := max(1, worked(from, until))
		for i, end := 0, now+1; i < len(edges); end, i = edges[i], i+1 {
			if begins, ends := max(from, edges[i]), min(until, end); begins < ends {
				days[i] = days[i].Add(core.Usage{CostUSD: n.Self.CostUSD * worked(begins, ends) / whole, Unpriced: n.Self.Unpriced})
			}
		}
	}
	var parts []string
	for i, name := range []string{"today", "yesterday"} {
		if days[i] != (core.Usage{}) {
			parts = append(parts, core.Cost(days[i])+" "+name)
		}
	}
	return strings.Join(lo.Compact(append(parts, b.folded)), " · ")
}

// only returns what a Today says of the wanted frames, and of conflicts of the wanted convergences.
func (t Today) only(wanted, convergence func(id string) bool) Today {
	t.Spent = ""
	for _, list := range []*[]Item{&t.Needs, &t.Works, &t.Done, &t.Decided} {
		*list = lo.Filter(*list, func(i Item, _ int) bool { return wanted(i.Frame) || i.Conflict != "" && convergence(i.Conflict) })
	}
	return t
}
