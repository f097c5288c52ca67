package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"flame/core"
	"flame/core/op"
	"flame/hosts"
	"flame/project"
	"flame/project/stack"
	"flame/transcripts"
)

// LogOf returns the frame that ref names, and an iterator over what its host has logged of the
// work in it. If the transcript is gone, the error is core.ErrNotFound.
func LogOf(ctx context.Context, a *Agents, by project.Caller, ref string) (core.Frame, iter.Seq2[core.Message, error], error) {
	part, err := stack.LogOf(ctx, a.Project, by, ref, true)
	if err != nil {
		return part.Frame, nil, err
	}
	log, err := a.Hosts.LogOf(a.Machine, part.Host, part.Frame.Session, part.Path)
	if errors.Is(err, core.ErrNotFound) {
		return part.Frame, nil, core.NotFoundf("%v", err).WithHint("hosts delete old sessions; what the frame itself has stays")
	}
	if err != nil {
		return part.Frame, nil, core.Unavailablef(err, "the transcript of session %s cannot be read: %v", part.Frame.Session, err)
	}
	return part.Frame, part.Part(transcripts.Complete(ctx, log)), nil
}

// A Passage is an entry of a host's log that has the words of a search: work of a frame, which its
// summary need not tell.
type Passage struct {
	Frame   string      `json:"frame"`
	Goal    string      `json:"goal"`
	Entry   int         `json:"entry"` // its number in the log of the frame's session, from 1
	At      core.Millis `json:"at"`
	Voice   string      `json:"voice"`          // user, assistant, thinking, call or output
	Call    string      `json:"call,omitempty"` // id of the tool call
	Tool    string      `json:"tool,omitempty"`
	Excerpt string      `json:"excerpt"` // one line around the first word
}

// A Reach is what a search in the work of frames found, newest first, and what it could not read.
type Reach struct {
	Passages []Passage `json:"passages"`
	Unread   []string  `json:"unread,omitempty"`
}

// The bounds of one search: a person or a model waits for it.
const (
	maxTime     = 2 * time.Second
	maxSessions = 500  // the latest
	maxFrames   = 2000 // the latest
)

// Passages searches the work of frames, of all or of the one that ref names, in the hosts' own logs.
// Nothing is kept of them.
func Passages(ctx context.Context, a *Agents, by project.Caller, query, ref string, most int) (r Reach, err error) {
	words := core.QueryWords(query)
	if len(words) == 0 {
		return r, core.Invalidf("the query has no word").WithHint("give words of letters or digits")
	}
	if guest, err := IsForRemote(ctx, a.Project, by.Agent); guest || err != nil {
		return r, err // the logs are of other people's work
	}
	all, only, err := sessionsOf(ctx, a.Project, a.Hosts, by, ref)
	if err != nil {
		return r, err
	}
	ctx, stop := context.WithTimeout(ctx, maxTime)
	defer stop()
	for _, w := range all {
		log, err := a.Hosts.LogOf(a.Machine, w.host, w.session, w.path)
		if err == nil {
			var found []Passage
			found, err = w.search(ctx, log, words, only, most)
			r.Passages = append(r.Passages, found...)
		}
		if err != nil {
			r.Unread = append(r.Unread, core.OneLine(err.Error(), 200))
		}
		if ctx.Err() != nil {
			r.Unread = append(r.Unread, "what is older: the logs are too long to search all of them at once")
			break
		}
	}
	slices.SortStableFunc(r.Passages, func(x, y Passage) int { return cmp.Compare(y.At, x.At) })
	r.Passages = r.Passages[:min(len(r.Passages), most)]
	return r, nil
}

// A sessionWork is a session with the frames that it worked in.
type sessionWork struct {
	session, host, path string
	frames              []core.Frame
}

