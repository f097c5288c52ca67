package gemini

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"flame/core"
	"flame/core/evidence"
	"flame/transcripts"
)

// maxHead bounds in bytes where the type of a message is looked for in its line.
const maxHead = 256

// LastTurn returns the last turn from the end of a session's file. It decodes only the beginning and
// end of long texts, and skips unreadable lines.
func LastTurn(end []byte) (t transcripts.TurnSummary) {
	read, answered := map[string]bool{}, false
	for line := range transcripts.Backwards(end) {
		var r record
		if len(t.Calls) >= transcripts.MaxTurnCalls {
			break
		}
		if !transcripts.DecodeLenient(transcripts.ShortenJSON(line), &r) || r.Set != nil {
			continue
		}
		if r.Type == "user" && r.Content.words() != "" {
			break
		}
		if r.Type != "gemini" || read[r.ID] { // a later line of the same answer has more
			continue
		}
		read[r.ID] = true
		if !answered {
			t.Said, t.Model = strings.TrimSpace(r.Content.String()), r.Model
			t.Over = t.Said != "" && len(r.Calls) == 0
		}
		if t.Tokens == 0 && r.Tokens != nil {
			t.Tokens = int(max(0, r.Tokens.Input))
		}
		answered = true
		for _, c := range slices.Backward(r.Calls) {
			t.Calls = append(t.Calls, judged(c))
			if c.Status == "cancelled" && t.Stopped == "" {
				t.Stopped = c.Status
			}
		}
	}
	slices.Reverse(t.Calls)
	return t
}

// judged returns a call as flame judges it.
func judged(c call) evidence.Call {
	call := evidence.Call{Tool: c.Name, Input: transcripts.CallInput(c.Args), OK: !c.failed(), Output: c.output()}
	if status, ok := exit(call.Output); ok {
		call.Exit, call.OK = &status, status == 0
	}
	return call
}

// exit returns the status with which a command ended; ok is false if the output names none.
func exit(output string) (status int, ok bool) {
	_, after, found := strings.Cut(output, "\nExit Code: ")
	if !found {
		return 0, false
	}
	number, _, _ := strings.Cut(after, "\n")
	status, err := strconv.Atoi(strings.TrimSpace(number))
	return status, err == nil
}

// LastSummary returns the summary of the last compaction in the end of a session's file, and when that
// was; empty if it has none.
func LastSummary(end []byte) (summary string, at core.Millis) {
	for line := range transcripts.Backwards(end) {
		var r record
		if bytes.Contains(line, snapshotTag) && transcripts.DecodeLenient(line, &r) && r.Set != nil {
			if summary, at = r.Set.snapshot(); summary != "" {
				return summary, at
			}
		}
	}
	return "", 0
}

// snapshotTag begins a summary.
var snapshotTag = []byte("state_snapshot")

// OpenCallTime returns the time of the last answer in the end of a session's file, if it may still call
// tools: none of its calls has ended. It is 0 otherwise.
func OpenCallTime(end []byte) (answered core.Millis) {
	for line := range transcripts.Backwards(end) {
		var r record
		if !transcripts.DecodeLenient(transcripts.ShortenJSON(line), &r) || r.Set != nil {
			continue
		}
		if r.Type == "gemini" && len(r.Calls) == 0 {
			return core.Millis(r.Time)
		}
		if r.Type == "gemini" || r.Type == "user" {
			return 0
		}
	}
	return 0
}
