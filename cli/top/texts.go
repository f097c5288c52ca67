package top

import (
	"context"
	"strings"
	"time"

	"flame/agents"
	"flame/core"
	"flame/project/view"
	"flame/render"
)

// news shows what happened last.
func (s *Screen) news() {
	var b strings.Builder
	for i := len(s.model.notices) - 1; i >= 0; i-- {
		n := s.model.notices[i]
		mark := "  "
		if n.Bad {
			mark = "! "
		}
		b.WriteString(n.At.Time().In(s.Zone).Format("2006-01-02 15:04:05") + " " + mark + core.OneLine(n.Text, 0) + "\n")
	}
	if b.Len() == 0 {
		b.WriteString("Nothing yet.")
	}
	s.pager = &pager{title: "What happened", text: b.String()}
}

// details opens what is known of the chosen frame.
func (s *Screen) details() task {
	f := s.tree.current()
	if f == nil {
		return nil
	}
	id := f.ID
	return s.open(&pager{title: "Frame: " + f.Goal, frame: id, load: func(ctx context.Context, a *agents.Agents) (string, error) {
		details, err := view.DetailsOf(ctx, a.Project, by, id)
		if err != nil {
			return "", err
		}
		return render.ForShell(render.Details(details)), nil
	}})
}

// log opens the log of the chosen frame.
func (s *Screen) log() task {
	f := s.tree.current()
	if f == nil {
		return nil
	}
	id, zone := f.ID, s.Zone
	return s.open(&pager{title: "Log: " + f.Goal, frame: id, grows: true, ends: f.Status == core.InProgress,
		load: func(ctx context.Context, a *agents.Agents) (string, error) {
			_, messages, err := agents.LogOf(ctx, a, by, id)
			if err != nil {
				return "", err
			}
			return logText(messages, zone)
		}})
}

// unread stands for a text that is being loaded.
const unread = "…"

func (s *Screen) open(p *pager) task {
	p.text = unread
	s.pager = p
	return s.reload()
}

// reloadPace is how often a text that may change is loaded at most; one that takes long
// less often.
const reloadPace = time.Second

// Refresh returns what loads the text that is shown again, where it may have changed.
func (s *Screen) Refresh(now time.Time) task {
	p := s.pager
	if p == nil || p.load == nil || p.loading || now.Before(p.next) {
		return nil
	}
	f := s.model.frames[p.frame]
	if f == nil || f.Status != core.InProgress && f.Updated == p.loaded {
		return nil
	}
	return s.reload()
}

// reload loads the text that is shown.
func (s *Screen) reload() task {
	p := s.pager
	p.loading = true
	if f := s.model.frames[p.frame]; f != nil {
		p.loaded = f.Updated
	}
	return func(ctx context.Context, a *agents.Agents) func(*Screen) {
		began := time.Now()
		text, err := p.load(ctx, a)
		return func(s *Screen) {
			p.loading, p.next = false, time.Now().Add(max(reloadPace, 10*time.Since(began)))
			if err != nil {
				s.tell(err, "")
				if p.text == unread {
					p.text, p.width = s.said, 0
				}
				return
			}
			if text != p.text {
				p.text, p.width = text, 0
			}
		}
	}
}
