// Package core holds flame's values and pure rules: frames and the moves they
// allow, the tree, the context a frame is shown, compaction prompts, the
// heuristics for subagents and for autonomy. It knows no store, no clock and no
// context.Context; its callers bring the time and store what it returns.
package core

import (
	"slices"
	"strings"
	"time"
)

// Millis is a point in time in milliseconds since the Unix epoch; 0 is unset.
type Millis int64

// MillisOf returns t as Millis.
func MillisOf(t time.Time) Millis { return Millis(t.UnixMilli()) }

// Time returns m as a time.Time in UTC.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }

// Status is a frame's stage of life.
type Status string

// The statuses of a frame, by their names in JSON, in the store and in tools.
const (
	Planned     Status = "planned"
	InProgress  Status = "in_progress"
	Completed   Status = "completed"
	Failed      Status = "failed"
	Blocked     Status = "blocked"
	Invalidated Status = "invalidated"
)

// Statuses lists every status in the order in which trees and statistics show
// them.
var Statuses = []Status{InProgress, Planned, Completed, Blocked, Failed, Invalidated}

// next lists the statuses that each status may change to.
var next = map[Status][]Status{
	Planned:     {InProgress, Invalidated},
	InProgress:  {Completed, Failed, Blocked, Invalidated},
	Blocked:     {InProgress, Completed, Failed, Invalidated},
	Completed:   {InProgress, Invalidated},
	Failed:      {InProgress, Invalidated},
	Invalidated: {Invalidated},
}

// Valid reports whether s is one of the known statuses.
func (s Status) Valid() bool { return slices.Contains(Statuses, s) }

// Ended reports whether work in a frame of this status has ended, successfully
// or not.
func (s Status) Ended() bool { return s == Completed || s == Failed || s == Blocked }

// Usage is what the work in one frame consumed, excluding its children's.
type Usage struct {
	TokensIn     int64   `json:"tokensIn"`     // prompt tokens that no cache served
	TokensOut    int64   `json:"tokensOut"`    // tokens the model wrote
	CacheRead    int64   `json:"cacheRead"`    // prompt tokens served from a cache
	CacheWritten int64   `json:"cacheWritten"` // prompt tokens put into a cache
	CostUSD      float64 `json:"costUSD"`      // in US dollars
	ToolCalls    int64   `json:"toolCalls"`    // number of tool calls

	Unpriced int64 `json:"unpriced,omitempty"` // tokens among these whose price is not known: CostUSD lacks them
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return u.with(v, func(x, y int64) int64 { return x + y }, func(x, y float64) float64 { return x + y })
}

// Minus returns the difference of u and v.
func (u Usage) Minus(v Usage) Usage {
	return u.with(v, func(x, y int64) int64 { return x - y }, func(x, y float64) float64 { return x - y })
}

// Max returns the larger value of each field.
func (u Usage) Max(v Usage) Usage {
	return u.with(v, func(x, y int64) int64 { return max(x, y) }, func(x, y float64) float64 { return max(x, y) })
}

// with combines each field of u with that of v.
func (u Usage) with(v Usage, count func(x, y int64) int64, cost func(x, y float64) float64) Usage {
	return Usage{
		TokensIn: count(u.TokensIn, v.TokensIn), TokensOut: count(u.TokensOut, v.TokensOut), CacheRead: count(u.CacheRead, v.CacheRead),
		CacheWritten: count(u.CacheWritten, v.CacheWritten), CostUSD: cost(u.CostUSD, v.CostUSD), ToolCalls: count(u.ToolCalls, v.ToolCalls),
		Unpriced: count(u.Unpriced, v.Unpriced),
	}
}

// Within reports whether no count is less than least or more than most.
func (u Usage) Within(least, most int64) bool {
	return min(u.TokensIn, u.TokensOut, u.CacheRead, u.CacheWritten, u.ToolCalls) >= least &&
		max(u.TokensIn, u.TokensOut, u.CacheRead, u.CacheWritten, u.ToolCalls) <= most
}

// The most that one answer can have used. What hosts, logs and servers report is foreign: without
// bounds, one line could spoil a total for ever, or make it negative.
const (
	mostTokens = 1e10
	mostUSD    = 1e6
)

// Possible returns u, as one answer reported it, if an answer can have used so much, else nothing but
// its tool calls.
func (u Usage) Possible() Usage {
	calls := Usage{ToolCalls: u.ToolCalls}
	switch {
	case u.Within(0, mostTokens) && u.CostUSD >= 0 && u.CostUSD <= mostUSD: // not NaN
		return u
	case calls.Within(0, mostTokens):
		return calls
	}
	return Usage{}
}

// Tokens returns how many tokens were used, including cached ones.
func (u Usage) Tokens() int64 { return u.TokensIn + u.TokensOut + u.CacheRead + u.CacheWritten }

