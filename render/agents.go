package render

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"

	"flame/agents"
	"flame/agents/definition"
	"flame/agents/plan"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/core/op"
	"flame/hosts"
)

// answerOf returns the facts in the first lines of an answer about an agent.
func answerOf(run record.Agent) op.AgentAnswer {
	return op.AgentAnswer{
		ID: run.ID, State: StateWord(run), Type: run.Type, Description: core.OneLine(run.Description, MaxGoal),
		Frame: run.Frame, Depth: run.Depth, Host: run.Host, Session: run.Session,
	}
}

// StateWord returns the state of an agent in a word. A cancelled agent is stopping until it ends.
func StateWord(run record.Agent) string {
	if run.CancelledBy != "" && !run.State.Ended() {
		return "stopping"
	}
	return string(run.State)
}

// LastWords lists what an agent said and did last; it is empty if that is nothing.
func LastWords(rounds []agents.Round, now core.Millis) string {
	return Bullets("Now:", lo.Map(rounds, func(r agents.Round, _ int) string {
		parts := []string{r.Text}
		for _, call := range r.Calls {
			parts = append(parts, strings.TrimSpace(call.Tool+" "+Short(call.Input)))
		}
		return strings.TrimSpace(Time(r.At, now) + " " + strings.Join(lo.Compact(parts), " · "))
	}))
}

// maxSilence is how long an agent may print nothing before its state line mentions it: hosts
// report each step, and most steps take less.
const maxSilence = core.Millis(10_000)

// AgentLine returns the progress of an agent at a time.
func AgentLine(run record.Agent, now core.Millis) string {
	p := run.Progress
	line := fmt.Sprintf("%s: %s, %s, %s", answerOf(run).Head(), Count(p.ToolCalls, "tool call"), core.Tokens(p.Tokens()), Elapsed(run, now))
	if p.Cost() > 0 {
		line += ", " + core.Money(p.Cost())
	}
	if run.State.Ended() {
		if run.Outcome != nil && len(run.Outcome.Refused) > 0 {
			line += " " + core.OneLine(run.Outcome.Lacked(), 300)
		}
		return line
	}
	if p.LastTool != "" {
		line += ", last " + p.LastTool
	}
	if silent := now - p.LastLine; p.LastLine > 0 && silent > maxSilence {
		line += ", silent for " + core.Span(silent)
	}
	return line
}

// Elapsed returns how long an agent has run.
func Elapsed(run record.Agent, now core.Millis) string {
	end := run.EndedAt
	if !run.State.Ended() {
		end = now
	}
	return core.Span(max(end, run.Progress.LastLine, run.CreatedAt) - run.CreatedAt)
}

// Spawned returns the answer to a spawn.
func Spawned(a *agents.Agents, run record.Agent) string {
	if run.State.Ended() {
		return Agent(a, run)
	}
	text := Agent(a, run) + fmt.Sprintf("It works on its own now: do not do its work, carry on with yours. Your next context after it ends will say so. "+
		"%s shows its progress, %s waits, %s returns its outcome.", op.AgentStatus, op.AgentWait, op.AgentResult)
	if !a.KeepAfterSession {
		text += " It ends with your session; in a one-shot run, wait for it."
	}
	return text
}

// Agent describes an agent, its permissions and limits, and its progress.
func Agent(a *agents.Agents, run record.Agent) string {
	var b strings.Builder
	b.WriteString(AgentLine(run, a.Project.Now()) + "\n" + answerOf(run).Place())
	fmt.Fprintf(&b, "Mode: %s\nTools: %s\n", modeText(run.Mode), UsableTools(a.Hosts, run))
	b.WriteString(Field("To allow more", wayOut(run)))
	b.WriteString(Field("Model", run.Model))
	fmt.Fprintf(&b, "Limits: %s\n", limitsText(run.Limits))
	fmt.Fprintf(&b, "Output: %s\n", filepath.Join(a.Folder(run.ID), supervise.OutputFile))
	b.WriteString(Field("Worktree", run.Worktree))
	b.WriteString(Bullets("Warnings:", run.Warnings))
	if o := run.Outcome; o != nil {
		fmt.Fprintf(&b, "Ended: %s\n", o.Reason)
		b.WriteString(Field("Error", core.OneLine(o.Error, 500)))
	}
	return b.String()
}

