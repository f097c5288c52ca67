package core

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/samber/lo"
)

// AutonomyLevel says how much flame does on its own.
type AutonomyLevel string

// The levels of autonomy.
const (
	AutonomyManual  AutonomyLevel = "manual"  // answers when asked, suggests nothing
	AutonomySuggest AutonomyLevel = "suggest" // suggests pushes and pops in contexts
	AutonomyAuto    AutonomyLevel = "auto"    // performs pushes and pops that are due
)

// AutonomyConfig says when flame recommends a push or a pop (the first description).
type AutonomyConfig struct {
	Level             AutonomyLevel `json:"level"`
	PushThreshold     int           `json:"pushThreshold"`     // 0..100, confidence from which a push is recommended
	PopThreshold      int           `json:"popThreshold"`      // 0..100, likewise for a pop
	SuggestInContext  bool          `json:"suggestInContext"`  // contexts carry the suggestions
	EnabledHeuristics []string      `json:"enabledHeuristics"` // names of Heuristics; others do not count
}

// DefaultAutonomyConfig returns the default settings, those of the original plugin. Each call returns
// fresh lists.
func DefaultAutonomyConfig() AutonomyConfig {
	return AutonomyConfig{
		Level: AutonomySuggest, PushThreshold: 70, PopThreshold: 80, SuggestInContext: true,
		EnabledHeuristics: lo.Map(Heuristics(), func(h Heuristic, _ int) string { return h.Name }),
	}
}

// Check reports what is wrong with the settings and how a user can fix it.
func (c AutonomyConfig) Check() error {
	switch {
	case !slices.Contains([]AutonomyLevel{AutonomyManual, AutonomySuggest, AutonomyAuto}, c.Level):
		return Invalidf("there is no autonomy level %q", c.Level).WithHint("use manual, suggest or auto")
	case c.PushThreshold < 0 || c.PushThreshold > 100:
		return Invalidf("pushThreshold %d is out of range", c.PushThreshold).WithHint("give a number from 0 to 100")
	case c.PopThreshold < 0 || c.PopThreshold > 100:
		return Invalidf("popThreshold %d is out of range", c.PopThreshold).WithHint("give a number from 0 to 100")
	}
	for _, name := range c.EnabledHeuristics {
		if err := CheckHeuristic(name); err != nil {
			return err
		}
	}
	return nil
}

// Enabled reports whether the heuristic counts.
func (c AutonomyConfig) Enabled(heuristic string) bool {
	return slices.Contains(c.EnabledHeuristics, heuristic)
}

// A Heuristic is one of the signals that make up a confidence.
type Heuristic struct {
	Name   string
	Family SuggestionType // the move it argues for
}

// Heuristics lists the seven heuristics in the order in which scores are shown.
func Heuristics() []Heuristic {
	pushes := lo.Map(pushRules, func(r rule[PushInput], _ int) Heuristic { return Heuristic{r.name, SuggestPush} })
	pops := lo.Map(popRules, func(r rule[PopInput], _ int) Heuristic { return Heuristic{r.name, SuggestPop} })
	return append(pushes, pops...)
}

// CheckHeuristic returns an error unless there is a heuristic of this name.
func CheckHeuristic(name string) error {
	names := lo.Map(Heuristics(), func(h Heuristic, _ int) string { return h.Name })
	if slices.Contains(names, name) {
		return nil
	}
	return Invalidf("there is no heuristic %q", name).WithHint("use one of %s", strings.Join(names, ", "))
}

// A HeuristicScore is the score of one heuristic. It may exceed 100.
type HeuristicScore struct {
	Name  string `json:"name"`
	Score int    `json:"score"`
	Facts string `json:"facts"` // behind the score, in words: "2 errors, another goal"
}

// NoReason is the Reason of an Evaluation whose scores are all 0.
const NoReason = "no strong signal"

