package graph

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"reflect"
	"sync"
	"time"

	"flame/core"
	"flame/project"
	"flame/transcripts"
)

// A Trail is what the logs of hosts say about who started whom: sessions and
// agents are its nodes, the edges run from parent to child and form a forest.
type Trail struct {
	Nodes    []LogNode   `json:"nodes"`            // parents before children, else in the order they were met
	Torn     []string    `json:"torn,omitempty"`   // logs whose last line is not complete
	Unread   []UnreadLog `json:"unread,omitempty"` // logs that could not be read to their end
	Messages int         `json:"messages"`         // entries read, of any kind
	Aside    int         `json:"aside"`            // those of a kind known to concern no agent
	Unknown  int         `json:"unknown"`          // those of a kind that no reader knows
}

// A LogNode is a session or an agent.
type LogNode struct {
	// ID is the agent's in its host, or the session's, or that of an agent of
	// flame's whose session is unknown, or else that of the call that was to
	// start it.
	ID            string          `json:"id"`
	Kind          Kind            `json:"kind"`                 // KindSession or KindSubagent
	Parent        string          `json:"parent,omitempty"`     // empty for a root; if the parent is not in the logs, its name there
	Unparented    bool            `json:"unparented,omitempty"` // the logs do not say, or not yet, who started it
	Depth         int             `json:"depth"`                // 0 for a root
	Agent         string          `json:"agent,omitempty"`      // of an agent that flame started: flame's id
	Frame         string          `json:"frame,omitempty"`      // of flame, in which it worked
	Host          string          `json:"host,omitempty"`
	Session       string          `json:"session,omitempty"` // of the host, in which it ran
	Call          string          `json:"call,omitempty"`    // id of the tool call that started it
	Type          string          `json:"agentType,omitempty"`
	Description   string          `json:"description,omitempty"`
	Prompt        string          `json:"prompt,omitempty"`
	Model         string          `json:"model,omitempty"`
	Tools         []string        `json:"tools,omitempty"`  // offered to it, as far as the logs say
	Denied        []string        `json:"denied,omitempty"` // tools that it could not use
	State         core.AgentState `json:"state"`
	Error         string          `json:"error,omitempty"`
	Result        string          `json:"result,omitempty"`    // its last words
	Usage         core.Usage      `json:"usage"`               // its own, without the nodes below it
	UntoldUSD     float64         `json:"untoldUSD,omitempty"` // cost of agents below it that their own usage here does not include
	ContextTokens int64           `json:"contextTokens,omitempty"`
	Messages      int             `json:"messages"`
	Started       core.Millis     `json:"started,omitempty"`
	Ended         core.Millis     `json:"ended,omitempty"`
}

// Used returns the total usage of all nodes, and the part of its cost that belongs to agents
// that the logs do not distinguish, in US dollars.
func (t Trail) Used() (all core.Usage, untold float64) {
	for _, n := range t.Nodes {
		all, untold = all.Add(n.Usage), untold+n.UntoldUSD
	}
	all.CostUSD += untold
	return all, untold
}

