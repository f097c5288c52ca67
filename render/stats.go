package render

import (
	"cmp"
	"fmt"
	"strings"

	"flame/agents"
	"flame/config/env"
	"flame/core"
	"flame/core/fold"
	"flame/project/usage"
)

// Stats counts frames, sessions and agents, and sums up their usage.
func Stats(s agents.Stats) string {
	var b strings.Builder
	b.WriteString(Counts(s.Frames) + "\nsessions:")
	for _, state := range []core.SessionState{core.SessionActive, core.SessionIdle, core.SessionSuspended, core.SessionEnded} {
		fmt.Fprintf(&b, " %d %s", s.Sessions[string(state)], state)
	}
	fmt.Fprintf(&b, "\nsubagents of hosts: %s\nagents: %d, %d running", Subagents(s.Subagents), s.Agents.Count, s.Agents.Running)
	if s.Agents.Count > 0 {
		b.WriteString("; " + Usage(s.Agents.Usage))
	}
	b.WriteString("\nusage in all: " + Usage(s.Usage))
	for _, r := range s.Requests {
		b.WriteString("\nrequests of " + cmp.Or(core.OneLine(r.Host, 30), "sessions without hooks") + ": " + Requests(r.Meter))
	}
	for _, m := range s.Metered {
		b.WriteString("\ngateway of " + core.OneLine(m.Host, 30) + ", " + m.Class + ": " + Metered(m.Tally))
	}
	if !s.Folds {
		b.WriteString("\nfolding is off (" + env.Fold + "): hosts send whole requests")
	}
	return b.String()
}

// Requests counts requests to models, and the tokens of their messages; instructions and tools, which
// no folding makes smaller, are not known here.
func Requests(m fold.Meter) string {
	text := fmt.Sprintf("%d, about %s of messages sent", m.Requests, Count(m.Sent, "token"))
	if m.LeftOut <= 0 {
		return text
	}
	return text + fmt.Sprintf(", about %d left out: %.1fx less of them", m.LeftOut, m.Less())
}

// Subagents counts the outcomes of hosts' native subagents.
func Subagents(s core.SubagentStats) string {
	return fmt.Sprintf("detected %d, frames created %d, skipped %d, undecided %d, auto-completed %d, manually completed %d, ended by their host %d",
		s.TotalDetected, s.FramesCreated, s.SkippedByHeuristics, s.Undecided(), s.AutoCompleted, s.ManuallyCompleted, s.EndedByHost)
}

// Metered sums up the requests that a gateway measured: their number, time to the first token,
// usage, and the bytes left out of them.
func Metered(t usage.Tally) string {
	text := Count(t.Requests, "request")
	if t.Failed > 0 {
		text += fmt.Sprintf(", %d failed", t.Failed)
	}
	if t.Begun > 0 {
		text += fmt.Sprintf(", first token after %s (at most %s)", Duration(int64(t.FirstMean())), Duration(int64(t.FirstMax)))
	}
	if u := t.Usage; u != (core.Usage{}) {
		text += fmt.Sprintf(", %d tokens in, %d out, %d cache read, %d cache written, %s", u.TokensIn, u.TokensOut, u.CacheRead, u.CacheWritten, Cost(u))
	}
	return text + spared(t)
}

// spared returns the bytes left out of requests; empty for 0.
func spared(t usage.Tally) string {
	if t.Spared() <= 0 {
		return ""
	}
	return fmt.Sprintf(", %s of %s left out: %.1fx less", Megabytes(t.Spared()), Megabytes(t.Given), float64(t.Given)/float64(max(1, t.Sent)))
}

// MeteredLine is Metered for requests of all classes; empty without any.
func MeteredLine(all []usage.Metered) string {
	sum := usage.Sum(all)
	if sum.Requests == 0 {
		return ""
	}
	return "Measured by the gateway: " + Metered(sum) + "\n"
}

// shortMetered is a short MeteredLine to append to other words.
func shortMetered(all []usage.Metered) string {
	sum := usage.Sum(all)
	if sum.Requests == 0 {
		return ""
	}
	return fmt.Sprintf(" (gateway: %s, %s%s)", Count(sum.Requests, "request"), Cost(sum.Usage), spared(sum))
}
