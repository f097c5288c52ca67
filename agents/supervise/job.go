// Package supervise runs one agent of a host in a process of its own: a
// supervisor, which outlives the call and the server that requested the agent,
// keeps everything it prints in a file, enforces its limits, retries after
// transient errors, and reports to a journal how it ended, once. What the lines
// of a host mean comes from outside, as core messages.
package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
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
	ID          string // subagent_id
	Dir         string // the agent's folder, absolute
	Command     []string
	Resume      []string // resumes the same session, whose id replaces Session in it; empty if the host cannot
	Env         []string // NAME=value, on top of the supervisor's own
	Unset       []string // names of variables that the host must not get
	Cwd         string
	Prompt      string     // on stdin: the task and its context
	RetryPrompt string     // prompt after a transient error
	FinalPrompt string     // prompt of the last turn, once a limit is reached
	Fatal       string     // words on stderr that end the agent at once
	SpentUSD    float64    // earlier cost of the session, which hosts include
	Spent       core.Usage // earlier usage of the session, which some hosts include
	Limits      Limits
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

// Within returns the limits, each at most the limit in most. Retries stay: for them zero means
// no retries.
func (l Limits) Within(most Limits) Limits {
	l.Start, l.Idle, l.Wall = least(l.Start, most.Start), least(l.Idle, most.Idle), least(l.Wall, most.Wall)
	l.Tokens, l.CostUSD, l.Output = least(l.Tokens, most.Tokens), least(l.CostUSD, most.CostUSD), least(l.Output, most.Output)
	l.SameCalls, l.Stale = least(l.SameCalls, most.SameCalls), least(l.Stale, most.Stale)
	return l
}

// least returns the lower of two limits; 0 means no limit.
func least[T int | int64 | float64 | time.Duration](x, y T) T {
	if x == 0 || y == 0 {
		return max(x, y)
	}
	return min(x, y)
}

// Intervals holds a supervisor's intervals; tests are faster than people.
type Intervals struct {
	Look     time.Duration // between two looks at the output
	Tell     time.Duration // between two reports to the journal
	Grace    time.Duration // from SIGTERM to SIGKILL
	Linger   time.Duration // how long a host may stay silent after it said that it is done
	HandBack time.Duration // for a last turn
	Retry    time.Duration // before the first retry; doubles
	Patience time.Duration // with a journal that cannot be written
}

// DefaultPace is the pace of real agents.
var DefaultPace = Intervals{
	Look: 50 * time.Millisecond, Tell: time.Second, Grace: 10 * time.Second, Linger: 5 * time.Second,
	HandBack: time.Minute, Retry: 2 * time.Second, Patience: time.Minute,
}

// linger returns how long a host may stay silent after it said that it is done. While agents of
// its own are running, another result may follow.
func (p Intervals) linger(running bool) time.Duration {
	if running {
		return 24 * p.Linger
	}
	return p.Linger
}

// Progress is the state of an agent's work.
type Progress struct {
	Session       string      `json:"session,omitempty"` // of the host; empty until known
	Text          string      `json:"text,omitempty"`    // its last words so far
	LastTool      string      `json:"last_tool,omitempty"`
	Model         string      `json:"model,omitempty"` // that answered last, as the host names it
	ToolCalls     int64       `json:"tool_uses"`
	Turns         int         `json:"turns"` // answers of the model
	Usage         core.Usage  `json:"usage"`
	SubagentUsage core.Usage  `json:"below,omitzero"`            // of subagents of the host's own, if a gateway measures it
	Metered       bool        `json:"metered,omitempty"`         // Usage and SubagentUsage are what a gateway measured
	Thinking      int64       `json:"thinking_tokens,omitempty"` // as the host counts, else estimated from visible reasoning
	TreeUSD       float64     `json:"treeUSD,omitempty"`         // including the host's own subagents, if the host reports them and no gateway measures
	SessionUSD    float64     `json:"sessionUSD,omitempty"`      // TreeUSD plus the session's earlier cost
	SessionUsage  core.Usage  `json:"sessionUsage,omitzero"`     // of the session so far, if the host reports no less
	Attempt       int         `json:"attempt,omitempty"`         // retries so far
	LastLine      core.Millis `json:"lastLine,omitempty"`        // when the host last printed a line
}

// Cost returns what the agent has cost as far as is known, in US dollars.
func (p Progress) Cost() float64 { return max(p.Usage.CostUSD+p.SubagentUsage.CostUSD, p.TreeUSD) }