// modeText returns a mode and where it came from.
func modeText(m record.ModeChoice) string {
	text := string(m.Effective)
	if m.CappedBy != "" {
		text += fmt.Sprintf(" (%s was requested; the %s allows no more)", m.Requested, m.CappedBy)
	}
	if m.Grant != "" {
		text += " (by " + m.Grant + ")"
	}
	return text
}

// wayOut returns the command with which a person allows the mode that an agent requested but did not get.
func wayOut(run record.Agent) string {
	if run.Mode.CappedBy == "" || run.State.Ended() {
		return ""
	}
	agent := ""
	if run.Source.Kind != definition.Call {
		agent = " --agent " + quoted(core.OneLine(run.Type, plan.MaxName))
	}
	return fmt.Sprintf("a person runs `flame agents grant %s%s --reason WHY` at a terminal, before the agent is started", run.Mode.Requested, agent)
}

// quoted quotes a name for a shell, if it needs that.
func quoted(name string) string {
	if strings.ContainsAny(name, " ") {
		return "'" + name + "'"
	}
	return name
}

// UsableTools returns the tools that an agent can use in its mode.
func UsableTools(known hosts.Registry, run record.Agent) string {
	if run.Mode.Effective != hosts.ModePlan {
		return run.Tools.String()
	}
	changing := known.Of(run.Host).Tools.Own.Names(hosts.EffectEdit, hosts.EffectRun)
	tools := run.Tools
	tools.Allowed = slices.DeleteFunc(slices.Clone(tools.Allowed), func(tool string) bool {
		name, _ := hosts.SplitRule(tool)
		return !slices.Contains(run.Commands, tool) && slices.ContainsFunc(changing, func(other string) bool { return strings.EqualFold(other, name) })
	})
	if !tools.Limited {
		tools = tools.Without(known.Of(run.Host).Tools.Own.Current().Names(hosts.EffectEdit, hosts.EffectRun)...)
	}
	if len(run.Commands) > 0 {
		return tools.String() + " (the mode plan reads, and runs these commands)"
	}
	return tools.String() + " (the mode plan only reads)"
}

