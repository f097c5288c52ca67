package core

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"github.com/samber/lo"
)

// PushInput holds the facts for or against a child frame. Zero values have no
// effect.
type PushInput struct {
	Goal          string   // of the current frame; empty if there is none
	PotentialGoal string   // of the frame that might be pushed
	Messages      int      // number of recent messages
	Files         []string // files changed recently
	Errors        int      // number of recent errors
	Tokens        int      // tokens spent in the frame
}

// PopInput holds the facts for or against ending the current frame. Zero values
// have no effect.
type PopInput struct {
	Goal            string   // of the current frame; empty if there is none
	Artifacts       []string // of the current frame
	SuccessSignals  []string // signs of success: "tests pass"
	FailureSignals  []string // signs of failure
	NoProgressTurns int      // latest turns without progress
	Tokens          int      // tokens in the context window
	ContextLimit    int      // size of the window; 0 or less: DefaultContextLimit
}

// DefaultContextLimit is the assumed size in tokens of a context window of
// unknown size.
const DefaultContextLimit = 100_000

// A rule is a heuristic with the function that returns its score and the facts behind that.
type rule[In any] struct {
	name   string
	points func(In) (points int, facts string)
}

const (
	goalCompletionName = "goal_completion"
	stagnationName     = "stagnation"
)

// The heuristics and their points are those of the first description. On a tie the first of them gives the reason.
var (
	pushRules = []rule[PushInput]{
		{"failure_boundary", failureBoundary},
		{"context_switch", contextSwitch},
		{"complexity", complexity},
		{"duration", duration},
	}
	popRules = []rule[PopInput]{
		{goalCompletionName, goalCompletion},
		{stagnationName, stagnation},
		{"context_overflow", contextOverflow},
	}
)

// A step gives points to amounts above a bound.
type step[N int | float64] struct {
	above  N
	points int
}

// The steps of each amount, highest first.
var (
	messageSteps    = []step[int]{{20, 40}, {10, 25}, {5, 10}}
	manyFileSteps   = []step[int]{{5, 30}, {2, 15}}
	switchFileSteps = []step[int]{{3, 20}, {1, 10}}
	tokenSteps      = []step[int]{{50_000, 70}, {30_000, 50}, {15_000, 30}, {5_000, 15}}
	turnSteps       = []step[int]{{5, 70}, {3, 40}, {1, 20}}
	failureSteps    = []step[int]{{3, 40}, {1, 20}}
	fillSteps       = []step[float64]{{0.9, 90}, {0.8, 70}, {0.7, 50}, {0.5, 20}}
)

// stepped returns the points of the first step that n exceeds.
func stepped[N int | float64](n N, steps []step[N]) int {
	for _, s := range steps {
		if n > s.above {
			return s.points
		}
	}
	return 0
}

func failureBoundary(in PushInput) (points int, facts string) {
	points, facts = min(50, 15*max(0, in.Errors)), fmt.Sprintf("errors %d", in.Errors)
	if in.PotentialGoal != "" && in.PotentialGoal != in.Goal {
		return points + 30, facts + ", another goal"
	}
	return points, facts
}

func contextSwitch(in PushInput) (points int, facts string) {
	points, facts = stepped(len(in.Files), switchFileSteps), fmt.Sprintf("files %d", len(in.Files))
	if in.Goal == "" || in.PotentialGoal == "" {
		return points, facts
	}
	potential, words := strings.ToLower(in.PotentialGoal), Keywords(in.Goal)
	shared := lo.CountBy(words, func(word string) bool { return hasWord(potential, word) })
	return points + rounded((1-portion(shared, words))*60), fmt.Sprintf("%s, words of the present goal %d of %d", facts, shared, len(words))
}

func complexity(in PushInput) (points int, facts string) {
	return stepped(in.Messages, messageSteps) + stepped(len(in.Files), manyFileSteps), fmt.Sprintf("messages %d, files %d", in.Messages, len(in.Files))
}

func duration(in PushInput) (points int, facts string) {
	return stepped(in.Tokens, tokenSteps), fmt.Sprintf("tokens %d", in.Tokens)
}

func goalCompletion(in PopInput) (points int, facts string) {
	signs, words := strings.ToLower(strings.Join(in.Artifacts, " ")+" "+strings.Join(in.SuccessSignals, " ")), Keywords(in.Goal)
	found := lo.CountBy(words, func(word string) bool { return strings.Contains(signs, word) })
	points = min(60, 20*len(in.SuccessSignals)) + min(30, 10*len(in.Artifacts)) + rounded(30*portion(found, words))
	return points, fmt.Sprintf("signs of success %d, artifacts %d, words of the goal %d of %d", len(in.SuccessSignals), len(in.Artifacts), found, len(words))
}

func stagnation(in PopInput) (points int, facts string) {
	return stepped(in.NoProgressTurns, turnSteps) + stepped(len(in.FailureSignals), failureSteps),
		fmt.Sprintf("turns without progress %d, signs of failure %d", in.NoProgressTurns, len(in.FailureSignals))
}

func contextOverflow(in PopInput) (points int, facts string) {
	limit := cmp.Or(max(0, in.ContextLimit), DefaultContextLimit)
	return stepped(float64(in.Tokens)/float64(limit), fillSteps), fmt.Sprintf("tokens %d of %d", in.Tokens, limit)
}

// portion returns the share, 0..1, of words that were found; 0 if there are no words.
func portion(found int, words []string) float64 { return float64(found) / float64(max(1, len(words))) }

// goOnWords are texts that ask to continue with the current work. politeFillers are words around
// them that add nothing.
var (
	goOnWords = map[string]bool{
		"": true, "continue": true, "go on": true, "go ahead": true, "go": true, "carry on": true, "keep going": true, "keep on": true, "keep working": true,
		"proceed": true, "resume": true, "next": true, "next step": true, "next steps": true, "more": true, "try again": true, "again": true,
	}
	politeFillers = map[string]bool{
		"please": true, "yes": true, "yeah": true, "yep": true, "ok": true, "okay": true, "sure": true, "good": true, "great": true, "fine": true, "thanks": true,
		"and": true, "then": true, "now": true, "just": true, "so": true, "with": true, "it": true, "that": true, "this": true, "the": true,
		"your": true, "work": true, "task": true, "do": true,
	}
)

// IsContinuePrompt reports whether a text that is not blank asks only to continue.
func IsContinuePrompt(text string) bool {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	rest := lo.Reject(words, func(word string, _ int) bool { return politeFillers[word] })
	return len(words) > 0 && goOnWords[strings.Join(rest, " ")]
}