// Used returns what the agent has used; its cost is Cost.
func (p Progress) Used() core.Usage {
	used := p.Usage.Add(p.SubagentUsage)
	if used.CostUSD = p.Cost(); p.TreeUSD > 0 {
		used.Unpriced = 0 // the host told the cost of all
	}
	return used
}

// Tokens returns how many tokens the agent has used, including cached ones.
func (p Progress) Tokens() int64 { return p.Usage.Tokens() + p.SubagentUsage.Tokens() }

// MeteredAs returns p with the measured usage instead of the usage in the output. Tool calls
// stay, since only the output has them.
func (p Progress) MeteredAs(measured Progress) Progress {
	calls := p.Usage.ToolCalls
	p.Usage, p.SubagentUsage, p.Metered, p.TreeUSD = measured.Usage, measured.SubagentUsage, true, 0
	p.Usage.ToolCalls = calls
	return p
}

// An Outcome is how an agent ended.
type Outcome struct {
	State    core.AgentState `json:"state"`
	Reason   string          `json:"stop_reason"`       // in a few words
	Text     string          `json:"text"`              // its answer, or its last words where Partial
	Partial  bool            `json:"partial"`           // it was not finished
	Error    string          `json:"error,omitempty"`   // the host's description of the error
	Refused  []string        `json:"refused,omitempty"` // tools that it called but was not allowed to use, as far as the host reports
	Stderr   string          `json:"stderr,omitempty"`  // the end of what the host wrote there, unless it completed
	ExitCode int             `json:"exitCode"`          // of the last process; -1: a signal
	Progress
	StartedAt core.Millis `json:"startedAt"`
	EndedAt   core.Millis `json:"endedAt"`
}

// Lacked says which tools the agent was not allowed to use; empty if it was refused none. What it did
// may lack what they would have done.
func (o Outcome) Lacked() string {
	if len(o.Refused) == 0 {
		return ""
	}
	return fmt.Sprintf("(not allowed to use %s)", core.List(o.Refused))
}

// A Retry is an attempt after a failed one.
type Retry struct {
	Attempt int           `json:"attempt"` // from 1
	Reason  string        `json:"reason"`
	Delay   time.Duration `json:"delayNs"`
}

// Directive are the decisions that the journal passes to the supervisor.
type Directive struct {
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
	// Report is called from time to time, and says whether the agent may
	// continue.
	Report(ctx context.Context, p Progress) (Directive, error)
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

// maxOutcome is the size limit of the outcome file in an agent's folder, in bytes; maxWritten
// is the limit of the texts in it. JSON writes a byte as up to six.
const (
	maxOutcome = 16 << 20
	maxWritten = 1 << 20
)

// Possible reports whether an agent can have ended like this: the agent can
// write to its folder, too.
func (o Outcome) Possible() bool {
	final := []core.AgentState{core.AgentCompleted, core.AgentError, core.AgentTimeout, core.AgentCancelled, core.AgentOrphaned}
	const most = 1e12 // for all counts, and for US dollars
	costs := []float64{o.Usage.CostUSD, o.SubagentUsage.CostUSD, o.TreeUSD, o.SessionUSD}
	return slices.Contains(final, o.State) && min(o.ToolCalls, o.Thinking) >= 0 && max(o.ToolCalls, o.Thinking) <= most &&
		o.Usage.Within(0, most) && o.SubagentUsage.Within(0, most) && o.SessionUsage.Within(0, most) &&
		!slices.ContainsFunc(costs, func(usd float64) bool { return usd < 0 || usd > most })
}

// An agent can write to its folder, so its content is not trusted: links are
// not followed, pipes are not waited for, and reads are bounded.

// Open opens a regular file in an agent's folder for reading.
func Open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		_ = file.Close() // it was only looked at
		return nil, err
	}
	return file, nil
}

// ReadFrom reads a file in an agent's folder from an offset on, at most the given number of
// bytes, and reports whether there are more.
func ReadFrom(path string, offset, most int64) (text []byte, more bool, err error) {
	file, err := Open(path)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return nil, false, err
	}
	text, err = io.ReadAll(io.LimitReader(file, most+1))
	if more = int64(len(text)) > most; more {
		text = text[:most]
	}
	return text, more, err
}

// readFile reads a file, and returns an error if it is larger than most bytes.
func readFile(path string, most int64) ([]byte, error) {
	raw, more, err := ReadFrom(path, 0, most)
	if err == nil && more {
		err = fmt.Errorf("%s has over %d bytes", path, most)
	}
	return raw, err
}

func save(path string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	fresh := path + ".new"
	_ = os.Remove(fresh) // left by a process that was killed, if any
	file, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(raw)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}
