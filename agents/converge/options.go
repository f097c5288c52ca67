package converge

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/agents/converge/notation"
	"flame/core"
)

// A Strategy is a way to combine several results into one.
type Strategy string

// The strategies (seeds, slash commands).
const (
	StrategyMerge        Strategy = "merge"         // everything that any agent returned; overlap is a conflict
	StrategyVote         Strategy = "vote"          // the most frequent answer
	StrategyConsensus    Strategy = "consensus"     // what all agree on, or nothing
	StrategyFirstSuccess Strategy = "first_success" // the result of the first to complete
)

// Values lists the strategies.
func (Strategy) Values() []string {
	return core.Words(StrategyMerge, StrategyVote, StrategyConsensus, StrategyFirstSuccess)
}

// A Resolution is a way to handle conflicts.
type Resolution string

// The resolutions (seeds, slash commands). If an automatic one finds several
// sides equal, the conflict waits for review as with Manual.
const (
	Manual                 Resolution = "manual"
	AutoAcceptLatest       Resolution = "auto_accept_latest"       // the side that completed last
	PreferHigherConfidence Resolution = "prefer_higher_confidence" // the side with the highest confidence; each must give one
)

// Values lists the resolutions that can be requested.
func (Resolution) Values() []string {
	return core.Words(Manual, AutoAcceptLatest, PreferHigherConfidence)
}

// How a conflict was settled other than by Options.Resolution.
const (
	ByVote   Resolution = "vote"   // the larger class of answers won
	ByReview Resolution = "review" // a person chose: Options.Choices
)

// A Format is a way to write a Result.
type Format string

// The formats (seeds, slash commands).
const (
	JSON       Format = "json"
	Markdown   Format = "markdown"
	DeltaBatch Format = "delta_batch"
)

// Values lists the formats.
func (Format) Values() []string { return core.Words(JSON, Markdown, DeltaBatch) }

// MinVoters is how many answers a vote needs (seeds, slash commands).
const MinVoters = 3

// Options say how to converge.
type Options struct {
	Strategy   Strategy   `json:"strategy"`                      // required
	Resolution Resolution `json:"conflict_resolution,omitempty"` // Manual if empty
	Format     Format     `json:"output_format,omitempty"`       // DeltaBatch if empty
	// Tolerance is how far apart two numbers in answers may be and still count
	// as equal, in their own unit. RelativeTolerance is the same as a share of
	// the larger one. The wider of both applies.
	Tolerance         float64         `json:"tolerance,omitempty"`
	RelativeTolerance float64         `json:"relative_tolerance,omitempty"`
	Schema            json.RawMessage `json:"result_schema,omitempty"` // a JSON schema: of JSON answers only the properties it declares are compared

	// Choices are a person's: the subagent_id of the winning side, by
	// Conflict.ID. They override every other way to settle a conflict.
	Choices map[string]string `json:"choices,omitempty"`
}

func (o Options) withDefaults() (Options, error) {
	o.Resolution = Resolution(lo.CoalesceOrEmpty(string(o.Resolution), string(Manual)))
	o.Format = Format(lo.CoalesceOrEmpty(string(o.Format), string(DeltaBatch)))
	if err := core.OneOf("strategy", o.Strategy); err != nil {
		return o, err
	}
	if err := core.OneOf("conflict_resolution", o.Resolution); err != nil {
		return o, err
	}
	if err := core.OneOf("output_format", o.Format); err != nil {
		return o, err
	}
	if !(o.Tolerance >= 0) || math.IsInf(o.Tolerance, 0) {
		return o, core.Invalidf("tolerance %v is not a distance", o.Tolerance).WithHint("give a number from 0 up; 0 means exactly equal")
	}
	if !(o.RelativeTolerance >= 0 && o.RelativeTolerance < 1) {
		return o, core.Invalidf("relative tolerance %v is not a share",
			o.RelativeTolerance).WithHint("give a number from 0 to below 1, such as 0.05 for 5 %%")
	}
	return o, nil
}

func (o Options) tolerance() notation.Tolerance {
	return notation.Tolerance{Absolute: o.Tolerance, Relative: o.RelativeTolerance}
}

// checkInputs applies the rules common to all strategies.
func checkInputs(inputs []Input) error {
	ids := lo.Map(inputs, func(in Input, _ int) string { return in.SubagentID })
	slices.Sort(ids)
	if slices.Contains(ids, "") {
		return core.Invalidf("an agent has no subagent_id")
	}
	if twice := lo.FindDuplicates(ids); len(twice) > 0 {
		return core.Invalidf("named twice: %s", strings.Join(twice, ", ")).WithHint("name each agent once")
	}
	if len(ids) < 2 {
		return core.Invalidf("converge needs at least 2 agents, not %d", len(ids)).WithHint("name the agents whose results belong together")
	}
	if err := checkTrees(inputs); err != nil {
		return err
	}
	return checkConfidence(inputs)
}

// checkTrees refuses agents whose frames are in different trees.
func checkTrees(inputs []Input) error {
	known := lo.Filter(inputs, func(in Input, _ int) bool { return in.Tree != "" })
	trees := lo.GroupByMap(known, func(in Input) (string, string) { return in.Tree, in.SubagentID })
	if len(trees) < 2 {
		return nil
	}
	groups := lo.MapToSlice(trees, func(root string, ids []string) string {
		slices.Sort(ids)
		return root + ": " + strings.Join(ids, ", ")
	})
	slices.Sort(groups)
	return core.Invalidf("the agents are not in one tree of frames (%s)", strings.Join(groups, "; ")).
		WithHint("converge the agents of each tree separately")
}

func checkConfidence(inputs []Input) error {
	bad := lo.FilterMap(inputs, func(in Input, _ int) (string, bool) {
		ok := in.Confidence == nil || *in.Confidence >= 0 && *in.Confidence <= 1
		return in.SubagentID, !ok
	})
	if len(bad) == 0 {
		return nil
	}
	slices.Sort(bad)
	return core.Invalidf("the confidence of %s is not a number from 0 to 1", strings.Join(bad, ", "))
}
