package converge

import (
	"cmp"
	"encoding/json"
	"math"

	"github.com/samber/lo"

	"flame/core"
)

// A Strategy is a way to combine several results into one.
type Strategy string

// The strategies (the first description).
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

// The resolutions (the first description). If an automatic one finds several
// sides equal, the conflict waits for review as with Manual.
const (
	ResolveManual          Resolution = "manual"
	AutoAcceptLatest       Resolution = "auto_accept_latest"       // the side that completed last
	PreferHigherConfidence Resolution = "prefer_higher_confidence" // the side with the highest confidence; each must give one
)

// Values lists the resolutions that can be requested.
func (Resolution) Values() []string {
	return core.Words(ResolveManual, AutoAcceptLatest, PreferHigherConfidence)
}

// How a conflict was settled other than by Options.Resolution.
const (
	ByVote   Resolution = "vote"   // the larger class of answers won
	ByReview Resolution = "review" // a person chose: Options.Choices
)

// A Format is a way to write a Result.
type Format string

// The formats (the first description).
const (
	JSON       Format = "json"
	Markdown   Format = "markdown"
	DeltaBatch Format = "delta_batch"
)

// Values lists the formats.
func (Format) Values() []string { return core.Words(JSON, Markdown, DeltaBatch) }

// MinVoters is how many answers a vote needs (the first description).
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

	// Conflicts are contradictions that the caller found by reading the answers.
	Conflicts []Difference `json:"conflicts,omitempty"`

	// Choices are a person's: the subagent_id of the winning side, by
	// Conflict.ID. They override every other way to settle a conflict.
	Choices map[string]string `json:"choices,omitempty"`
}

func (o Options) withDefaults() (Options, error) {
	o.Resolution = Resolution(lo.CoalesceOrEmpty(string(o.Resolution), string(ResolveManual)))
	o.Format = Format(lo.CoalesceOrEmpty(string(o.Format), string(DeltaBatch)))
	if err := cmp.Or(core.CheckEnum("strategy", o.Strategy), core.CheckEnum("conflict_resolution", o.Resolution),
		core.CheckEnum("output_format", o.Format)); err != nil {
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

func (o Options) tolerance() tolerance { return tolerance{o.Tolerance, o.RelativeTolerance} }
