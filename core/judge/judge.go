package judge

import (
	"cmp"
	"slices"
	"strings"

	"flame/core"
)

// Push evaluates whether the user's prompt needs a child frame. The goal is that of the planned
// child that the prompt takes up, or else what the prompt asks for.
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

// Pop evaluates whether the current frame should end, and with which status.
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
		if by := e.By(forPop(ending, status), cfg); by.Confidence > likeliest.Confidence || likeliest.Type == "" {
			likeliest, likeliest.Status = by, status
		}
	}
	return likeliest
}

// never is the weight of a sign that rules out a push.
const never = -1000

// forPush returns the signals for and against a frame for the prompt, and the goal that it would
// have.
func forPush(m Moment) (signals []core.Signal, goal string) {
	text := head(m.Prompt, maxText)
	goal = goalOf(text)
	only := func(heuristic string, points int, because string) []core.Signal {
		return []core.Signal{{Heuristic: heuristic, Points: points, Because: because}}
	}
	switch {
	case strings.TrimSpace(text) == "" || core.SaysGoOn(text):
		return nil, goal
	case ofHost(text):
		return only("context_switch", never, "the host says this itself"), goal
	case m.begun():
		return only("duration", never, "nothing was done in the frame before"), goal
	}
	r := read(m)
	if child := r.takesUp(); child != "" {
		return only("context_switch", 100, `the prompt takes up the planned "`+core.OneLine(child, 80)+`"`), child
	}
	if r.goal != "" {
		goal = core.OneLine(r.goal, maxGoal)
	}
	return weigh(rules("pushes"), &r.facts), goal
}

// begun reports whether the frame begins with the prompt.
func (m Moment) begun() bool {
	return m.Frame.Messages <= 1 && len(m.Recent) == 0 && len(m.Turn.Calls) == 0 && len(m.Turn.Files) == 0 && len(m.Frame.Files) == 0
}

// rulesOn returns the rules on ending a frame with the status.
func rulesOn(status core.Status) []rule {
	all, own := rules("any end"), rules(string(status))
	if status == core.Blocked {
		own = slices.Concat(rules("waiting"), own)
	}
	all = slices.Concat(all, own)
	for i := range all {
		all[i].Heuristic = cmp.Or(all[i].Heuristic, own[0].Heuristic)
	}
	return all
}

// forPop returns the signals for and against ending the frame with the status.
func forPop(e *ending, status core.Status) []core.Signal {
	lost := e.says("quits") + e.says("gives up") + e.says("impossible") + e.says("defeated")
	if status == core.Failed && lost == "" || status == core.Blocked && e.stuck == 0 {
		return nil
	}
	return weigh(rulesOn(status), &e.facts)
}

// maxGoal is the length of the goal that a prompt gives a frame, in characters.
const maxGoal = 200

// goalOf returns the goal of a frame for what a prompt asks: its first line.
func goalOf(prompt string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(head(prompt, maxText)), "\n")
	return core.OneLine(line, maxGoal)
}

// files returns the files changed in the frame, each once.
func (m Moment) files() []string {
	all := slices.Concat(m.Frame.Files, m.Turn.Files)
	slices.Sort(all)
	return slices.Compact(all)
}

// window returns the size of the model's context window in tokens; 0: unknown.
func (t Turn) window() int {
	published, _ := core.ModelWindow(t.Model)
	return cmp.Or(t.Window, published)
}
