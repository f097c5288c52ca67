package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"flame/config/env"
	"flame/core"
	"flame/core/op"
	"flame/project"
	"flame/project/children"
	"flame/render"
)

func subagentTools(p *project.Project) []Tool {
	d := subagentDoor{p}
	return slices.Concat([]Tool{
		define(op.SubagentConfig, "Show or change when native subagents get frames of their own. Changes hold for this project.", sets, d.config),
		define("flame_subagent_stats", "Count the native subagents seen: how many got frames, were skipped, completed.", sets, d.stats),
	}, direct(
		define("flame_subagent_complete", "End the frame that a subagent session left open.", sets, d.complete),
	), []Tool{
		define(op.SubagentList, "List the subagent sessions that are tracked.", reads, d.list),
	})
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

// subagentVariables are the environment variables behind the settings, in the
// order shown.
var subagentVariables = []struct{ name, setting string }{
	{env.SubagentEnabled, "enabled"},
	{env.SubagentMinDuration, "minDuration"},
	{env.SubagentMinMessages, "minMessageCount"},
	{env.SubagentAutoComplete, "autoCompleteOnIdle"},
	{env.SubagentIdleDelay, "idleCompletionDelay"},
	{env.SubagentPatterns, "subagentPatterns"},
}

func (d subagentDoor) config(ctx context.Context, by project.Caller, in subagentConfigArgs) (string, error) {
	now, err := children.Configure(ctx, d.p, by, children.Patch{
		Enabled: in.Enabled, MinDuration: in.MinDuration, MinMessageCount: in.MinMessageCount,
		AutoCompleteOnIdle: in.AutoCompleteOnIdle, IdleCompletionDelay: in.IdleCompletionDelay,
		InjectParentContext: in.InjectParentContext, PropagateSummaries: in.PropagateSummaries,
	}, in.AddPattern, in.RemovePattern)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(updatedLine(now.Updated))
	from := sourcesOf(now.Changed, d.p.Subagents, core.DefaultSubagentConfig())
	for _, row := range [][2]string{
		{"enabled", yesNo(now.Enabled)},
		{"minDuration", seconds(now.MinDuration)},
		{"minMessageCount", fmt.Sprint(now.MinMessageCount)},
		{"autoCompleteOnIdle", yesNo(now.AutoCompleteOnIdle)},
		{"idleCompletionDelay", seconds(now.IdleCompletionDelay)},
		{"injectParentContext", yesNo(now.InjectParentContext)},
		{"propagateSummaries", yesNo(now.PropagateSummaries)},
	} {
		b.WriteString(from.line(row[0], row[1]))
	}
	b.WriteString(from.line("subagentPatterns", ""))
	for i, pattern := range now.SubagentPatterns {
		fmt.Fprintf(&b, "  %d. %s\n", i+1, pattern)
	}
	for _, v := range subagentVariables {
		fmt.Fprintf(&b, "%s sets %s\n", v.name, v.setting)
	}
	return b.String(), nil
}

func updatedLine(updated bool) string {
	if updated {
		return "Settings updated for this project.\n"
	}
	return ""
}

// A sourced tells where the values of settings come from.
type sourced struct {
	changed     []string // names of those that a tool set for this project
	environment map[string]bool
}

// sourcesOf returns the sources of settings: of those that no tool set, the ones that
// differ from the defaults were set by the environment.
func sourcesOf(changed []string, settings, defaults any) sourced {
	fields := func(v any) (values map[string]json.RawMessage) {
		raw, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(raw, &values)
		}
		if err != nil {
			panic("settings are no JSON object: " + err.Error()) // a programmer's mistake
		}
		return values
	}
	s, usual := sourced{changed, map[string]bool{}}, fields(defaults)
	for name, value := range fields(settings) {
		s.environment[name] = !bytes.Equal(value, usual[name])
	}
	return s
}

// line shows a setting and where its value comes from.
func (s sourced) line(name, value string) string {
	source := "default"
	switch {
	case slices.Contains(s.changed, name):
		source = "this project"
	case s.environment[name]:
		source = "environment"
	}
	return fmt.Sprintf("%s: %s (%s)\n", name, value, source)
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
	if err != nil {
		return "", err
	}
	active := 0
	for _, s := range all.Sessions {
		if !s.IsCompleted {
			active++
		}
	}
	s := all.Stats
	var b strings.Builder
	fmt.Fprintf(&b, "Subagents: %s, active %d\n", render.Subagents(s), active)
	if s.TotalDetected > 0 {
		fmt.Fprintf(&b, "Rates: frames %.1f %%, skipped %.1f %% of those detected; auto-completed %.1f %%, manually completed %.1f %%, "+
			"ended by their host %.1f %% of the frames\n", s.FrameRate(), s.SkipRate(), s.AutoCompleteRate(), s.ManualRate(), s.HostRate())
	}
	fmt.Fprintf(&b, "Last reset: %s; sessions tracked: %d; integration %s\n", orNever(s.LastReset), len(all.Sessions), onOff(all.Enabled))
	if in.ShowActive == nil || *in.ShowActive {
		now := d.p.Now()
		for _, session := range all.Sessions {
			if !session.IsCompleted {
				b.WriteString(activeLine(session, now))
			}
		}
	}
	return b.String(), nil
}

func orNever(t core.Millis) string {
	if t == 0 {
		return "never"
	}
	return render.When(t)
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
	if err != nil {
		return "", err
	}
	if done.Already {
		return fmt.Sprintf("Subagent session %s was completed before; nothing changed.", done.Session.ID), nil
	}
	return fmt.Sprintf("%s is %s (subagent session %s).\n%sIts parent sees the summary among its completed children.",
		done.Frame.ID, done.Frame.Status, done.Session.ID, render.Field("Summary", core.OneLine(done.Frame.Summary, render.MaxGoal))), nil
}

// A subagentFilter says which subagents are listed.
type subagentFilter string

// Values returns the filters.
func (subagentFilter) Values() []string {
	return []string{"all", "active", "completed", "with-frame", "without-frame"}
}

type listArgs struct {
	Filter subagentFilter `json:"filter,omitempty" jsonschema:"default all"`
}

// filters says which sessions each filter keeps.
var filters = map[subagentFilter]func(core.Session) bool{
	"":              func(core.Session) bool { return true },
	"all":           func(core.Session) bool { return true },
	"active":        func(s core.Session) bool { return !s.IsCompleted },
	"completed":     func(s core.Session) bool { return s.IsCompleted },
	"with-frame":    core.Session.HasFrame,
	"without-frame": func(s core.Session) bool { return !s.HasFrame() },
}

// titleWidth is where a listed title is cut (spec: tools, flame_subagent_list).
const titleWidth = 30

func (d subagentDoor) list(ctx context.Context, by project.Caller, in listArgs) (string, error) {
	all, err := children.Sessions(ctx, d.p, by)
	if err != nil {
		return "", err
	}
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
		return "No subagent sessions match.", nil
	}
	const head = "| session | parent | title | frame | messages | state | age |\n|---|---|---|---|---|---|---|\n"
	return render.Count(n, "subagent session") + "\n" + head + b.String(), nil
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