func limitsText(l supervise.Limits) string {
	var parts []string
	for _, clock := range []struct {
		name string
		time time.Duration
	}{{"in total", l.Wall}, {"without a sign of life", l.Idle}} {
		if clock.time > 0 {
			parts = append(parts, core.Span(clock.time.Milliseconds())+" "+clock.name)
		}
	}
	if l.Tokens > 0 {
		parts = append(parts, core.Tokens(l.Tokens))
	}
	if l.CostUSD > 0 {
		parts = append(parts, core.Money(l.CostUSD))
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

// Result returns everything an agent has produced by a time, with at most most
// characters of its answer after offset (0: all).
func Result(r record.Result, now core.Millis, offset, most int) string {
	var b strings.Builder
	b.WriteString(AgentLine(r.Agent, now) + "\n" + op.AgentAnswer{Frame: r.Frame}.Place())
	b.WriteString(Bullets("Warnings:", r.Warnings))
	if r.StopReason != "" {
		fmt.Fprintf(&b, "Ended: %s\n", r.StopReason)
	}
	b.WriteString(Field("Retried by", r.Next))
	if o := r.Outcome; o != nil {
		b.WriteString(Field("Error", core.OneLine(o.Error, 1_000)))
		if r.State != core.AgentCompleted {
			b.WriteString(Field("Stderr", core.OneLine(o.Stderr, 1_000)))
		}
	}
	return b.String() + Work(r, offset, most)
}

// Work returns the products and the usage of an agent.
func Work(r record.Result, offset, most int) string {
	var b strings.Builder
	b.WriteString(Field("Changes that flame could not read", r.Unread))
	b.WriteString(Bullets("Files changed:", r.Files) + Bullets("Artifacts:", r.Artifacts) + Bullets("Decisions:", r.Decisions))
	if r.Confidence != nil {
		fmt.Fprintf(&b, "Confidence: %v\n", *r.Confidence)
	}
	fmt.Fprintf(&b, "Usage: %s, %s", Usage(r.Usage), Count(r.Progress.Attempt, "retry"))
	if r.Thinking > 0 {
		fmt.Fprintf(&b, "; about %s out were reasoning", core.Tokens(r.Thinking))
	}
	b.WriteByte('\n')
	if r.Partial && r.State != core.AgentCompleted {
		fmt.Fprintf(&b, "Incomplete. Everything it printed is in %s\n", r.Folder)
	}
	if o := r.Outcome; r.Text != "" || o == nil || o.Error == "" { // an error is shown above, and explains why there is no text
		b.WriteString("\n" + answerText(r, offset, most))
	}
	return b.String()
}

// answerText returns the part of an answer from offset on.
func answerText(r record.Result, offset, most int) string {
	text := []rune(r.Text)
	switch {
	case len(text) == 0 && r.State.Ended():
		return "(" + string(r.State) + " with no text)\n"
	case len(text) == 0:
		return "(no text so far)\n"
	case offset >= len(text):
		return fmt.Sprintf("(the answer ends at %d)\n", len(text))
	}
	text = text[offset:]
	if most == 0 || len(text) <= most {
		return string(text) + "\n"
	}
	return string(text[:most]) + fmt.Sprintf("\n… %s more: %s with offset %d\n", Count(len(text)-most, "character"), op.AgentResult, offset+most)
}

// noAgents replaces an empty list of agents: the project has no agents, or none match the
// filter.
func noAgents(all []record.Agent, which string) string {
	switch {
	case len(all) > 0 && which == "running":
		return fmt.Sprintf("No agent is running; %s lists those that have ended.", op.AgentList)
	case len(all) > 0:
		return fmt.Sprintf("No agent has ended; %s lists those that are running.", op.AgentList)
	}
	return fmt.Sprintf("No agents; %s starts one.", op.Spawn)
}

// Agents lists the agents that match a filter, as they are at a time.
func Agents(all []record.Agent, which string, now core.Millis) string {
	runs := record.Filter(all, which)
	if len(runs) == 0 {
		return noAgents(all, which)
	}
	return listed(runs, func(run record.Agent) string {
		if run.ParentAgent == "" {
			return AgentLine(run, now)
		}
		return AgentLine(run, now) + ", started by " + run.ParentAgent
	})
}

// Cancelled lists the agents that flame stops to cancel run, for models and people.
func Cancelled(run record.Agent, stopped []record.Agent) string {
	if len(stopped) == 0 {
		return fmt.Sprintf("%s had already ended: %s.", run.ID, run.State)
	}
	return Bullets("Told to stop:", lo.Map(stopped, func(run record.Agent, _ int) string { return answerOf(run).Head() })) +
		fmt.Sprintf("What they did is kept; their frames become blocked. %s shows how far they got.", op.AgentResult)
}

// AgentsTable returns the agents that match a filter, one per line of a terminal
// of that width, as they are at a time.
func AgentsTable(all []record.Agent, which string, now core.Millis, width int) string {
	runs := record.Filter(all, which)
	if len(runs) == 0 {
		return noAgents(all, which)
	}
	rows := []string{"ID\tSTATE\tTYPE\tSTARTED\tTIME\tCOST\tTASK"}
	for _, run := range runs {
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s", run.ID, StateWord(run), core.OneLine(run.Type, 30),
			Time(run.CreatedAt, now), Elapsed(run, now), costOf(run.Progress.Cost()), Short(run.Description)))
	}
	return Table(width, rows)
}

// costOf returns the cost of an agent in a table, or a dash if it is not known.
func costOf(usd float64) string {
	if usd == 0 {
		return "-"
	}
	return core.Money(usd)
}
