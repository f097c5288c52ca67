package converge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/agents/converge/notation"
	"flame/core"
)

// MaxExcerpt is how many characters of a side's value a Side shows. The inputs
// have the full value.
const MaxExcerpt = 2_000

// A Conflict is one thing that agents say differently.
type Conflict struct {
	ID         string     `json:"id"` // "kind:key", by which Options.Choices names it
	Kind       Kind       `json:"kind"`
	Key        string     `json:"key"`
	Sides      []Side     `json:"sides"`                // every agent that says something about it, by id
	Resolution Resolution `json:"resolution,omitempty"` // how it was settled; empty while it waits for review
	Winner     string     `json:"winner,omitempty"`     // subagent_id of the winning side; empty while it waits
	Rationale  string     `json:"rationale"`            // who agrees with whom, and why the winner won or nobody did
}

// A Side is what one agent says.
type Side struct {
	SubagentID  string      `json:"subagent_id"`
	ValueHash   string      `json:"value_hash"` // equal for values that compare as equal at tolerance 0; empty for a deleted file
	Excerpt     string      `json:"excerpt"`
	Confidence  *float64    `json:"confidence,omitempty"` // 0..1
	CompletedAt core.Millis `json:"completed_at"`
}

// Resolved reports whether the conflict is settled.
func (c Conflict) Resolved() bool { return c.Winner != "" }

// Waiting returns the conflicts that a person has to settle.
func (r Result) Waiting() []Conflict {
	return lo.Reject(r.Conflicts, func(c Conflict, _ int) bool { return c.Resolved() })
}

// A subject is everything that agents claim about one thing: they agree, or it
// is a conflict until one claim wins.
type subject struct {
	claims   []claim   // at least one, by agent
	winner   *claim    // the accepted claim; nil while it is disputed
	conflict *Conflict // nil if all agree
}

// newSubject checks whether claims agree.
func newSubject(claims []claim, tolerance notation.Tolerance) *subject {
	s := &subject{claims: claims}
	if allAgree(claims, tolerance) {
		first := earliest(claims)
		s.winner = &first
		return s
	}
	p := parts[claims[0].part]
	key := claims[0].key
	s.conflict = &Conflict{
		ID:        string(p.kind) + ":" + key,
		Kind:      p.kind,
		Key:       key,
		Sides:     lo.Map(claims, side),
		Rationale: dissent(classesOf(claims, tolerance)) + builtOn(claims),
	}
	return s
}

func side(c claim, _ int) Side {
	return Side{
		SubagentID:  c.by.SubagentID,
		ValueHash:   c.hash,
		Excerpt:     core.Cut(c.text, MaxExcerpt),
		Confidence:  c.by.Confidence,
		CompletedAt: c.by.CompletedAt,
	}
}

// classesOf groups claims that agree with the first of their group.
func classesOf(claims []claim, tolerance notation.Tolerance) (classes [][]claim) {
	for _, c := range claims {
		i := slices.IndexFunc(classes, func(class []claim) bool { return agree(class[0].same, c.same, tolerance) })
		if i < 0 {
			classes = append(classes, []claim{c})
			continue
		}
		classes[i] = append(classes[i], c)
	}
	return classes
}

// allAgree compares every pair: within a tolerance a may agree with b and b
// with c, but not a with c.
func allAgree(claims []claim, tolerance notation.Tolerance) bool {
	for i, a := range claims {
		for _, b := range claims[i+1:] {
			if !agree(a.same, b.same, tolerance) {
				return false
			}
		}
	}
	return true
}

// earliest returns the claim of the agent that completed first.
func earliest(claims []claim) claim {
	return slices.MinFunc(claims, func(a, b claim) int { return byTime(a.by, b.by) })
}

// dissent says who agrees with whom: "a1, a3 against a2".
func dissent(classes [][]claim) string {
	if len(classes) == 1 {
		return "each agrees with " + classes[0][0].by.SubagentID + ", but not all with each other"
	}
	return strings.Join(lo.Map(classes, func(class []claim, _ int) string { return authors(class) }), " against ")
}

// builtOn names sides that began from what another side had left: the later one
// may contain both changes.
func builtOn(claims []claim) string {
	var b strings.Builder
	for _, later := range claims {
		for _, earlier := range claims {
			if later.from != "" && later.from == earlier.hash {
				fmt.Fprintf(&b, "; %s began from what %s left", later.by.SubagentID, earlier.by.SubagentID)
			}
		}
	}
	return b.String()
}

func authors(claims []claim) string {
	return strings.Join(lo.Map(claims, func(c claim, _ int) string { return c.by.SubagentID }), ", ")
}

// settle makes an agent's claim win.
func (s *subject) settle(winner claim, how Resolution, why string) {
	s.winner = &winner
	s.conflict.Winner = winner.by.SubagentID
	s.conflict.Resolution = how
	s.conflict.Rationale += "; " + why
}

// open reports whether nothing has won yet.
func (s *subject) open() bool { return s.winner == nil }

// choose makes the side win that a person chose.
func (s *subject) choose(subagentID string) error {
	chosen, ok := lo.Find(s.claims, func(c claim) bool { return c.by.SubagentID == subagentID })
	if !ok {
		return core.Invalidf("%s is not a side of conflict %q", subagentID, s.conflict.ID).WithHint("choose one of %s", authors(s.claims))
	}
	s.settle(chosen, ByReview, subagentID+" was chosen in review")
	return nil
}

// byRank applies an automatic resolution: the claim whose agent ranks highest
// wins, unless others of that rank say something else.
func (s *subject) byRank(how Resolution, tolerance notation.Tolerance) {
	rank := ranks[how]
	best := slices.MaxFunc(s.claims, func(a, b claim) int { return rank.compare(a.by, b.by) })
	top := lo.Filter(s.claims, func(c claim, _ int) bool { return rank.compare(c.by, best.by) == 0 })
	if !allAgree(top, tolerance) {
		s.conflict.Rationale += "; " + authors(top) + " " + rank.tie + ", so this is left to review"
		return
	}
	s.settle(top[0], how, top[0].by.SubagentID+" "+rank.won)
}

// ranks holds how each automatic resolution compares agents, and its wording.
var ranks = map[Resolution]struct {
	compare  func(a, b *agent) int
	won, tie string
}{
	AutoAcceptLatest: {
		func(a, b *agent) int { return cmp.Compare(a.CompletedAt, b.CompletedAt) },
		"completed last", "completed in the same millisecond",
	},
	PreferHigherConfidence: {
		func(a, b *agent) int { return cmp.Compare(*a.Confidence, *b.Confidence) },
		"has the highest confidence", "are equally confident",
	},
}
