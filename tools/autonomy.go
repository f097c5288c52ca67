package tools

import (
	"context"
	"fmt"
	"strings"

	"flame/config/env"
	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/autonomy"
	"flame/render"
)

func autonomyTools(p *project.Project) []Tool {
	d := autonomyDoor{p}
	return []Tool{
		define("flame_autonomy_config", "Show or change how flame suggests pushes and pops. Changes hold for this project.", sets, d.config),
		define("flame_should_push", "Ask whether a new frame is due. flame fills in what you leave out from its records.", writes, d.shouldPush),
		define("flame_should_pop", "Ask whether the current frame should end, and how. flame fills in what you leave out from its records.", writes, d.shouldPop),
		define("flame_auto_suggest", "Show pending suggestions, turn them on or off in contexts, or drop them.", sets, d.autoSuggest),
		define("flame_autonomy_stats", "Count suggestions and their outcomes.", sets, d.stats),
	}
}

type autonomyDoor struct{ p *project.Project }

type autonomyConfigArgs struct {
	Level            *core.AutonomyLevel `json:"level,omitempty" enum:"manual,suggest,auto"`
	PushThreshold    *int                `json:"pushThreshold,omitempty" jsonschema:"0 to 100"`
	PopThreshold     *int                `json:"popThreshold,omitempty" jsonschema:"0 to 100"`
	SuggestInContext *bool               `json:"suggestInContext,omitempty"`
	EnableHeuristic  string              `json:"enableHeuristic,omitempty"`
	DisableHeuristic string              `json:"disableHeuristic,omitempty"`
	Reset            bool                `json:"reset,omitempty" jsonschema:"back to the environment's settings"`
}

// levels are the meanings of the levels of autonomy.
var levels = map[core.AutonomyLevel]string{
	core.AutonomyManual:  "answers when asked, suggests nothing",
	core.AutonomySuggest: "puts suggestions into contexts",
	core.AutonomyAuto:    "as suggest, and performs what is due when the user asks or the turn ends",
}

// autonomyVariables names the environment variables behind the settings.
const autonomyVariables = env.AutonomyLevel + ", " + env.PushThreshold + ", " + env.PopThreshold + ", " + env.SuggestInContext + ", " + env.EnabledHeuristics

func (d autonomyDoor) config(ctx context.Context, by project.Caller, in autonomyConfigArgs) (string, error) {
	if in.Reset {
		state, err := autonomy.Reset(ctx, d.p, by, true)
		return "Settings, counters and suggestions of this project are reset.\n" + d.settingsText(state), err
	}
	patch := autonomy.Patch{Level: in.Level, PushThreshold: in.PushThreshold, PopThreshold: in.PopThreshold, SuggestInContext: in.SuggestInContext}
	state, err := autonomy.Configure(ctx, d.p, by, patch, in.EnableHeuristic, in.DisableHeuristic)
	return updatedLine(state.Updated) + d.settingsText(state) + countsText(state.Stats) + setBy(autonomyVariables), err
}

func (d autonomyDoor) settingsText(state autonomy.State) string {
	c, from := state.Config, sourcesOf(state.Changed, d.p.Autonomy, core.DefaultAutonomyConfig())
	text := from.line("level", string(c.Level)+", "+levels[c.Level]) +
		from.line("pushThreshold", fmt.Sprint(c.PushThreshold)) +
		from.line("popThreshold", fmt.Sprint(c.PopThreshold)) +
		from.line("suggestInContext", yesNo(c.SuggestInContext)) + from.line("enabledHeuristics", "")
	for _, h := range core.Heuristics() {
		text += fmt.Sprintf("  %s (%s): %s\n", h.Name, h.Family, onOff(c.Enabled(h.Name)))
	}
	return text
}

func countsText(s core.AutonomyStats) string {
	text := fmt.Sprintf("Suggestions: %d (%d push, %d pop); acted on %d, ignored %d",
		s.TotalSuggestions, s.PushSuggestions, s.PopSuggestions, s.ActedUpon, s.Ignored)
	if s.TotalSuggestions > 0 {
		text += fmt.Sprintf(", action rate %s", core.Percent(s.ActedUpon, s.TotalSuggestions))
	}
	return fmt.Sprintf("%s\nAuto actions: %d pushes, %d pops; last reset: %s\n", text, s.AutoPushes, s.AutoPops, orNever(s.LastReset))
}

type shouldPushArgs struct {
	PotentialGoal     string    `json:"potentialGoal,omitempty"`
	RecentMessages    *int      `json:"recentMessages,omitempty"`
	RecentFileChanges *[]string `json:"recentFileChanges,omitempty"`
	ErrorCount        *int      `json:"errorCount,omitempty"`
	TokenCount        *int      `json:"tokenCount,omitempty"`
	FrameID           string    `json:"frameID,omitempty"`
}

