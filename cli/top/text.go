package top

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"flame/agents"
	"flame/core"
	"flame/project/view"
	"flame/render"
)

// A pager shows one text on the whole screen.
type pager struct {
	title string
	text  string
	frame string // the frame that it is about; empty: none

	load    func(ctx context.Context, a *agents.Agents) (string, error) // nil: the text is all there is
	loading bool
	loaded  core.Millis // last update of the frame that the text includes
	next    time.Time   // before which it is not loaded again
	grows   bool        // new text comes at its end
	ends    bool        // the screen shows its end, also after it has grown

	rows  []string // the text in lines of the screen
	width int      // of which they are made
	first int      // the row at the top
}

// settle makes the rows for a width, and scrolls to existing rows.
func (p *pager) settle(width, height int) {
	if p.width != width {
		p.rows, p.width = wrap(p.text, width), width
		if p.ends {
			p.first = len(p.rows)
		}
	}
	p.first = max(0, min(p.first, len(p.rows)-height))
}

// key does the action of a key, with height rows on the screen. It reports whether the key goes
// back.
func (p *pager) key(name string, height int) (back bool) {
	switch name {
	case "q", "esc", "enter", "left":
		return true
	case " ":
		name = "pgdn"
	case "b":
		name = "pgup"
	}
	p.first, _ = moved(name, p.first, len(p.rows), height)
	p.first = max(0, min(p.first, len(p.rows)-height))
	p.ends = p.grows && p.first+height >= len(p.rows)
	return false
}

// lines draws so many rows.
func (p *pager) lines(width, height int) (lines []Line) {
	for _, row := range p.rows[p.first:min(p.first+height, len(p.rows))] {
		as := plain
		if strings.HasPrefix(row, heading) {
			as = dim
		}
		lines = append(lines, whole(width, row, as))
	}
	return lines
}

// place names the rows on the screen, and the keys.
func (p *pager) place(height int) string {
	if len(p.rows) <= height {
		return "q back"
	}
	return fmt.Sprintf("%d-%d of %d  j k PgUp PgDn g G  q back", p.first+1, min(p.first+height, len(p.rows)), len(p.rows))
}

