// Package converge combines the results of several agents into one: it finds where they
// contradict each other, settles what may be settled, and leaves the rest to a person with every
// side kept. Converge is pure: the same inputs in any order give the same
// bytes, so a convergence can be replayed. Convergences stores the combined results and writes
// their events, until a person has settled all conflicts.
package converge

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// An AgentResult is the result of one agent.
type AgentResult struct {
	SubagentID  string          `json:"subagent_id"`
	Task        string          `json:"task,omitempty"` // in a few words
	Tree        string          `json:"tree,omitempty"` // id of the root of its frame's tree; empty if unknown
	Outcome     core.AgentState `json:"outcome"`        // how it ended, or its current state
	Answer      string          `json:"answer,omitempty"`
	Artifacts   []Artifact      `json:"artifacts,omitempty"`
	Files       []File          `json:"files,omitempty"`
	Unread      bool            `json:"unread,omitempty"`     // not all files that it changed are known
	Decisions   []string        `json:"decisions,omitempty"`  // "key: value", "key = value", or a text that is both key and value
	Confidence  *float64        `json:"confidence,omitempty"` // 0..1; nil if it gave none
	CompletedAt core.Millis     `json:"completed_at"`
	Base        string          `json:"base,omitempty"`    // the git commit it began from; empty outside git
	Claimed     []string        `json:"claimed,omitempty"` // ids of the planned frames it took over
}

// An Artifact is a thing an agent made, by the name it gave it. If a name
// repeats in one input the later one applies; the same is true of files and
// decisions.
type Artifact struct {
	Key     string `json:"key"`
	Hash    string `json:"hash,omitempty"` // of its content
	Excerpt string `json:"excerpt,omitempty"`
}

// A File is a file that an agent changed.
type File struct {
	Path    string `json:"path"`
	Base    string `json:"base,omitempty"` // hash of the content it found; empty if the file is new
	Hash    string `json:"hash,omitempty"` // hash of the content it left; empty if it deleted the file
	Excerpt string `json:"excerpt,omitempty"`
}

// Converge combines inputs into one Result. The Result has no output until all conflicts are
// resolved. Options or inputs that break a rule return a core.Problem that names the rule and
// the agents.
func Converge(inputs []AgentResult, options Options) (Result, error) {
	options, err := options.withDefaults()
	if err != nil {
		return Result{}, err
	}
	if err := checkInputs(inputs); err != nil {
		return Result{}, err
	}
	if err := check(options.Conflicts, lo.Map(inputs, func(in AgentResult, _ int) string { return in.SubagentID })); err != nil {
		return Result{}, err
	}
	schema, err := parseSchema(options.Schema)
	if err != nil {
		return Result{}, err
	}
	agents := lo.Map(inputs, func(in AgentResult, _ int) *agent {
		return &agent{AgentResult: in, answer: readAnswer(in.Answer), schema: schema}
	})
	slices.SortFunc(agents, func(a, b *agent) int { return cmp.Compare(a.SubagentID, b.SubagentID) })
	draft, err := strategies[options.Strategy](agents, options)
	if err != nil {
		return Result{}, err
	}
	draft.subjects = append(draft.subjects, given(options.Conflicts, agents, draft.subjects)...)
	if err := draft.resolve(options); err != nil {
		return Result{}, err
	}
	return draft.result(agents, options), nil
}

// An agent is an AgentResult with its answer read.
type agent struct {
	AgentResult
	answer answer
	schema schema
}

func (a *agent) completed() bool { return a.Outcome == core.AgentCompleted }

// byTime orders agents by when they ended, and by id on a tie.
func byTime(a, b *agent) int {
	return cmp.Or(cmp.Compare(a.CompletedAt, b.CompletedAt), cmp.Compare(a.SubagentID, b.SubagentID))
}

func id(a *agent, _ int) string { return a.SubagentID }

func idAndState(a *agent, _ int) string { return a.SubagentID + " (" + string(a.Outcome) + ")" }

func checkInputs(inputs []AgentResult) error {
	ids := lo.Map(inputs, func(in AgentResult, _ int) string { return in.SubagentID })
	slices.Sort(ids)
	if slices.Contains(ids, "") {
		return core.Invalidf("an agent has no subagent_id")
	}
	if twice := lo.FindDuplicates(ids); len(twice) > 0 {
		return core.Invalidf("these agents are named twice: %s", strings.Join(twice, ", ")).WithHint("name each agent once")
	}
	if len(ids) < 2 {
		return core.Invalidf("converge needs at least 2 agents, not %d", len(ids)).WithHint("name the agents whose results belong together")
	}
	if err := checkTrees(inputs); err != nil {
		return err
	}
	return checkConfidence(inputs)
}

func checkTrees(inputs []AgentResult) error {
	trees := map[string][]string{}
	for _, in := range inputs {
		if in.Tree != "" {
			trees[in.Tree] = append(trees[in.Tree], in.SubagentID)
		}
	}
	if len(trees) < 2 {
		return nil
	}
	groups := lo.Map(slices.Sorted(maps.Keys(trees)), func(root string, _ int) string {
		return root + ": " + strings.Join(slices.Sorted(slices.Values(trees[root])), ", ")
	})
	return core.Invalidf("the agents are not in one tree of frames (%s)", strings.Join(groups, "; ")).
		WithHint("converge the agents of each tree separately")
}

func checkConfidence(inputs []AgentResult) error {
	bad := lo.FilterMap(inputs, func(in AgentResult, _ int) (string, bool) {
		return in.SubagentID, in.Confidence != nil && !(*in.Confidence >= 0 && *in.Confidence <= 1)
	})
	if len(bad) == 0 {
		return nil
	}
	slices.Sort(bad)
	return core.Invalidf("the confidence of %s is not a number from 0 to 1", strings.Join(bad, ", "))
}
