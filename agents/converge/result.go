package converge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// A Result is the outcome of a convergence.
type Result struct {
	Strategy   Strategy        `json:"strategy"`
	Resolution Resolution      `json:"conflict_resolution"`
	Format     Format          `json:"output_format"`
	Inputs     []string        `json:"inputs"`    // subagent_ids, in order
	Output     Output          `json:"output"`    // nil while conflicts are unresolved
	Conflicts  []Conflict      `json:"conflicts"` // resolved ones too, with every side
	Unresolved int             `json:"unresolved"`
	Resolved   int             `json:"resolved"`
	Rationale  string          `json:"rationale"`
	Ignored    []ExcludedAgent `json:"ignored"` // agents whose results are not part of the output

	// NotCompared names the answers, decisions and so on that were not compared, in words.
	// Differences has the texts among them that differ; the caller settles whether they
	// contradict each other.
	NotCompared []string     `json:"not_compared,omitempty"`
	Differences []Difference `json:"differences,omitempty"`
}

// An Output is the combined result: the items of each part present. The parts
// are outcome, base, scope, answer, finding, decision, artifact, file.
type Output map[string][]Item

// An Item is one thing in an Output.
type Item struct {
	Op       string          `json:"op"`             // add, replace or remove
	Name     string          `json:"name,omitempty"` // file's path, decision's key …; empty if a part has no names
	Value    json.RawMessage `json:"value"`          // of a file: a Change; of an artifact: its hash; text or JSON else
	Source   string          `json:"source_subagent_id"`
	AgreedBy []string        `json:"agreed_by,omitempty"` // subagent_ids of the others that agree
}

// An ExcludedAgent is an agent whose result is not part of the output, and what it
// would have answered.
type ExcludedAgent struct {
	SubagentID string          `json:"subagent_id"`
	Outcome    core.AgentState `json:"outcome"` // its state; it may still be at work
	Reason     string          `json:"reason"`
	ValueHash  string          `json:"value_hash"` // of its answer
	Excerpt    string          `json:"excerpt"`
}

// ignore returns a function that describes an unused agent for the Result.
func ignore(reason string) func(*agent, int) ExcludedAgent {
	return func(a *agent, _ int) ExcludedAgent {
		answer := a.signed([]claim{a.wholeAnswer()})[0]
		return ExcludedAgent{a.SubagentID, a.Outcome, reason, answer.hash, core.Cut(answer.text, MaxExcerpt)}
	}
}

func (d *draft) result(agents []*agent, o Options) Result {
	disputed := d.disputed()
	r := Result{
		Strategy:   o.Strategy,
		Resolution: o.Resolution,
		Format:     o.Format,
		Inputs:     lo.Map(agents, id),
		Conflicts:  lo.Map(disputed, func(s *subject, _ int) Conflict { return *s.conflict }),
		Unresolved: lo.CountBy(disputed, (*subject).open),
	}
	r.Resolved = len(r.Conflicts) - r.Unresolved
	r.NotCompared, r.Differences = d.uncompared(agents), d.open
	r.Rationale = d.tell(r)
	if r.Unresolved == 0 {
		d.seat(o)
		r.Output = output(d.subjects, o.tolerance())
	}
	r.Ignored = slices.Clone(d.ignored)
	slices.SortFunc(r.Ignored, func(a, b ExcludedAgent) int { return cmp.Compare(a.SubagentID, b.SubagentID) })
	return r
}

// seat adds the rest of the elected agent's result to the output, and no other
// voter's.
func (d *draft) seat(o Options) {
	if !d.election {
		return
	}
	answer := d.subjects[0]
	for _, c := range answer.claims {
		if c.by == answer.winner.by {
			continue
		}
		reason := "voted otherwise"
		if agree(c.same, answer.winner.same, o.tolerance()) {
			reason = "voted for the same answer"
		}
		d.ignored = append(d.ignored, ignore(reason)(c.by, 0))
	}
	rest := lo.Reject(subjects([]*agent{answer.winner.by}, true, o.tolerance()), func(s *subject, _ int) bool {
		return s.winner.part == answerPart
	})
	d.subjects = append(d.subjects, rest...)
}

func output(subjects []*subject, t tolerance) Output {
	out := Output{}
	for _, s := range subjects {
		target := parts[s.winner.part].target
		out[target] = append(out[target], s.item(t))
	}
	return out
}

func (s *subject) item(t tolerance) Item {
	item := Item{
		Op:     s.winner.op,
		Name:   s.winner.name,
		Value:  canonical(s.winner.value),
		Source: s.winner.by.SubagentID,
	}
	for _, c := range s.claims {
		if c.by != s.winner.by && agree(c.same, s.winner.same, t) {
			item.AgreedBy = append(item.AgreedBy, c.by.SubagentID)
		}
	}
	return item
}

func (d *draft) tell(r Result) string {
	text := string(r.Strategy) + ": " + d.rationale
	switch {
	case len(r.Conflicts) > 0:
		text += fmt.Sprintf("; %d of %d conflicts resolved", r.Resolved, len(r.Conflicts))
	case !slices.ContainsFunc(d.subjects, func(s *subject) bool { return len(s.claims) > 1 }):
		return text + "; nothing was compared"
	case len(r.NotCompared) > 0:
		text += "; no conflicts in what was compared"
	default:
		text += "; no conflicts"
	}
	switch {
	case r.Unresolved == 0:
	case d.unanimous:
		text += "; rejected, since agents disagree"
	default:
		text += "; the others wait for review"
	}
	if len(r.NotCompared) > 0 {
		text += "; not compared: " + strings.Join(r.NotCompared, ", ")
	}
	return text
}

// uncompared names the results of several agents that were not compared with each other:
// flame does not know whether they contradict each other there.
func (d *draft) uncompared(agents []*agent) (list []string) {
	if silent := lo.Filter(agents, func(a *agent, _ int) bool { return a.silent() }); len(silent) > 0 && len(agents) > 1 {
		list = append(list, "the answer of "+strings.Join(lo.Map(silent, id), ", ")+", which is empty")
	}
	if unread := lo.Filter(agents, func(a *agent, _ int) bool { return a.Unread }); len(unread) > 0 && len(agents) > 1 {
		list = append(list, "the files of "+strings.Join(lo.Map(unread, id), ", ")+", which could not be read")
	}
	for _, open := range d.open {
		ids := lo.FlatMap(open.Sides, func(s Statement, _ int) []string { return s.SubagentIDs })
		slices.Sort(ids)
		list = append(list, "the "+open.About+" of "+strings.Join(ids, ", "))
	}
	for _, at := range []part{answerPart, decisionPart, artifactPart, filePart} {
		said := lo.Filter(agents, func(a *agent, _ int) bool {
			return slices.ContainsFunc(a.claims(true), func(c claim) bool { return c.part == at && (at != answerPart || !a.answer.blank()) })
		})
		apart := lo.Filter(said, func(a *agent, _ int) bool { return d.apart != nil && d.apart(a, at) })
		if len(apart) > 0 && len(said) > 1 {
			list = append(list, "the "+strings.ToLower(parts[at].title)+" of "+strings.Join(lo.Map(apart, id), ", "))
		}
	}
	return list
}

func (a *agent) silent() bool {
	return a.answer.blank() && !a.Unread && len(a.Decisions)+len(a.Artifacts)+len(a.Files) == 0
}

// Waiting returns the conflicts that a person has to settle.
func (r Result) Waiting() []Conflict {
	return lo.Reject(r.Conflicts, func(c Conflict, _ int) bool { return c.Resolved() })
}
