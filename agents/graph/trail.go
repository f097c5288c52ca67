package graph

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"reflect"
	"sync"
	"time"

	"flame/core"
	"flame/project"
	"flame/transcripts"
)

// A LogGraph is what the logs of hosts say about who started whom: sessions and
// agents are its nodes, the edges run from parent to child and form a forest.
type LogGraph struct {
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
	UnreportedUSD float64         `json:"untoldUSD,omitempty"` // cost of agents below it that their own usage here does not include
	ContextTokens int64           `json:"contextTokens,omitempty"`
	Messages      int             `json:"messages"`
	Started       core.Millis     `json:"started,omitempty"`
	Ended         core.Millis     `json:"ended,omitempty"`
}

// Used returns the total usage of all nodes, and the part of its cost that belongs to agents
// that the logs do not distinguish, in US dollars.
func (t LogGraph) Used() (all core.Usage, untold float64) {
	for _, n := range t.Nodes {
		all, untold = all.Add(n.Usage), untold+n.UnreportedUSD
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
func ReadLogs(ctx context.Context, logs ...transcripts.Log) (LogGraph, error) {
	t := NewTracker()
	var failed []error
	for _, log := range logs {
		if err := t.read(ctx, log); err != nil {
			failed = append(failed, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return LogGraph{}, err
	}
	if len(failed) > 0 && len(failed) == len(logs) {
		return LogGraph{}, errors.Join(failed...)
	}
	return t.Trail(), nil
}

// Draw writes a trail as tree, json, dot (Graphviz) or mermaid. The same trail gives the
// same bytes; labels are data, whatever they contain. As json it is everything the logs
// say, otherwise its graph.
func (t LogGraph) Draw(w io.Writer, format string) error {
	if format == "json" {
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		return out.Encode(t)
	}
	return Draw(w, t.Graph(), format)
}

// Graph returns the graph of who started whom.
func (t LogGraph) Graph() *Graph {
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
// input, and calls show with what is known: at first, and whenever that has
// changed, at most once per interval. It ends with ctx, with the input, or with an
// error of show.
func FollowLogs(ctx context.Context, formats transcripts.Formats, path string, input io.Reader, every time.Duration, show func(LogGraph) error) error {
	if path == "-" {
		return followInput(ctx, formats, input, every, show)
	}
	var before map[string]logState
	var shown *LogGraph
	for range project.Every(ctx, 0, every) {
		logs, err := formats.Detect(path, nil)
		if err != nil && shown == nil {
			return err
		}
		now := statesOf(logs)
		if err != nil || maps.EqualFunc(before, now, logState.is) {
			continue // a log may be missing or empty for a moment while a host rewrites it
		}
		t := NewTracker()
		for _, log := range logs {
			_ = t.read(ctx, log) // the trail names a log that cannot be read
		}
		told := t.Trail()
		if ctx.Err() != nil {
			break
		}
		if before = now; shown != nil && reflect.DeepEqual(told, *shown) {
			continue
		}
		if err := show(told); err != nil {
			return err
		}
		shown = &told
	}
	return ctx.Err()
}

type logState struct {
	file   os.FileInfo // nil if the log is gone
	beside time.Time   // when the file beside, or SQLite's log, last changed
	young  bool        // it had changed less than settling before
}

// settling is the time in which a database may get content that no change of its files tells of: SQLite
// writes its log first, waits for the disk, and then lets others see what it wrote.
const settling = 2 * time.Second

func statesOf(logs []transcripts.Log) map[string]logState {
	states := map[string]logState{}
	for _, log := range logs {
		var s logState
		if info, err := os.Stat(log.CompanionPath()); err == nil {
			s.beside = info.ModTime()
		}
		if info, err := os.Stat(log.Path); err == nil {
			s.file = info
			s.young = !log.IsAppendOnly() && (time.Since(info.ModTime()).Abs() < settling || time.Since(s.beside).Abs() < settling)
		}
		states[log.Path] = s
	}
	return states
}

// is reports whether a log that was in state s before has not changed since.
func (s logState) is(now logState) bool {
	return !s.young && os.SameFile(s.file, now.file) && s.file.Size() == now.file.Size() &&
		s.file.ModTime().Equal(now.file.ModTime()) && s.beside.Equal(now.beside)
}

func followInput(ctx context.Context, formats transcripts.Formats, input io.Reader, every time.Duration, show func(LogGraph) error) error {
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
		if errors.Is(err, transcripts.ErrIncompleteLine) {
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
