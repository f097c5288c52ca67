// Package supervise runs one agent of a host in a process of its own: a
// supervisor, which outlives the call and the server that requested the agent,
// keeps everything it prints in a file, enforces its limits, retries after
// transient errors, and reports to a journal how it ended, once. What the lines
// of a host mean comes from outside, as core messages (spec: agents §8).
package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"flame/core"
)

// The files in an agent's folder.
const (
	OutputFile  = "stdout.jsonl" // everything the host printed, over all attempts
	ErrorsFile  = "stderr.log"
	LogFile     = "supervisor.log"
	outcomeFile = "outcome.json" // how it ended, in case the journal was not told
	familyFile  = "family.json"  // its processes, in case its supervisor is killed
)

// A Job is everything a supervisor needs to know. It is made for the one
// process that does it and stored nowhere.
type Job struct {
	ID       string // subagent_id
	Dir      string // the agent's folder, absolute
	Command  []string
	Resume   []string // resumes the same session, whose id replaces Session in it; empty if the host cannot
	Env      []string // NAME=value, on top of the supervisor's own
	Unset    []string // names of variables that the host must not get
	Cwd      string
	Prompt   string  // on stdin: the task, and what the agent is told with it
	GoOn     string  // prompt after a transient error
	HandBack string  // prompt of the last turn, once a limit is reached
	Fatal    string  // words on stderr that end the agent at once
	SpentUSD float64 // earlier cost of the session, which hosts include
	Limits   Limits
}

// Session is the placeholder in Job.Resume for the id of the host's session, at
// the end of a word.
const Session = "{session}"

// Limits bound what an agent may use. Zero means no limit.
type Limits struct {
	Start     time.Duration `json:"startNs,omitempty"` // to its first line
	Idle      time.Duration `json:"idleNs,omitempty"`  // without a new line
	Wall      time.Duration `json:"wallNs,omitempty"`  // total
	Tokens    int64         `json:"tokens,omitempty"`  // prompt and answers, cached ones too
	CostUSD   float64       `json:"costUSD,omitempty"`
	SameCalls int           `json:"sameCalls,omitempty"` // identical tool calls in a row
	Stale     int           `json:"stale,omitempty"`     // consecutive answers that neither said, asked nor learnt anything new
	Retries   int           `json:"retries,omitempty"`   // after transient errors
	Output    int64         `json:"output,omitempty"`    // bytes it may print
}

// Pace holds a supervisor's intervals; tests are faster than people.
type Pace struct {
	Look     time.Duration // between two looks at the output
	Tell     time.Duration // between two reports to the journal
	Grace    time.Duration // from SIGTERM to SIGKILL
	Linger   time.Duration // how long a host may stay after it said that it is done
	HandBack time.Duration // for a last turn
	Retry    time.Duration // before the first retry; doubles
	Patience time.Duration // with a journal that cannot be written
}

// DefaultPace is the pace of real agents (spec: agents §8).
var DefaultPace = Pace{
	Look: 50 * time.Millisecond, Tell: time.Second, Grace: 10 * time.Second, Linger: 30 * time.Second,
	HandBack: time.Minute, Retry: 2 * time.Second, Patience: time.Minute,
}

// Progress is how far an agent has got.
type Progress struct {
	Session    string      `json:"session,omitempty"` // of the host; empty until known
	Text       string      `json:"text,omitempty"`    // its last words so far
	LastTool   string      `json:"last_tool,omitempty"`
	Model      string      `json:"model,omitempty"` // that answered last, as the host names it
	ToolCalls  int64       `json:"tool_uses"`
	Turns      int         `json:"turns"` // answers of the model
	Usage      core.Usage  `json:"usage"`
	Below      core.Usage  `json:"below,omitzero"`            // of subagents of the host's own, if a gateway measures it
	Metered    bool        `json:"metered,omitempty"`         // Usage and Below are what a gateway measured
	Thinking   int64       `json:"thinking_tokens,omitempty"` // as the host counts, else estimated from visible reasoning
	TreeUSD    float64     `json:"treeUSD,omitempty"`         // including the host's own subagents, if the host reports them and no gateway measures
	SessionUSD float64     `json:"sessionUSD,omitempty"`      // TreeUSD plus the session's earlier cost
	Attempt    int         `json:"attempt,omitempty"`         // retries so far
	LastLine   core.Millis `json:"lastLine,omitempty"`        // when the host last printed
}