// sessionsOf returns the sessions whose logs tell of frames, the latest first; with ref, the session of
// that frame, and its id. Without sessions it reads no frames.
func sessionsOf(ctx context.Context, p *project.Project, known hosts.Registry, by project.Caller, ref string) (all []sessionWork, only string, err error) {
	err = p.View(ctx, by, func(s *project.Op) error {
		session := ""
		if ref != "" {
			frame, err := s.Resolve(ref)
			if err != nil {
				return err
			}
			if session, only = frame.Session, frame.ID; session == "" || frame.IsRemote() {
				return core.NotFoundf("this machine has no log of %s", only).WithHint("%s shows what the frame itself has", op.Details)
			}
		}
		if all, err = withLogs(s, known, session); err != nil || len(all) == 0 {
			return err
		}
		frames, err := s.Tx.FindFrames(project.FrameQuery{Archived: true, Order: project.RecentFirst, Limit: maxFrames})
		for _, f := range frames {
			if at := slices.IndexFunc(all, func(w sessionWork) bool { return w.session == f.Session }); at >= 0 && !f.IsRemote() {
				all[at].frames = append(all[at].frames, f)
			}
		}
		all = slices.DeleteFunc(all, func(w sessionWork) bool { return len(w.frames) == 0 })
		return err
	})
	return all, only, err
}

// withLogs returns the latest sessions, or the one that is named, but for subagents without a known log:
// of other sessions a search says that their log is not known.
func withLogs(s *project.Op, known hosts.Registry, named string) (all []sessionWork, err error) {
	sessions, err := s.Tx.FindSessions(project.SessionQuery{Limit: maxSessions})
	for _, session := range sessions {
		if named != "" && session.ID != named {
			continue
		}
		w, err := workOf(s, session.ID)
		if err != nil {
			return nil, err
		}
		if w.path != "" || known.Of(w.host).Logs.DB != nil || session.Parent == "" { // a subagent's may be in its parent's
			all = append(all, w)
		}
	}
	return all, err
}

func workOf(s *project.Op, id string) (w sessionWork, err error) {
	session, err := s.Tx.Session(id)
	if err = project.IgnoreMissing(err); err != nil {
		return w, err
	}
	logged, err := project.RecordTranscript.Find(s.Tx, id)
	return sessionWork{session: id, host: session.Host, path: logged.Path}, err
}

// at returns the innermost frame in which the session worked at a time.
func (w sessionWork) at(t core.Millis) core.Frame {
	return slices.MaxFunc(w.frames, func(x, y core.Frame) int { return cmp.Compare(begun(x, t), begun(y, t)) })
}

// begun returns when work in a frame began, less than that of any other if it was not at work at t.
func begun(f core.Frame, t core.Millis) core.Millis {
	from := cmp.Or(f.StartedAt, f.CreatedAt)
	if until := cmp.Or(f.EndedAt, math.MaxInt64); from <= t && t <= until {
		return from
	}
	return from - math.MaxInt64/2
}

// search finds the newest passages in a session's log, of the frame only unless that is empty. Flame's
// own searches do not count: they have all the words.
func (w sessionWork) search(ctx context.Context, log transcripts.Log, words []string, only string, most int) (found []Passage, err error) {
	own := map[string]bool{}
	isOwn := func(p Passage) bool { return p.Call != "" && own[p.Call] }
	for e, err := range log.Matching(ctx, words) {
		if err != nil || ctx.Err() != nil {
			return found, err
		}
		for _, part := range e.Parts {
			if strings.HasSuffix(part.Tool, string(op.Search)) || strings.HasSuffix(part.Tool, string(op.Recall)) {
				own[part.CallID] = true
			}
			text, frame := part.Text+string(part.Input), w.at(e.Time)
			at := places(text, words)
			if at < 0 || only != "" && frame.ID != only || e.Synthetic && part.Type == core.PartText {
				continue
			}
			found = append(found, Passage{
				Frame: frame.ID, Goal: frame.Goal, Entry: e.Number, At: e.Time, Voice: voiceOf(e.Message, part), Call: part.CallID, Tool: part.Tool,
				Excerpt: around(text, at),
			})
		}
		if len(found) > most { // the call of the oldest may be one of flame's own
			found = slices.DeleteFunc(found, isOwn)
		}
		if len(found) > most {
			break
		}
	}
	return slices.DeleteFunc(found, isOwn), nil
}

