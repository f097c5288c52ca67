package render

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/samber/lo"

	"flame/agents"
	"flame/config/env"
	"flame/core"
	"flame/core/fold"
	"flame/hosts"
	"flame/project/usage"
)

// Stats counts frames, sessions and agents, and sums up their usage.
func Stats(s agents.Stats, known hosts.Registry) string {
	var b strings.Builder
	part := func(name, text string) { b.WriteString(Field(name, text)) }
	b.WriteString(Counts(s.Frames) + "\n")
	part("sessions", counted(s.Sessions, core.SessionActive, core.SessionIdle, core.SessionSuspended, core.SessionEnded))
	if s.Subagents.TotalDetected > 0 {
		part("subagents of hosts", Subagents(s.Subagents))
	}
	if s.Agents.Count > 0 {
		part("agents", fmt.Sprintf("%d, %d running; %s", s.Agents.Count, s.Agents.Running, Usage(s.Agents.Usage)))
	}
	if s.Usage != (core.Usage{}) {
		part("used in all", Usage(s.Usage))
	}
	for _, r := range s.Requests {
		part("requests of "+cmp.Or(known.Title(r.Host), "sessions without hooks"), Requests(r.Meter))
	}
	for _, m := range s.Metered {
		part("gateway of "+known.Title(m.Host)+", "+m.Class, Metered(m.Totals))
	}
	if !s.Folds {
		b.WriteString("folding is off (" + env.Fold + "): hosts send whole requests\n")
	}
	return b.String() + "`flame stats --by day`, model or host adds up what these sessions used"
}

// counted returns the numbers of sessions in each of these states, without those that are 0.
func counted(numbers map[string]int, states ...core.SessionState) string {
	present := lo.Filter(states, func(state core.SessionState, _ int) bool { return numbers[string(state)] > 0 })
	return strings.Join(lo.Map(present, func(state core.SessionState, _ int) string { return fmt.Sprint(numbers[string(state)], " ", state) }), ", ")
}

// Requests counts requests to models, and the tokens of their messages; instructions and tools, which
// no folding makes smaller, are not known here.
func Requests(m fold.Meter) string {
	text := fmt.Sprintf("%d, about %s of messages sent", m.Requests, core.Tokens(m.Sent))
	if m.LeftOut <= 0 {
		return text
	}
	return text + fmt.Sprintf(", about %s left out: %s of them", core.Amount(m.LeftOut), core.Less(m.ShrinkFactor()))
}

// Subagents counts the outcomes of hosts' native subagents.
func Subagents(s core.SubagentStats) string {
	return fmt.Sprintf("detected %d, frames created %d, skipped %d, undecided %d, auto-completed %d, manually completed %d, ended by their host %d",
		s.TotalDetected, s.FramesCreated, s.SkippedByHeuristics, s.Undecided(), s.AutoCompleted, s.ManuallyCompleted, s.EndedByHost)
}

// Metered sums up the requests that a gateway measured: their number, time to the first token,
// usage, and the bytes left out of them.
func Metered(t usage.Totals) string {
	text := Count(t.Requests, "request")
	if t.Failed > 0 {
		text += fmt.Sprintf(", %d failed", t.Failed)
	}
	if t.Begun > 0 {
		text += fmt.Sprintf(", first token after %s (at most %s)", core.Span(t.FirstMean()), core.Span(t.FirstMax))
	}
	if u := t.Usage; u != (core.Usage{}) {
		text += ", " + tokensOf(u) + ", " + core.Cost(u)
	}
	return text + spared(t)
}

// spared returns the bytes left out of requests; empty for 0.
func spared(t usage.Totals) string {
	if t.BytesSaved() <= 0 {
		return ""
	}
	return fmt.Sprintf(", %s of %s left out: %s", core.Size(t.BytesSaved()), core.Size(t.BytesReceived),
		core.Less(float64(t.BytesReceived)/float64(max(1, t.BytesForwarded))))
}

// MeteredLine is Metered for requests of all classes; empty without any.
func MeteredLine(all []usage.ClassTotals) string {
	sum := usage.Sum(all)
	if sum.Requests == 0 {
		return ""
	}
	return "Measured by the gateway: " + Metered(sum) + "\n"
}

// shortMetered is a short MeteredLine to append to other words.
func shortMetered(all []usage.ClassTotals) string {
	sum := usage.Sum(all)
	if sum.Requests == 0 {
		return ""
	}
	return fmt.Sprintf(" (gateway: %s, %s%s)", Count(sum.Requests, "request"), core.Cost(sum.Usage), spared(sum))
}
