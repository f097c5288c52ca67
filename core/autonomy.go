package core

import (
	"cmp"
	"fmt"
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

// Strategy says how scores combine into one confidence.
type Strategy string

// The strategies.
const (
	Evidence Strategy = "evidence" // core/judge weighs what was said and done; this package computes it as NoisyOr
	NoisyOr  Strategy = "noisy-or" // 1-Π(1-score/100): one strong signal suffices
	Mean     Strategy = "mean"     // of the enabled scores, not clamped: the reference's
)

// AutonomyConfig says when flame recommends a push or a pop (seeds, phase 1.7).
type AutonomyConfig struct {
	Level             AutonomyLevel `json:"level"`
	PushThreshold     int           `json:"pushThreshold"`     // 0..100, confidence from which a push is recommended
	PopThreshold      int           `json:"popThreshold"`      // 0..100, likewise for a pop
	SuggestInContext  bool          `json:"suggestInContext"`  // contexts carry the suggestions
	EnabledHeuristics []string      `json:"enabledHeuristics"` // names of Heuristics; others do not count
	Strategy          Strategy      `json:"strategy"`
}

// DefaultAutonomyConfig returns the seeds' defaults, with the strategy
// evidence. Each call returns fresh lists.
func DefaultAutonomyConfig() AutonomyConfig {
	return AutonomyConfig{
		Level: AutonomySuggest, PushThreshold: 70, PopThreshold: 80, SuggestInContext: true, Strategy: Evidence,
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
	case !slices.Contains([]Strategy{Evidence, NoisyOr, Mean}, c.Strategy):
		return Invalidf("there is no strategy %q", c.Strategy).WithHint("use evidence, noisy-or or mean")
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
}

// A Signal is one sign for or against a push or a pop.
type Signal struct {
	Heuristic string `json:"heuristic"` // to which it belongs; the signal counts only if that is enabled
	Points    int    `json:"points"`    // below 0: it speaks against
	Because   string `json:"because"`   // in words: "the test run passes"
}

// NoReason is the Reason of an Evaluation whose scores are all 0.
const NoReason = "no strong signal"

// An Evaluation is what the heuristics say about a push or a pop.
type Evaluation struct {
	Type        SuggestionType   `json:"type"`
	Recommended bool             `json:"recommended"` // Confidence has reached Threshold
	Confidence  int              `json:"confidence"`  // by the configured strategy
	Mean        int              `json:"mean"`        // by the strategy mean; may exceed 100
	NoisyOr     int              `json:"noisyOr"`     // by the strategy noisy-or; 0..100
	Threshold   int              `json:"threshold"`
	Scores      []HeuristicScore `json:"scores"`            // of the enabled heuristics
	Signals     []Signal         `json:"signals,omitempty"` // under the strategy evidence, the strongest first
	Reason      string           `json:"reason"`            // the strongest heuristic or signal, in words, or NoReason
	Goal        string           `json:"goal,omitempty"`    // of the frame to push; may be empty
	Status      Status           `json:"status,omitempty"`  // to pop the frame with
	Explanation string           `json:"explanation"`       // one sentence with the numbers behind it
}

// EvaluatePush evaluates whether the work needs a child frame.
func EvaluatePush(in PushInput, cfg AutonomyConfig) Evaluation {
	e := weigh(SuggestPush, score(pushRules, in, cfg), cfg.PushThreshold, cfg.Strategy)
	e.Goal = in.PotentialGoal
	if SaysGoOn(in.PotentialGoal) {
		e.Recommended, e.Confidence = false, 0
		e.Reason, e.Explanation = "the goal only says to go on", "No frame is due for going on with the work at hand."
	}
	return e
}

// EvaluatePop evaluates whether the current frame should end, and with which status.
func EvaluatePop(in PopInput, cfg AutonomyConfig) Evaluation {
	e := weigh(SuggestPop, score(popRules, in, cfg), cfg.PopThreshold, cfg.Strategy)
	e.Status = popStatus(in, e)
	return e
}

// score runs the enabled heuristics of a family.
func score[In any](rules []rule[In], in In, cfg AutonomyConfig) []HeuristicScore {
	return lo.FilterMap(rules, func(r rule[In], _ int) (HeuristicScore, bool) {
		return HeuristicScore{r.name, r.points(in)}, cfg.Enabled(r.name)
	})
}

func weigh(family SuggestionType, scores []HeuristicScore, threshold int, strategy Strategy) Evaluation {
	e := Evaluation{Type: family, Scores: scores, Threshold: threshold, Mean: mean(scores), NoisyOr: noisyOr(scores)}
	e.Confidence = e.NoisyOr
	if strategy == Mean {
		e.Confidence = e.Mean
	}
	e.Recommended = e.Confidence >= threshold
	e.Reason = cmp.Or(inWords(strongest(scores)), NoReason)
	e.Explanation = explain(e)
	return e
}

// By returns the evaluation by the signals for one outcome. Signals of disabled heuristics do not
// count. The confidence is the sum of the points, limited to 0..100.
func (e Evaluation) By(signals []Signal, cfg AutonomyConfig) Evaluation {
	e.Signals = slices.DeleteFunc(slices.Clone(signals), func(s Signal) bool { return !cfg.Enabled(s.Heuristic) })
	slices.SortStableFunc(e.Signals, func(a, b Signal) int { return cmp.Compare(b.Points, a.Points) })
	sum, words := 0, []string{}
	for _, s := range e.Signals {
		sum += s.Points
		words = append(words, fmt.Sprintf("%s %+d", s.Because, s.Points))
	}
	e.Confidence, e.Reason = min(max(sum, 0), 100), NoReason
	if len(e.Signals) > 0 && e.Signals[0].Points > 0 {
		e.Reason = e.Signals[0].Because
	}
	e.Recommended = e.Confidence >= e.Threshold
	e.Explanation = conclude(e, words)
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

// Strongest returns the name of the heuristic that counts most for the recommendation; empty if
// none speaks for it.
func (e Evaluation) Strongest() string {
	if len(e.Signals) > 0 && e.Signals[0].Points > 0 {
		return e.Signals[0].Heuristic
	}
	return strongest(e.Scores)
}

func inWords(heuristic string) string { return strings.ReplaceAll(heuristic, "_", " ") }

func explain(e Evaluation) string {
	return conclude(e, lo.FilterMap(e.Scores, func(s HeuristicScore, _ int) (string, bool) {
		return fmt.Sprintf("%s %d", inWords(s.Name), s.Score), s.Score > 0
	}))
}

// conclude returns the verdict in a sentence. signals are in words.
func conclude(e Evaluation, signals []string) string {
	verdict := "stays below"
	if e.Recommended {
		verdict = "reaches"
	}
	return fmt.Sprintf("Confidence %d %s the threshold %d for a %s: %s.", e.Confidence, verdict, e.Threshold, e.Type,
		cmp.Or(strings.Join(signals, ", "), NoReason))
}

// popStatus returns the status with which a frame should end. Stagnation
// outranks success; without that heuristic the status is always completed (spec:
// autonomy §3).
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
