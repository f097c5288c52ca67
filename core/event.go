package core

import "encoding/json"

// EventVersion is the version of the event format written today.
const EventVersion = 1

// The events of a frame's life.
const (
	FrameCreated        = "FrameCreated"
	FramePlanned        = "FramePlanned"
	FrameActivated      = "FrameActivated"
	FrameUpdated        = "FrameUpdated"
	FrameCompleted      = "FrameCompleted"
	FrameReopened       = "FrameReopened"
	FrameInvalidated    = "FrameInvalidated"
	FrameFolded         = "FrameFolded"     // requests to the model now leave out its work
	RequestAnswered     = "RequestAnswered" // a gateway saw a request to the model, and its answer or failure
	ContextInjected     = "ContextInjected"
	SuggestionMade      = "SuggestionMade"
	SuggestionActed     = "SuggestionActed"
	CompactionRequested = "CompactionRequested"
	SummaryStored       = "SummaryStored"
)

// The events of agents, both the hosts' own and those flame starts.
const (
	SubagentDetected   = "SubagentDetected"
	SubagentSpawned    = "SubagentSpawned" // before anything runs
	SubagentActive     = "SubagentActive"  // its first line arrived
	SubagentProgress   = "SubagentProgress"
	SubagentRetry      = "SubagentRetry"
	SubagentStop       = "SubagentStop" // at every end, with the record of the whole run
	SubagentCompleted  = "SubagentCompleted"
	SubagentError      = "SubagentError"
	SubagentTimeout    = "SubagentTimeout"
	SubagentCancelled  = "SubagentCancelled"
	SubagentOrphaned   = "SubagentOrphaned"
	TranscriptEvent    = "TranscriptEvent" // event_type in its data says which
	PermissionDecision = "PermissionDecision"
	PermissionGranted  = "PermissionGranted" // by a person
	BudgetWarning      = "BudgetWarning"
	BudgetExceeded     = "BudgetExceeded"

	HandoffInitiated = "HandoffInitiated"
	HandoffComplete  = "HandoffComplete"
	HandoffResolved  = "HandoffResolved"

	ConvergenceInitiated  = "ConvergenceInitiated"
	ConvergenceComplete   = "ConvergenceComplete"
	ManualReviewRequired  = "ManualReviewRequired"
	ConflictReviewRequest = "ConflictReviewRequest"
	FileConflictDetected  = "FileConflictDetected"
)

// The kinds of TranscriptEvent, as event_type in its data.
const (
	EventSubagentStart    = "subagent_start"
	EventConflictDetected = "conflict_detected" // once for each conflict
	EventConflictResolved = "conflict_resolved" // each time a different side wins
)

// An Event is one entry of the append-only log: what happened, when, and to
// which frame, session or agent.
type Event struct {
	V             int             `json:"v"`
	Seq           int64           `json:"seq"` // assigned by the store, increases with each event
	TS            Millis          `json:"ts"`
	Event         string          `json:"event"`
	Session       string          `json:"session,omitempty"`
	ParentSession string          `json:"parentSession,omitempty"`
	Frame         string          `json:"frame,omitempty"`
	SubagentID    string          `json:"subagent_id,omitempty"`
	Depth         int             `json:"depth,omitempty"` // levels below the root session
	Host          string          `json:"host,omitempty"`
	Data          json.RawMessage `json:"data,omitempty"` // a JSON object, by kind of event
}

// EventKinds lists all kinds of events, in the order of the lists above.
var EventKinds = []string{
	FrameCreated, FramePlanned, FrameActivated, FrameUpdated, FrameCompleted, FrameReopened, FrameInvalidated, FrameFolded,
	RequestAnswered, ContextInjected, SuggestionMade, SuggestionActed, CompactionRequested, SummaryStored,
	SubagentDetected, SubagentSpawned, SubagentActive, SubagentProgress, SubagentRetry, SubagentStop,
	SubagentCompleted, SubagentError, SubagentTimeout, SubagentCancelled, SubagentOrphaned, TranscriptEvent,
	PermissionDecision, PermissionGranted, BudgetWarning, BudgetExceeded,
	HandoffInitiated, HandoffComplete, HandoffResolved,
	ConvergenceInitiated, ConvergenceComplete, ManualReviewRequired, ConflictReviewRequest, FileConflictDetected,
}