// A Frame is a unit of work. Its ID never changes; Parent is empty for a root.
type Frame struct {
	ID                 string   `json:"id"`                           // "frame-" or "plan-" and 8 characters of [a-z0-9]; imported frames keep their own
	Parent             string   `json:"parent,omitempty"`             // id of the frame above; empty for a root
	Machine            string   `json:"machine,omitempty"`            // id of the machine that it belongs to; empty for this machine
	Session            string   `json:"session,omitempty"`            // host session that works, or last worked, in it; empty while planned
	Status             Status   `json:"status"`                       // only changed by Transition
	Goal               string   `json:"goal"`                         // what the work is for
	GoalIsDefault      bool     `json:"goalIsDefault,omitempty"`      // flame made the goal up; a prompt or title may replace it
	SuccessCriteria    string   `json:"successCriteria,omitempty"`    // when the work counts as done
	Summary            string   `json:"summary,omitempty"`            // dense outcome, shown in other frames' contexts
	Results            string   `json:"results,omitempty"`            // full outcome, fetched on demand
	Artifacts          []string `json:"artifacts"`                    // append-only, without repeats, relative to their worktree
	Decisions          []string `json:"decisions"`                    // append-only, without repeats
	PlannedChildren    []string `json:"plannedChildren,omitempty"`    // ids planned under it, in order; they stay after activation
	Confidence         *float64 `json:"confidence,omitempty"`         // 0..1, how sure its maker is of the result
	InvalidationReason string   `json:"invalidationReason,omitempty"` // set by Invalidate
	InvalidatedAt      Millis   `json:"invalidatedAt,omitempty"`      // set by Invalidate
	LogPath            string   `json:"logPath,omitempty"`            // set when its log is exported
	CreatedAt          Millis   `json:"createdAt"`
	StartedAt          Millis   `json:"startedAt,omitempty"`  // last time it became in_progress
	EndedAt            Millis   `json:"endedAt,omitempty"`    // last time it ended or was invalidated
	UpdatedAt          Millis   `json:"updatedAt"`            // last change of any field
	ArchivedAt         Millis   `json:"archivedAt,omitempty"` // set by prune; archived frames are shown only on demand
	Usage              Usage    `json:"usage"`
}

// Transition changes the frame's status to to at time now. It returns ErrInvalid if
// the frame's status does not allow that.
func (f *Frame) Transition(to Status, now Millis) error {
	if !f.CanTransition(to) {
		problem := Invalidf("frame %s is %s and cannot become %s", f.ID, f.Status, to)
		if f.Status == Invalidated {
			return problem.WithHint("an invalidated frame stays invalidated; plan or push a new one")
		}
		return problem.WithHint("%s can become: %s", f.Status, strings.Join(Words(next[f.Status]...), ", "))
	}
	f.Status, f.UpdatedAt = to, now
	switch {
	case to == InProgress:
		f.StartedAt, f.EndedAt = now, 0
	case to != Planned:
		f.EndedAt = now
	}
	return nil
}

// Reopen puts an ended frame back into progress as if it had not ended: StartedAt stays.
func (f *Frame) Reopen(now Millis) error {
	started := f.StartedAt
	err := f.Transition(InProgress, now)
	f.StartedAt = started
	return err
}

// Return makes a frame in progress planned again, without the session and the times of its start.
func (f *Frame) Return(now Millis) {
	f.Status, f.Session, f.StartedAt, f.EndedAt, f.UpdatedAt = Planned, "", 0, 0, now
}

// IsRemote reports whether the frame belongs to another machine.
func (f Frame) IsRemote() bool { return f.Machine != "" }

// MachineSuffix returns the text behind the goal of another machine's frame: " @" and that machine. It is
// empty for frames of this machine.
func (f Frame) MachineSuffix() string {
	if !f.IsRemote() {
		return ""
	}
	return " @" + OneLine(f.Machine, 0)
}

// IsOpen reports whether the frame is in progress on this machine.
func (f Frame) IsOpen() bool { return f.Status == InProgress && !f.IsRemote() }

// CanTransition reports whether Transition to this status would be allowed.
func (f Frame) CanTransition(to Status) bool { return slices.Contains(next[f.Status], to) }

// Invalidate marks the frame as no longer valid, whatever its status.
func (f *Frame) Invalidate(reason string, now Millis) error {
	if err := f.Transition(Invalidated, now); err != nil {
		return err
	}
	f.InvalidationReason, f.InvalidatedAt = reason, now
	return nil
}

// AddArtifact appends an artifact and reports whether it was new.
func (f *Frame) AddArtifact(artifact string, now Millis) bool {
	return f.add(&f.Artifacts, artifact, now)
}

// AddDecision appends a decision and reports whether it was new.
func (f *Frame) AddDecision(decision string, now Millis) bool {
	return f.add(&f.Decisions, decision, now)
}

func (f *Frame) add(list *[]string, item string, now Millis) bool {
	if slices.Contains(*list, item) {
		return false
	}
	*list = append(*list, item)
	f.UpdatedAt = now
	return true
}