// An UnreadLog is a log that could not be read to its end.
type UnreadLog struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// ReadLogs reads logs and returns what they say together. A log that cannot be read
// is named in the result; it is an error only if none can.
func ReadLogs(ctx context.Context, logs ...transcripts.Log) (Trail, error) {
	t := NewTracker()
	var failed []error
	for _, log := range logs {
		if err := t.read(ctx, log); err != nil {
			failed = append(failed, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return Trail{}, err
	}
	if len(failed) > 0 && len(failed) == len(logs) {
		return Trail{}, errors.Join(failed...)
	}
	return t.Trail(), nil
}

// Draw writes a trail as tree, json, dot (Graphviz) or mermaid. The same trail gives the
// same bytes; labels are data, whatever they contain. As json it is everything the logs
// say, otherwise its graph.
func (t Trail) Draw(w io.Writer, format string) error {
	if format == "json" {
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		return out.Encode(t)
	}
	g, err := t.Graph()
	if err != nil {
		return err
	}
	return Draw(w, g, format)
}

// Graph returns the graph of who started whom.
func (t Trail) Graph() (*Graph, error) {
	var nodes []Node
	taken := map[string]bool{}
	for _, n := range t.Nodes {
		id := n.ID
		for taken[id] {
			id += "'" // hosts number calls anew in each session, and nothing else is known of some agents
		}
		taken[id] = true
		nodes = append(nodes, Node{
			ID: id, Kind: n.Kind, Parent: n.Parent, Label: cmp.Or(n.Description, n.Prompt), Status: string(n.State),
			AgentType: n.Type, Model: n.Model, Usage: n.Usage, Started: n.Started, Ended: n.Ended,
		})
	}
	return New(nodes, nil)
}

// FollowLogs tracks the logs in these formats at path, a file, a folder or "-" for
// input, and calls show with what is known: at first, and whenever there is
// more, at most once per interval. It ends with ctx, with the input, or with an
// error of show. Logs are read on from where they were left; when one was
// truncated, replaced, renamed or removed, all are read again.
func FollowLogs(ctx context.Context, formats transcripts.Formats, path string, input io.Reader, every time.Duration, show func(Trail) error) error {
	if path == "-" {
		return followInput(ctx, formats, input, every, show)
	}
	f := &follower{formats: formats, path: path}
	var shown *Trail
	for range project.Steadily(ctx, every) {
		changed, err := f.step(ctx)
		if err != nil {
			return err
		}
		told := f.tracker.Trail()
		if shown != nil && (!changed || reflect.DeepEqual(told, *shown)) {
			continue
		}
		if err := show(told); err != nil {
			return err
		}
		shown = &told
	}
	return ctx.Err()
}

// A follower knows how far it has read the logs at path.
type follower struct {
	formats transcripts.Formats
	path    string
	tracker *Tracker
	logs    map[string]*followed
}

// A followed log is a log that has been read up to a position.
type followed struct {
	at     core.LogPosition
	file   os.FileInfo
	beside time.Time // when the file beside, or SQLite's log, last changed
	young  bool      // it had changed less than settling before it was read
}

// settling is the time in which a database may get content that no change of its files tells of: SQLite
// writes its log first, waits for the disk, and then lets others see what it wrote.
const settling = 2 * time.Second

// step reads what is new. A known log may be missing or empty for a moment
// while a host rewrites it; it is looked for again.
func (f *follower) step(ctx context.Context) (changed bool, err error) {
	logs, err := f.formats.Detect(f.path, nil)
	if err != nil && f.tracker != nil {
		return false, ctx.Err()
	}
	if err != nil {
		return false, err
	}
	if f.tracker == nil || f.rewritten(logs) {
		f.tracker, f.logs, changed = NewTracker(), map[string]*followed{}, true
	}
	before := f.tracker.logs.Messages
	f.tracker.logs.Torn, f.tracker.logs.Unread = nil, nil
	for _, log := range logs {
		if err := f.read(ctx, log); err != nil {
			return false, err
		}
	}
	return changed || f.tracker.logs.Messages != before, ctx.Err()
}

// rewritten reports whether what was read of a log may no longer be its
// content.
func (f *follower) rewritten(logs []transcripts.Log) bool {
	there := map[string]bool{}
	for _, log := range logs {
		there[log.Path] = true
		known, ok := f.logs[log.Path]
		if !ok {
			continue
		}
		now, err := os.Stat(log.Path)
		if err != nil || replaced(known.file, now) {
			return true
		}
		same := now.Size() == known.file.Size() && now.ModTime().Equal(known.file.ModTime()) && changedAt(log.Beside()).Equal(known.beside)
		if !log.Grows() && (known.young || !same) {
			return true
		}
	}
	for path := range f.logs {
		if !there[path] {
			return true
		}
	}
	return false
}

// replaced reports whether a file is another one than before, or was cut.
func replaced(before, now os.FileInfo) bool {
	return !os.SameFile(before, now) || now.Size() < before.Size()
}

// changedAt returns when a file last changed, or zero if there is none.
func changedAt(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// read continues reading a log.
func (f *follower) read(ctx context.Context, log transcripts.Log) error {
	known, ok := f.logs[log.Path]
	now, err := os.Stat(log.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it disappeared after it was found; the next look will miss it
	}
	if err != nil || ok && (!log.Grows() || replaced(known.file, now)) {
		return err // the next look reads all again if it was replaced after this one began
	}
	beside := changedAt(log.Beside())
	if !ok {
		known = &followed{beside: beside}
		f.logs[log.Path] = known
	}
	if !known.beside.Equal(beside) {
		known.beside = beside
		if m, err := log.Meta(); err == nil {
			f.tracker.Add(log.Host(), m)
		}
	}
	known.file, known.young = now, time.Since(now.ModTime()).Abs() < settling || time.Since(beside).Abs() < settling
	for entry, err := range log.Entries(ctx, known.at) {
		switch {
		case errors.Is(err, transcripts.ErrTorn):
			f.tracker.logs.Torn = append(f.tracker.logs.Torn, log.Path)
		case err != nil:
			f.tracker.logs.Unread = append(f.tracker.logs.Unread, UnreadLog{Path: log.Path, Reason: err.Error()})
		default:
			f.tracker.Add(log.Host(), entry.Message)
			known.at = entry.Next
		}
	}
	return nil
}

// followInput shows the content of input as it arrives.
func followInput(ctx context.Context, formats transcripts.Formats, input io.Reader, every time.Duration, show func(Trail) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex // of the tracker
	t, ended := NewTracker(), make(chan error, 1)
	listen := func() error {
		logs, err := formats.Detect("-", input)
		for _, log := range logs {
			for m, err := range log.Messages(ctx) {
				if err != nil {
					return err
				}
				mu.Lock()
				t.Add(log.Host(), m)
				mu.Unlock()
			}
		}
		return err
	}
	go func() { ended <- listen() }()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for shown, over := 0, false; !over; {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err = <-ended:
			over = true
		case <-tick.C:
		}
		mu.Lock()
		told := t.Trail()
		mu.Unlock()
		if errors.Is(err, transcripts.ErrTorn) {
			told.Torn, err = []string{"-"}, nil
		}
		if err == nil && (over || told.Messages != shown) {
			shown, err = told.Messages, show(told)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