func (d autonomyDoor) shouldPush(ctx context.Context, by project.Caller, in shouldPushArgs) (string, error) {
	advice, err := autonomy.ShouldPush(ctx, d.p, by, autonomy.PushArgs{
		Frame: in.FrameID, PotentialGoal: in.PotentialGoal, Messages: in.RecentMessages, Files: in.RecentFileChanges,
		Errors: in.ErrorCount, Tokens: in.TokenCount,
	})
	return adviceText("Push", advice) + render.Field("Goal", advice.Goal) + queuedText(advice), err
}

type shouldPopArgs struct {
	SuccessSignals  []string `json:"successSignals,omitempty"`
	FailureSignals  []string `json:"failureSignals,omitempty"`
	NoProgressTurns *int     `json:"noProgressTurns,omitempty"`
	TokenCount      *int     `json:"tokenCount,omitempty"`
	ContextLimit    int      `json:"contextLimit,omitempty" jsonschema:"tokens, default 100000"`
	FrameID         string   `json:"frameID,omitempty"`
}

func (d autonomyDoor) shouldPop(ctx context.Context, by project.Caller, in shouldPopArgs) (string, error) {
	advice, err := autonomy.ShouldPop(ctx, d.p, by, autonomy.PopArgs{
		Frame: in.FrameID, SuccessSignals: in.SuccessSignals, FailureSignals: in.FailureSignals,
		NoProgressTurns: in.NoProgressTurns, Tokens: in.TokenCount, ContextLimit: in.ContextLimit,
	})
	if err != nil {
		return "", err
	}
	text := adviceText("Pop", advice) + render.Field("Suggested status", string(advice.Status)) + queuedText(advice)
	if advice.Frame.Parent == "" {
		text += fmt.Sprintf("This frame is a root: it ends only when %s names it by %s.\n", op.Pop, op.ArgFrame)
	}
	return text, nil
}

func adviceText(what string, a autonomy.Advice) string {
	answer := "NO"
	if a.Recommended {
		answer = "YES"
	}
	where := "No current frame."
	if a.Frame.ID != "" {
		where = render.Frame(a.Frame)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s: %s, confidence %d of %d needed, level %s\n", where, what, answer, a.Confidence, a.Threshold, a.Level)
	fmt.Fprintf(&b, "Reason: %s\n", a.Reason)
	if len(a.Scores) == 0 {
		return b.String() + "All heuristics that tell are off.\n"
	}
	fmt.Fprintf(&b, "The confidence is the noisy-or of these scores; their mean is %d:\n", a.Mean)
	for _, s := range a.Scores {
		fmt.Fprintf(&b, "  %s: %d (%s)\n", s.Name, s.Score, s.Facts)
	}
	return b.String()
}

func queuedText(a autonomy.Advice) string {
	switch {
	case !a.Queued:
		return ""
	case a.Level == core.AutonomyAuto:
		return "It is in your context; do it now if you agree. What is still due at the next prompt or the end of the turn happens by itself.\n"
	}
	return "The suggestion stays in your context until you act on it, for 5 minutes.\n"
}

type autoSuggestArgs struct {
	Enable       *bool `json:"enable,omitempty"`
	ClearPending bool  `json:"clearPending,omitempty"`
	ShowHistory  bool  `json:"showHistory,omitempty"`
}

// historyShown is how many past suggestions are listed.
const historyShown = 20

func (d autonomyDoor) autoSuggest(ctx context.Context, by project.Caller, in autoSuggestArgs) (string, error) {
	var b strings.Builder
	if in.ClearPending {
		n, err := autonomy.ClearSuggestions(ctx, d.p, by)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s dropped.\n", render.Count(n, "pending suggestion"))
	}
	state, err := autonomy.Configure(ctx, d.p, by, autonomy.Patch{SuggestInContext: in.Enable}, "", "")
	if err != nil {
		return "", err
	}
	now := d.p.Now()
	fmt.Fprintf(&b, "Suggestions in contexts: %s, level %s\n%d pending\n", onOff(state.Config.SuggestInContext), state.Config.Level, len(state.Pending))
	for _, s := range state.Pending {
		fmt.Fprintf(&b, "- %s %s, confidence %d: %s, %s\n", s.Type, render.Quote(render.Suggested(s)), s.Confidence, s.Reason, render.Ago(now, s.CreatedAt))
	}
	if in.ShowHistory {
		b.WriteString(render.History(state.History, historyShown))
	}
	if state.Preview == "" {
		b.WriteString("None of this is in contexts now.\n")
	} else {
		b.WriteString("In your context:\n" + state.Preview + "\n")
	}
	return b.String(), nil
}

type autonomyStatsArgs struct {
	Reset bool `json:"reset,omitempty"`
}

func (d autonomyDoor) stats(ctx context.Context, by project.Caller, in autonomyStatsArgs) (string, error) {
	if in.Reset {
		_, err := autonomy.Reset(ctx, d.p, by, false)
		return "Counters, queue and history are now empty.", err
	}
	state, err := autonomy.StateOf(ctx, d.p, by)
	return d.settingsText(state) + countsText(state.Stats) +
		fmt.Sprintf("Pending here: %d; history: %d\n", len(state.Pending), len(state.History)), err
}
