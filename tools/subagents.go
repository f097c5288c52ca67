package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/samber/lo"

	"flame/config/env"
	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/children"
	"flame/render"
)

func subagentTools(p *project.Project) []Tool {
	d := subagentDoor{p}
	return []Tool{
		define(op.SubagentConfig, "Show or change when native subagents get their own frames. Changes hold for this project.", sets, d.config),
		define("flame_subagent_stats", "Count the native subagents seen: how many got frames, were skipped, completed.", sets, d.stats),
		define("flame_subagent_complete", "End the frame that a subagent session left open.", sets, d.complete),
		define(op.SubagentList, "List the tracked subagent sessions.", reads, d.list),
	}
}

type subagentDoor struct{ p *project.Project }

type subagentConfigArgs struct {
	Enabled             *bool  `json:"enabled,omitempty"`
	MinDuration         *int64 `json:"minDuration,omitempty" jsonschema:"ms"`
	MinMessageCount     *int   `json:"minMessageCount,omitempty"`
	AutoCompleteOnIdle  *bool  `json:"autoCompleteOnIdle,omitempty"`
	IdleCompletionDelay *int64 `json:"idleCompletionDelay,omitempty" jsonschema:"ms"`
	AddPattern          string `json:"addPattern,omitempty" jsonschema:"regular expression"`
	RemovePattern       string `json:"removePattern,omitempty"`
	InjectParentContext *bool  `json:"injectParentContext,omitempty"`
	PropagateSummaries  *bool  `json:"propagateSummaries,omitempty"`
}

// subagentVariables names the environment variables behind the settings.
const subagentVariables = env.SubagentEnabled + ", " + env.SubagentMinDuration + ", " + env.SubagentMinMessages + ", " +
	env.SubagentAutoComplete + ", " + env.SubagentIdleDelay + ", " + env.SubagentPatterns

func (d subagentDoor) config(ctx context.Context, by project.Caller, in subagentConfigArgs) (string, error) {
	now, err := children.Configure(ctx, d.p, by, children.Patch{
		Enabled: in.Enabled, MinDuration: in.MinDuration, MinMessageCount: in.MinMessageCount,
		AutoCompleteOnIdle: in.AutoCompleteOnIdle, IdleCompletionDelay: in.IdleCompletionDelay,
		InjectParentContext: in.InjectParentContext, PropagateSummaries: in.PropagateSummaries,
	}, in.AddPattern, in.RemovePattern)
	if err != nil {
		return "", err
	}
	from := sourcesOf(now.Changed, d.p.Subagents, core.DefaultSubagentConfig())
	text := updatedLine(now.Updated) + from.line("enabled", yesNo(now.Enabled)) + from.line("minDuration", exactly(now.MinDuration)) +
		from.line("minMessageCount", fmt.Sprint(now.MinMessageCount)) + from.line("autoCompleteOnIdle", yesNo(now.AutoCompleteOnIdle)) +
		from.line("idleCompletionDelay", exactly(now.IdleCompletionDelay)) + from.line("injectParentContext", yesNo(now.InjectParentContext)) +
		from.line("propagateSummaries", yesNo(now.PropagateSummaries)) + from.line("subagentPatterns", "")
	for i, pattern := range now.SubagentPatterns {
		text += fmt.Sprintf("  %d. %s\n", i+1, pattern)
	}
	return text + setBy(subagentVariables), nil
}

type statsArgs struct {
	Reset      bool  `json:"reset,omitempty"`
	ShowActive *bool `json:"showActive,omitempty" jsonschema:"default true"`
}