// wrap returns a text in rows of at most width columns. It breaks at a space unless the row would
// become less than half full, and keeps the indentation of code.
func wrap(text string, width int) (rows []string) {
	width = max(1, width)
	for line := range strings.Lines(text) {
		line = flat(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    "))
		for {
			cut := rowEnd(line, width)
			rows = append(rows, strings.TrimRight(line[:cut], " "))
			if line = line[cut:]; line == "" {
				break
			}
		}
	}
	return rows
}

// rowEnd returns where the first row of a line ends, in bytes.
func rowEnd(line string, width int) int {
	left, space := width, 0
	for i, r := range line {
		if left -= render.ColumnsOf(r); left < 0 {
			if space > i/2 {
				return space
			}
			if i == 0 {
				return utf8.RuneLen(r) // no row is wide enough for it
			}
			return i
		}
		if r == ' ' {
			space = i + 1
		}
	}
	return len(line)
}

// news shows the last notices.
func (s *Screen) news() {
	text := ""
	for _, n := range slices.Backward(s.model.notices) {
		mark := "  "
		if n.Bad {
			mark = "! "
		}
		text += n.At.Time().In(s.Zone).Format(time.DateTime) + " " + mark + core.OneLine(n.Text, 0) + "\n"
	}
	s.pager = &pager{title: "What happened", text: cmp.Or(text, "Nothing yet.")}
}

// details opens the details of the chosen frame.
func (s *Screen) details() task {
	return s.openFrame("Frame", func(ctx context.Context, a *agents.Agents, id string) (string, error) {
		details, err := view.DetailsOf(ctx, a.Project, by, id)
		return render.ForShell(render.Details(details)), err
	})
}

// log opens the log of the chosen frame.
func (s *Screen) log() task {
	zone := s.Zone
	load := s.openFrame("Log", func(ctx context.Context, a *agents.Agents, id string) (string, error) {
		_, messages, err := agents.LogOf(ctx, a, by, id)
		if err != nil {
			return "", err
		}
		return logText(messages, zone)
	})
	if load != nil {
		s.pager.grows, s.pager.ends = true, s.tree.current().Status == core.InProgress
	}
	return load
}

// openFrame opens a text about the chosen frame.
func (s *Screen) openFrame(title string, load func(ctx context.Context, a *agents.Agents, id string) (string, error)) task {
	f := s.tree.current()
	if f == nil {
		return nil
	}
	id := f.ID
	return s.open(&pager{title: title + ": " + f.Goal, frame: id, load: func(ctx context.Context, a *agents.Agents) (string, error) {
		return load(ctx, a, id)
	}})
}

// unread stands for a text that is being loaded.
const unread = "…"

func (s *Screen) open(p *pager) task {
	p.text = unread
	s.pager = p
	return s.reload()
}

// reloadPace is the least time between two loads of a text that may change. Slow texts are loaded
// less often.
const reloadPace = time.Second

// Refresh returns a task that loads the text on the screen again, if it may have changed.
func (s *Screen) Refresh(now time.Time) task {
	p := s.pager
	if p == nil || p.load == nil || p.loading || now.Before(p.next) {
		return nil
	}
	f := s.model.frames.Find(p.frame)
	if f == nil || f.Status != core.InProgress && f.Updated == p.loaded {
		return nil
	}
	return s.reload()
}

// reload loads the text that is shown.
func (s *Screen) reload() task {
	p := s.pager
	p.loading = true
	if f := s.model.frames.Find(p.frame); f != nil {
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

// heading begins the line that names the speaker. Messages are indented, so that no text can
// imitate such a line.
const heading = "── "

// The bounds of a shown log, in bytes: the beginning of each part of a message, the end of the log.
const (
	maxPart = 20_000
	maxLog  = 1 << 20
)

// logText returns a log for people to read.
func logText(messages iter.Seq2[core.Message, error], zone *time.Location) (string, error) {
	var kept []string
	size, left := 0, false
	for m, err := range messages {
		if err != nil {
			return "", core.Unavailablef(err, "flame cannot read the transcript: %v", err)
		}
		text := messageText(m, zone)
		kept, size = append(kept, text), size+len(text)
		for ; size > maxLog && len(kept) > 1; left = true {
			size -= len(kept[0])
			kept = kept[1:]
		}
	}
	text := strings.Join(kept, "")
	switch {
	case text == "":
		return "No messages yet.", nil
	case left:
		return "(without the beginning; `flame log` writes the whole log)\n" + text, nil
	}
	return text, nil
}

// messageText returns a message for people to read; it is empty for entries that only a host uses.
func messageText(m core.Message, zone *time.Location) string {
	if m.Role == core.RoleOther || len(m.Parts) == 0 && m.Error == "" {
		return ""
	}
	who := m.Voice()
	for _, more := range []string{m.Agent, m.Model} {
		if more != "" {
			who += " · " + core.OneLine(more, 60)
		}
	}
	if m.Time != 0 {
		who += " · " + m.Time.Time().In(zone).Format("15:04:05")
	}
	var b strings.Builder
	b.WriteString(heading + who + "\n")
	for _, part := range m.Parts {
		b.WriteString(partText(part))
	}
	b.WriteString(indented("error: ", m.Error))
	return b.String()
}

func partText(part core.Part) string {
	switch part.Type {
	case core.PartText:
		return indented("", part.Text)
	case core.PartReasoning:
		return indented("thinks: ", part.Text)
	case core.PartToolCall:
		return indented("→ "+core.OneLine(part.Tool, 100)+" ", string(part.Input))
	case core.PartToolResult:
		if part.Failed {
			return indented("✗ ", part.Text)
		}
		return indented("← ", part.Text)
	}
	return ""
}

// indented returns a text in indented lines behind its kind; it is empty without a text.
func indented(what, text string) string {
	if text = strings.Trim(text, "\r\n"); text == "" {
		return ""
	}
	text = core.Cut(text, maxPart)
	return "  " + what + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
}
