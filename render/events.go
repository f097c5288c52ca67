package render

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/samber/lo"

	"flame/agents/converge"
	"flame/core"
	"flame/transcripts"
)

// An eventFormat describes events of one kind: in words, then by these fields of their data.
type eventFormat struct {
	says   string
	fields []string
}

// eventTexts are the words for each kind of event.
var eventTexts = sync.OnceValue(func() map[string]eventFormat {
	return map[string]eventFormat{
		core.FrameCreated:        {"started", []string{"machine"}},
		core.FramePlanned:        {"planned", []string{"machine"}},
		core.FrameActivated:      {"taken up", []string{"machine", "fromMachine"}},
		core.FrameUpdated:        {"changed", []string{"fields", "goal", "successCriteria", "artifacts", "decisions", "logPath", "machine"}},
		core.FrameCompleted:      {"ended", []string{"status", "machine"}},
		core.FrameReopened:       {"opened again", []string{"machine", "fromMachine"}},
		core.FrameInvalidated:    {"invalidated", []string{"reason", "machine"}},
		core.FrameFolded:         {"left out of later requests", []string{"messages", "tokens"}},
		core.RequestAnswered:     {"a request to the model", []string{"class", "status", "first", "out", "cost"}},
		core.ContextInjected:     {"its agent got a context", []string{"kind"}},
		core.SuggestionMade:      {"suggested", []string{"type", "text"}},
		core.SuggestionActed:     {"a suggestion was followed", []string{"type", "text"}},
		core.CompactionRequested: {"waits for a summary", nil},
		core.SummaryStored:       {"got a summary", []string{"machine"}},

		core.SubagentDetected:   {"a subagent was seen", []string{"title"}},
		core.SubagentSpawned:    {"an agent was started", []string{"agent_type", "description", "machine_id"}},
		core.SubagentActive:     {"the agent runs", nil},
		core.SubagentProgress:   {"the agent works", []string{"last_tool"}},
		core.SubagentRetry:      {"the agent will try again", []string{"reason"}},
		core.SubagentStop:       {"the agent's run ended", []string{"outcome", "stop_reason", "error", "machine_id"}},
		core.SubagentCompleted:  {"the agent completed", []string{"context"}},
		core.SubagentError:      {"the agent failed", []string{"reason", "error"}},
		core.SubagentTimeout:    {"the agent ran out of time", []string{"reason"}},
		core.SubagentCancelled:  {"the agent was cancelled", []string{"reason"}},
		core.SubagentOrphaned:   {"the agent was lost", []string{"reason"}},
		core.TranscriptEvent:    {"noted in the transcript", []string{"event_type", "task_description"}},
		core.PermissionDecision: {"the agent's permissions were decided", []string{"agent_type"}},
		core.PermissionGranted:  {"a person granted permissions", nil},
		core.BudgetWarning:      {"the agent's budget is nearly used", nil},
		core.BudgetExceeded:     {"the agent's budget is used", []string{"reason"}},

		core.HandoffInitiated: {"handed over to the agent", nil},
		core.HandoffComplete:  {"the handoff is over", []string{"outcome"}},
		core.HandoffResolved:  {"the handoff was settled", []string{"outcome", "on_failure"}},

		core.ConvergenceInitiated:  {"results are combined", []string{"convergence", "strategy"}},
		core.ConvergenceComplete:   {"results were combined", []string{"convergence"}},
		core.ManualReviewRequired:  {"a person has to review", []string{"convergence"}},
		core.ConflictReviewRequest: {"a review was asked for", []string{"convergence"}},
		core.FileConflictDetected:  {"agents changed the same file", []string{"path"}},
	}
})

// eventForms are the forms of fields that are numbers.
var eventForms = map[string]func(n float64) string{
	"messages": func(n float64) string { return Count(int64(n), "message") }, "cost": core.Money,
	"tokens": func(n float64) string { return core.Tokens(int64(n)) + ", estimated" }, "out": func(n float64) string { return core.Tokens(int64(n)) + " out" },
	"first": func(n float64) string { return core.Span(int64(n)) + " to the first token" },
}

// eventSigns precede the values of fields that need one.
var eventSigns = map[string]string{"machine": "@", "machine_id": "@", "fromMachine": "from @"}

// Event returns an event in one line of a terminal of that width (0: unknown), as it is read at now: its
// number, time and frame, its words, and the goal of the frame.
func Event(e core.Event, goal string, now core.Millis, width int) string {
	about := core.OneLine(e.Frame, 0)
	if e.SubagentID != "" {
		about = strings.TrimSpace(about + " " + core.OneLine(e.SubagentID, 0))
	}
	text := EventWords(e)
	if goal != "" {
		text += " " + Quote(goal)
	}
	head := fmt.Sprintf("%d %s %s: ", e.Seq, Time(e.TS, now), about)
	if about == "" {
		head = strings.TrimSuffix(head, " : ") + " "
	}
	room := 200
	if width > 0 {
		room = max(20, width-len(head)-1)
	}
	return head + core.OneLine(text, room)
}

// EventWords describes an event.
func EventWords(e core.Event) string {
	known, ok := eventTexts()[e.Event]
	if !ok {
		return e.Event
	}
	var data map[string]any
	_ = json.Unmarshal(e.Data, &data) // ignore data of another form
	var details []string
	for _, field := range known.fields {
		text := eventValue(data[field])
		if n, is := data[field].(float64); is && eventForms[field] != nil {
			text = eventForms[field](n)
		}
		if text != "" {
			details = append(details, core.OneLine(eventSigns[field]+text, 80))
		}
	}
	if len(details) == 0 {
		return known.says
	}
	return known.says + " (" + strings.Join(details, ": ") + ")"
}

// eventValue returns a value of an event's data in words: a text, a number with at most
// four decimals, or a list of those.
func eventValue(v any) string {
	switch v := v.(type) {
	case nil, map[string]any:
		return ""
	case []any:
		return strings.Join(lo.Map(v, func(one any, _ int) string { return eventValue(one) }), ", ")
	case float64:
		return strconv.FormatFloat(math.Round(v*1e4)/1e4, 'f', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

// Trajectory returns the messages, calls and events of the agents of a convergence, one per
// line, with the conflicts in their places.
func Trajectory(entries []converge.Entry, now core.Millis) string {
	var b strings.Builder
	for _, e := range entries {
		at := Time(e.TS, now)
		if e.Conflict != nil {
			fmt.Fprintf(&b, "%s CONFLICT %s between %s\n", at, e.Conflict.ID, strings.Join(e.Conflict.SubagentIDs, ", "))
			continue
		}
		fmt.Fprintf(&b, "%s %s %s\n", at, e.SubagentID, core.OneLine(entryText(e), maxEntry))
	}
	return b.String()
}

// maxEntry is the length in characters to which an entry of a trajectory is
// cut.
const maxEntry = 160

// entryText returns a message, a call or an event of an agent.
func entryText(e converge.Entry) string {
	switch {
	case e.Event != nil:
		return EventWords(*e.Event)
	case e.Said.Type == core.PartToolCall:
		return e.Said.Tool + " " + transcripts.CallInput(e.Said.Input)
	}
	return "says: " + e.Said.Text
}