func (d subagentDoor) stats(ctx context.Context, by project.Caller, in statsArgs) (string, error) {
	if in.Reset {
		return "Subagent counters are now zero; tracked sessions stay.", children.ResetStats(ctx, d.p, by)
	}
	all, err := children.Sessions(ctx, d.p, by)
	active := lo.CountBy(all.Sessions, func(s core.Session) bool { return !s.IsCompleted })
	s := all.Stats
	var b strings.Builder
	fmt.Fprintf(&b, "Subagents: %s, active %d\n", render.Subagents(s), active)
	if s.TotalDetected > 0 {
		fmt.Fprintf(&b, "Rates: frames %s, skipped %s of those detected; auto-completed %s, manually completed %s, "+
			"ended by their host %s of the frames\n",
			core.Percent(s.FramesCreated, s.TotalDetected), core.Percent(s.SkippedByHeuristics, s.TotalDetected),
			core.Percent(s.AutoCompleted, s.FramesCreated), core.Percent(s.ManuallyCompleted, s.FramesCreated), core.Percent(s.EndedByHost, s.FramesCreated))
	}
	fmt.Fprintf(&b, "Last reset: %s; sessions tracked: %d; integration %s\n", orNever(s.LastReset), len(all.Sessions), onOff(all.Enabled))
	for _, proposed := range all.Proposed {
		b.WriteString(render.TitlePattern(proposed) + "\n")
	}
	if in.ShowActive == nil || *in.ShowActive {
		now := d.p.Now()
		for _, session := range all.Sessions {
			if !session.IsCompleted {
				b.WriteString(activeLine(session, now))
			}
		}
	}
	return b.String(), err
}

func orNever(t core.Millis) string {
	if t == 0 {
		return "never"
	}
	return render.Time(t, 0)
}

func activeLine(s core.Session, now core.Millis) string {
	return fmt.Sprintf("- %s %s: parent %s, matches a pattern %s, frame %s, %s, started %s, last active %s, idle %s\n",
		s.ID, render.Quote(s.Title), s.Parent, yesNo(s.IsSubagent), yesNo(s.HasFrame()), render.Count(s.MessageCount, "message"),
		render.Ago(now, s.CreatedAt), render.Ago(now, s.LastActivityAt), yesNo(s.Idle()))
}

type completeArgs struct {
	SessionID string    `json:"sessionID,omitempty" jsonschema:"default the current one"`
	Status    endStatus `json:"status,omitempty" jsonschema:"default completed"`
	Summary   string    `json:"summary,omitempty"`
}

func (d subagentDoor) complete(ctx context.Context, by project.Caller, in completeArgs) (string, error) {
	status := core.Completed
	if in.Status != "" {
		status = core.Status(in.Status)
	}
	done, err := children.Complete(ctx, d.p, by, in.SessionID, status, in.Summary)
	if done.Already {
		return fmt.Sprintf("Subagent session %s was completed before; nothing changed.", done.Session.ID), nil
	}
	return fmt.Sprintf("%s is %s (subagent session %s).\n%sIts parent sees the summary among its completed children.",
		done.Frame.ID, done.Frame.Status, done.Session.ID, render.Field("Summary", core.OneLine(done.Frame.Summary, render.MaxGoal))), err
}

type listArgs struct {
	Filter string `json:"filter,omitempty" enum:"all,active,completed,with-frame,without-frame" jsonschema:"default all"`
}

// filters says which sessions each filter keeps.
var filters = map[string]func(core.Session) bool{
	"":              func(core.Session) bool { return true },
	"all":           func(core.Session) bool { return true },
	"active":        func(s core.Session) bool { return !s.IsCompleted },
	"completed":     func(s core.Session) bool { return s.IsCompleted },
	"with-frame":    core.Session.HasFrame,
	"without-frame": func(s core.Session) bool { return !s.HasFrame() },
}

// titleWidth is where a listed title is cut.
const titleWidth = 30

func (d subagentDoor) list(ctx context.Context, by project.Caller, in listArgs) (string, error) {
	all, err := children.Sessions(ctx, d.p, by)
	var b strings.Builder
	n, now := 0, d.p.Now()
	for _, s := range all.Sessions {
		if !filters[in.Filter](s) {
			continue
		}
		n++
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d | %s | %s |\n", s.ID, s.Parent, core.OneLine(s.Title, titleWidth),
			yesNo(s.HasFrame()), s.MessageCount, sessionState(s), render.Duration(int64(now-s.CreatedAt)))
	}
	if n == 0 {
		return "No subagent sessions match.", err
	}
	const head = "| session | parent | title | frame | messages | state | age |\n|---|---|---|---|---|---|---|\n"
	return render.Count(n, "subagent session") + "\n" + head + b.String(), err
}

func sessionState(s core.Session) string {
	switch {
	case s.IsCompleted:
		return "done"
	case s.Idle():
		return "idle"
	}
	return "active"
}
