package briefing

import (
	"context"
	"strings"

	"flame/core"
	"flame/core/summaries"
	"flame/project"
	"flame/project/stack"
)

// CompactionNote is stack.CompactionPrompt in at most limit UTF-16 code units, for a host whose next
// context has at most maxChars characters. A compaction for which flame has no request is a checkpoint
// if a person asked the host for it. Without a frame there is nothing to note.
func CompactionNote(ctx context.Context, p *project.Project, by project.Caller, asked bool, limit, maxChars int) (note string, err error) {
	err = p.View(ctx, by, func(s *project.Op) error {
		frame, ok, err := project.Place(s)
		if err != nil || !ok {
			return err
		}
		in, err := stack.CompactionInput(s, frame)
		if err != nil {
			return err
		}
		if asked && in.Type == summaries.Overflow {
			in.Type = summaries.ManualSummary
		}
		next, err := FullContext(s, maxChars)
		in.Shown = func(f core.Frame) bool { return shows(next.Text, f) }
		note = summaries.Note(in, limit)
		return err
	})
	return note, err
}

// shows reports whether a context has all that a frame's summary says. Without a summary its goal counts.
func shows(text string, f core.Frame) bool {
	says := f.Summary
	if says == "" {
		says = f.Goal
	}
	_, about, found := strings.Cut(text, `<frame id="`+core.EscapeXML(f.ID)+`"`)
	about, _, _ = strings.Cut(about, "</frame>")
	return found && strings.Contains(about, core.EscapeXML(strings.TrimSpace(says)))
}