// An Evaluation is what the heuristics say about a push or a pop.
type Evaluation struct {
	Type        SuggestionType   `json:"type"`
	Recommended bool             `json:"recommended"` // Confidence has reached Threshold
	Confidence  int              `json:"confidence"`  // noisy-or of the scores, 1-Π(1-score/100): one strong signal suffices; 0..100
	Mean        int              `json:"mean"`        // of the scores, as the original plugin combines them; may exceed 100
	Threshold   int              `json:"threshold"`
	Scores      []HeuristicScore `json:"scores"`           // of the enabled heuristics
	Reason      string           `json:"reason"`           // the strongest heuristic, in words, or NoReason
	Goal        string           `json:"goal,omitempty"`   // of the frame to push; may be empty
	Status      Status           `json:"status,omitempty"` // to pop the frame with
}

// EvaluatePush evaluates whether the work needs a child frame.
func EvaluatePush(in PushInput, cfg AutonomyConfig) Evaluation {
	e := weigh(SuggestPush, score(pushRules, in, cfg), cfg.PushThreshold)
	e.Goal = in.PotentialGoal
	if IsContinuePrompt(in.PotentialGoal) {
		e.Recommended, e.Confidence, e.Reason = false, 0, "the goal only says to go on"
	}
	return e
}

// EvaluatePop evaluates whether the current frame should end, and with which status.
func EvaluatePop(in PopInput, cfg AutonomyConfig) Evaluation {
	e := weigh(SuggestPop, score(popRules, in, cfg), cfg.PopThreshold)
	e.Status = popStatus(in, e)
	return e
}

// score runs the enabled heuristics of a family.
func score[In any](rules []rule[In], in In, cfg AutonomyConfig) []HeuristicScore {
	return lo.FilterMap(rules, func(r rule[In], _ int) (HeuristicScore, bool) {
		points, facts := r.points(in)
		return HeuristicScore{r.name, points, facts}, cfg.Enabled(r.name)
	})
}

func weigh(family SuggestionType, scores []HeuristicScore, threshold int) Evaluation {
	e := Evaluation{Type: family, Scores: scores, Threshold: threshold, Mean: mean(scores), Confidence: noisyOr(scores)}
	e.Recommended = e.Confidence >= threshold
	e.Reason = cmp.Or(strings.ReplaceAll(strongest(scores), "_", " "), NoReason)
	return e
}

func mean(scores []HeuristicScore) int {
	if len(scores) == 0 {
		return 0
	}
	return rounded(float64(lo.SumBy(scores, func(s HeuristicScore) int { return s.Score })) / float64(len(scores)))
}

func noisyOr(scores []HeuristicScore) int {
	doubt := 1.0
	for _, s := range scores {
		doubt *= 1 - float64(min(100, max(0, s.Score)))/100
	}
	return rounded(100 * (1 - doubt))
}

// strongest returns the name of the highest score, the first on a tie; empty if all are 0.
func strongest(scores []HeuristicScore) string {
	none := []HeuristicScore{{}}
	return lo.MaxBy(append(none, scores...), func(s, best HeuristicScore) bool { return s.Score > best.Score }).Name
}

// popStatus returns the status with which a frame should end. Stagnation
// outranks success; without that heuristic the status is always completed.
func popStatus(in PopInput, e Evaluation) Status {
	points := lo.SliceToMap(e.Scores, func(s HeuristicScore) (string, int) { return s.Name, s.Score })
	stagnation, watched := points[stagnationName]
	failures := len(in.FailureSignals)
	switch {
	case !watched:
		return Completed
	case stagnation > 60 && failures > len(in.SuccessSignals):
		return Failed
	case stagnation > 60:
		return Blocked
	case points[goalCompletionName] > 60:
		return Completed
	case failures > 3:
		return Failed
	}
	return Completed
}

// rounded returns the nearest whole number; halves go up.
func rounded(x float64) int { return int(math.Round(x)) }