// Cost returns what the agent has cost as far as is known, in US dollars.
func (p Progress) Cost() float64 { return max(p.Usage.CostUSD+p.Below.CostUSD, p.TreeUSD) }

// Used returns what the agent has used; its cost is Cost.
func (p Progress) Used() core.Usage {
	used := p.Usage.Add(p.Below)
	used.CostUSD = p.Cost()
	return used
}

// Tokens returns how many tokens the agent has used, including cached ones.
func (p Progress) Tokens() int64 { return p.Usage.Tokens() + p.Below.Tokens() }

// MeteredAs returns p with what was measured of its usage, rather than what the output
// says. Tool calls, which only the output tells, stay.
func (p Progress) MeteredAs(measured Progress) Progress {
	calls := p.Usage.ToolCalls
	p.Usage, p.Below, p.Metered, p.TreeUSD = measured.Usage, measured.Below, true, 0
	p.Usage.ToolCalls = calls
	return p
}

// An Outcome is how an agent ended.
type Outcome struct {
	State    core.AgentState `json:"state"`
	Reason   string          `json:"stop_reason"`       // in a few words
	Text     string          `json:"text"`              // its answer, or its last words where Partial
	Partial  bool            `json:"partial"`           // it was not finished
	Error    string          `json:"error,omitempty"`   // the host's description of what was wrong
	Refused  []string        `json:"refused,omitempty"` // tools that it called but was not allowed to use, as far as the host reports
	Stderr   string          `json:"stderr,omitempty"`  // the end of what the host wrote there, unless it completed
	ExitCode int             `json:"exitCode"`          // of the last process; -1: a signal
	Progress
	StartedAt core.Millis `json:"startedAt"`
	EndedAt   core.Millis `json:"endedAt"`
}

// A Retry is an attempt that follows one that failed.
type Retry struct {
	Attempt int           `json:"attempt"` // from 1
	Reason  string        `json:"reason"`
	Delay   time.Duration `json:"delayNs"`
}

// Orders are what the journal knows and the supervisor does not.
type Orders struct {
	Stop   core.AgentState // the agent must end like this; empty: it may continue
	Reason string
	Until  core.Millis // it has at least until then, whatever Limits.Wall says; 0: no extension
}

// A Journal records what happens. Each method may be called again with the same
// argument.
type Journal interface {
	// Begin is called before anything runs.
	Begin(ctx context.Context, by Process) error
	// Active is called when the host has printed its first line.
	Active(ctx context.Context, p Progress) error
	// Tell is called from time to time, and says whether the agent may
	// continue.
	Tell(ctx context.Context, p Progress) (Orders, error)
	// Retry is called before the pause that precedes another attempt.
	Retry(ctx context.Context, r Retry) error
	// End is called last.
	End(ctx context.Context, o Outcome) error
}

// LoadOutcome reads how the agent of a folder ended, as its supervisor recorded
// it; known is false if there is no record.
func LoadOutcome(dir string) (o Outcome, known bool, err error) {
	raw, err := readFile(filepath.Join(dir, outcomeFile), maxOutcome)
	if errors.Is(err, fs.ErrNotExist) {
		return o, false, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &o)
	}
	if err == nil && !o.Possible() {
		err = fmt.Errorf("%s does not say how an agent ended", outcomeFile)
	}
	if err != nil {
		return Outcome{}, false, err
	}
	return o, true, nil
}

// maxOutcome bounds how an agent ended in its folder, in bytes; maxWritten bounds the
// texts in it. JSON writes a byte as up to six.
const (
	maxOutcome = 16 << 20
	maxWritten = 1 << 20
)

// Possible reports whether an agent can have ended like this: the agent can
// write to its folder, too.
func (o Outcome) Possible() bool {
	final := []core.AgentState{core.AgentCompleted, core.AgentError, core.AgentTimeout, core.AgentCancelled, core.AgentOrphaned}
	counts := []int64{o.ToolCalls, o.Thinking}
	for _, u := range []core.Usage{o.Usage, o.Below} {
		counts = append(counts, u.TokensIn, u.TokensOut, u.CacheRead, u.CacheWritten, u.ToolCalls)
	}
	const most = 1e12 // of whatever is counted, and in US dollars
	costs := []float64{o.Usage.CostUSD, o.Below.CostUSD, o.TreeUSD, o.SessionUSD}
	return slices.Contains(final, o.State) &&
		!slices.ContainsFunc(counts, func(n int64) bool { return n < 0 || n > most }) &&
		!slices.ContainsFunc(costs, func(usd float64) bool { return usd < 0 || usd > most })
}
