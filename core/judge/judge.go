package judge

import (
	"cmp"
	"slices"
	"strings"

	"flame/core"
	"flame/core/models"
)

// Push says whether a child frame is due for what the user asks. Its goal is that of the
// planned child which the prompt takes up, or else what the prompt asks for.
func Push(m Moment, cfg core.AutonomyConfig) core.Evaluation {
	e := core.EvaluatePush(core.PushInput{
		Goal: m.Frame.Goal, PotentialGoal: goalOf(m.Prompt), Messages: m.Frame.Messages, Files: m.files(),
		Errors: m.Turn.Errors, Tokens: m.Turn.Tokens,
	}, cfg)
	if cfg.Strategy == core.Evidence {
		signals, goal := forPush(m)
		e = e.By(signals, cfg)
		e.Goal = goal
	}
	return e
}

// Pop says whether the current frame is due to end, and with which status.
func Pop(m Moment, cfg core.AutonomyConfig) core.Evaluation {
	e := core.EvaluatePop(core.PopInput{
		Goal: bounded(m.Frame.Goal), Artifacts: m.Frame.Artifacts, SuccessSignals: m.Successes, FailureSignals: m.Failures,
		NoProgressTurns: m.Turn.WithoutProgress, Tokens: m.Turn.Tokens, ContextLimit: m.Turn.window(),
	}, cfg)
	if cfg.Strategy != core.Evidence {
		return e
	}
	var likeliest core.Evaluation
	ending := readEnding(m)
	for _, status := range []core.Status{core.Completed, core.Failed, core.Blocked} {
		if by := e.By(forPop[status](ending), cfg); by.Confidence > likeliest.Confidence || likeliest.Type == "" {
			likeliest, likeliest.Status = by, status
		}
	}
	return likeliest
}

// maxGoal is the length of the goal that a prompt gives a frame, in characters.
const maxGoal = 200

// goalOf returns the goal of a frame for what a prompt asks: its first line.
func goalOf(prompt string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(head(prompt, maxPrompt)), "\n")
	return core.OneLine(line, maxGoal)
}

// files returns the files that were changed in the frame, each once.
func (m Moment) files() []string {
	all := slices.Concat(m.Frame.Files, m.Turn.Files)
	slices.Sort(all)
	return slices.Compact(all)
}

// window returns the tokens that the model takes; 0: unknown.
func (t Turn) window() int {
	published, _ := models.Window(t.Model)
	return cmp.Or(t.Window, published)
}
