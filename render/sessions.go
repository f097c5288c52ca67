package render

import (
	"cmp"
	"fmt"
	"strings"

	"flame/core"
	"flame/core/fold"
	"flame/hosts"
	"flame/project/view"
)

// Sessions lists sessions, as they are at a time, on lines of a terminal of that width; with ended,
// they are all there were.
func Sessions(listed []view.ListedSession, more int, ended bool, known hosts.Registry, now core.Millis, width int) string {
	switch {
	case len(listed) == 0 && ended:
		return "No host has told flame of a session here; `flame setup` connects them."
	case len(listed) == 0:
		return "No session is open. `flame sessions --all` lists those that have ended."
	}
	var b strings.Builder
	for _, s := range listed {
		fmt.Fprintf(&b, "%s  %s  %s, heard of %s\n", core.OneLine(s.ID, 0), known.Title(s.Host), s.State, Ago(now, s.LastActivityAt))
		usage := ShortUsage(s.Usage) + cmp.Or(shortMetered(s.Metered), lessSent(s.Requests))
		room := 100
		if width > 0 {
			room = max(20, width-len("  …")-len(usage))
		}
		fmt.Fprintf(&b, "  %s%s\n", core.OneLine(cmp.Or(s.Goal, "(no frame yet)"), room), usage)
	}
	if more > 0 {
		fmt.Fprintf(&b, "and %d more; --limit 0 lists all\n", more)
	}
	return b.String()
}

// lessSent returns by how much folding made the messages of a session's requests smaller; empty if it
// did not, or that is not known.
func lessSent(m *fold.Meter) string {
	if m == nil || m.LeftOut <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%s, messages about %s by folding)", Count(m.Requests, "request"), core.Less(m.ShrinkFactor()))
}
