package converge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// MaxExcerpt is how many characters of a side's value a Side shows. The inputs
// have the full value.
const MaxExcerpt = 2_000

// A Conflict is a contradiction between agents about one subject.
type Conflict struct {
	ID         string     `json:"id"` // "kind:key", by which Options.Choices names it
	Kind       Kind       `json:"kind"`
	Key        string     `json:"key"`
	Sides      []Side     `json:"sides"`                // every agent that says something about it, by id
	Resolution Resolution `json:"resolution,omitempty"` // how it was settled; empty while it waits for review
	Winner     string     `json:"winner,omitempty"`     // subagent_id of the winning side; empty while it waits
	Rationale  string     `json:"rationale"`            // which agents agree, and why the winner won or there is no winner
}

// A Side is the statement of one agent.
type Side struct {
	SubagentID  string      `json:"subagent_id"`
	Task        string      `json:"task,omitempty"` // that it was given, in a few words
	ValueHash   string      `json:"value_hash"`     // equal for values that compare as equal at tolerance 0; empty for a deleted file
	Excerpt     string      `json:"excerpt"`
	Confidence  *float64    `json:"confidence,omitempty"` // 0..1
	CompletedAt core.Millis `json:"completed_at"`
}

// Resolved reports whether the conflict is settled.
func (c Conflict) Resolved() bool { return c.Winner != "" }

// A subject has all claims of agents about one thing. Either they agree, or they are a
// conflict until one claim wins.
type subject struct {
	claims   []claim   // at least one, by agent
	winner   *claim    // the accepted claim; nil while it is disputed
	conflict *Conflict // nil if all agree
}

func newSubject(all []claim, t tolerance) *subject {
	s := &subject{claims: all}
	if allAgree(all, t) {
		s.winner = lo.ToPtr(earliest(all))
		return s
	}
	kind, key := parts[all[0].part].kind, all[0].key
	dissent := strings.Join(lo.Map(classesOf(all, t), func(class []claim, _ int) string { return authors(class) }), " against ")
	if !strings.Contains(dissent, " against ") {
		dissent = "each agrees with " + all[0].by.SubagentID + ", but not all with each other"
	}
	s.conflict = &Conflict{
		ID: string(kind) + ":" + key, Kind: kind, Key: key, Sides: lo.Map(all, side), Rationale: dissent + builtOn(all),
	}
	return s
}

func side(c claim, _ int) Side {
	return Side{c.by.SubagentID, c.by.Task, c.hash, core.Cut(c.text, MaxExcerpt), c.by.Confidence, c.by.CompletedAt}
}

// classesOf groups claims that agree with the first of their group.
func classesOf(all []claim, t tolerance) (classes [][]claim) {
	for _, c := range all {
		i := slices.IndexFunc(classes, func(class []claim) bool { return agree(class[0].same, c.same, t) })
		if i < 0 {
			i, classes = len(classes), append(classes, nil)
		}
		classes[i] = append(classes[i], c)
	}
	return classes
}

// allAgree compares every pair: within a tolerance a may agree with b and b
// with c, but not a with c.
func allAgree(all []claim, t tolerance) bool {
	return lo.EveryBy(all, func(a claim) bool {
		return lo.EveryBy(all, func(b claim) bool { return agree(a.same, b.same, t) })
	})
}

func earliest(claims []claim) claim {
	return slices.MinFunc(claims, func(a, b claim) int { return byTime(a.by, b.by) })
}

// builtOn names sides that began from the result of another side: the later result may contain
// both changes.
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

func (s *subject) settle(winner claim, how Resolution, why string) {
	s.winner = &winner
	s.conflict.Winner = winner.by.SubagentID
	s.conflict.Resolution = how
	s.conflict.Rationale += "; " + why
}

func (s *subject) open() bool { return s.winner == nil }

// elect lets the largest class of answers win. An answer has the votes of all
// that agree with it; if different groups are equally large, none wins.
func (s *subject) elect(t tolerance) {
	most, groups := 0, map[string][]claim{}
	for _, candidate := range s.claims {
		votes := lo.Filter(s.claims, func(c claim, _ int) bool { return agree(candidate.same, c.same, t) })
		if len(votes) > most {
			most = len(votes)
			clear(groups)
		}
		if len(votes) == most {
			group := authors(votes)
			groups[group] = append(groups[group], candidate)
		}
	}
	if len(groups) > 1 {
		s.conflict.Rationale += fmt.Sprintf("; a tie of %d votes each", most)
		return
	}
	for group, candidates := range groups {
		s.settle(earliest(candidates), ByVote, fmt.Sprintf("%d of %d votes: %s", most, len(s.claims), group))
	}
}

// byRank applies an automatic resolution: the claim of the highest-ranking agent wins, unless
// agents of equal rank disagree.
func (s *subject) byRank(how Resolution, t tolerance) {
	rank := ranks[how]
	best := slices.MaxFunc(s.claims, func(a, b claim) int { return rank.compare(a.by, b.by) })
	top := lo.Filter(s.claims, func(c claim, _ int) bool { return rank.compare(c.by, best.by) == 0 })
	if !allAgree(top, t) {
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