// places returns where in a text the first of the words is, if it has all of them; else -1.
func places(text string, words []string) int {
	lower := strings.ToLower(text)
	for _, word := range words {
		if !strings.Contains(lower, word) {
			return -1
		}
	}
	return min(strings.Index(lower, words[0]), len(text))
}

func around(text string, at int) string {
	from := max(0, at-80)
	line := core.OneLine(strings.ToValidUTF8(text[from:min(len(text), at+240)], ""), 200)
	if from > 0 {
		return "…" + line
	}
	return line
}

func voiceOf(m core.Message, part core.Part) string {
	switch part.Type {
	case core.PartToolCall:
		return "call"
	case core.PartToolResult:
		return "output"
	case core.PartReasoning:
		return "thinking"
	}
	return m.SpeakerLabel()
}

// RecallArgs say what to read again: the output of a call, of the caller's conversation or of a
// frame's session, or an entry of the log of a frame's session, by its number or by words in it.
type RecallArgs struct {
	Call, Frame, Words string
	Entry              int
}

// Recall returns a part of a host's log, whole. Requests to the model may contain a single line
// instead of it, or nothing.
func Recall(ctx context.Context, a *Agents, by project.Caller, r RecallArgs) (all LogContent, err error) {
	if guest, err := IsForRemote(ctx, a.Project, by.Agent); err != nil || guest && r.Frame != "" {
		return all, cmp.Or(err, error(core.Invalidf("an agent of another machine reads no logs of this one")))
	}
	if r.Frame != "" && r.Call == "" && r.Entry == 0 {
		reach, err := Passages(ctx, a, by, r.Words, r.Frame, 1)
		if err != nil {
			return all, err
		}
		if len(reach.Passages) == 0 {
			return all, core.NotFoundf("the work of %s has no entry with these words", r.Frame).WithHint("%s", strings.Join(reach.Unread, "; "))
		}
		r.Entry = reach.Passages[0].Entry
	}
	var w sessionWork
	err = a.Project.View(ctx, by, func(s *project.Op) error {
		session := s.Session.ID
		if r.Frame != "" {
			frame, err := s.Resolve(r.Frame)
			if err != nil {
				return err
			}
			session = frame.Session
		}
		w, err = workOf(s, session)
		return err
	})
	if err != nil {
		return all, err
	}
	log, err := a.Hosts.LogOf(a.Machine, w.host, w.session, w.path)
	if err != nil {
		return all, err
	}
	if all, err = contentOf(ctx, log, r); err != nil {
		return all, core.Unavailablef(err, "the transcript of session %s cannot be read: %v", w.session, err)
	}
	if all.Text == "" {
		return all, core.NotFoundf("session %s has no such call with an output, or no such entry", w.session).
			WithHint("pass the id of a call as it stands in the line that replaces its output, or a frame and an entry as %s names them", op.Search)
	}
	return all, nil
}

// contentOf returns the output of a call, or an entry, in a log; its text is empty if there is none.
func contentOf(ctx context.Context, log transcripts.Log, r RecallArgs) (all LogContent, err error) {
	if r.Call == "" {
		entry, err := log.At(ctx, r.Entry)
		for _, m := range entry {
			for _, part := range m.Parts {
				all.Text += fmt.Sprintf("[%s] %s\n", strings.TrimSpace(voiceOf(m, part)+" "+part.Tool+" "+part.CallID), part.Text+string(part.Input))
			}
			all.addPictures(m.Media, "")
		}
		return all, err
	}
	ended, input := false, ""
	for e, err := range log.Matching(ctx, []string{strings.ToLower(r.Call)}) { // some models number their calls anew: the newest
		if err != nil {
			return all, err
		}
		for _, part := range e.Parts {
			switch {
			case part.CallID != r.Call:
			case part.Type == core.PartToolCall:
				input = string(part.Input)
			case part.Type == core.PartToolResult && !ended:
				ended, all.Text = true, part.Text
				all.addPictures(e.Media, r.Call)
			}
		}
		if all.Text != "" || ended && input != "" {
			break
		}
	}
	if all.Text == "" && ended {
		all.Text = "The log has no output of this call: " + input
	}
	return all, nil
}
