package codex

import (
	"slices"
	"strconv"

	"flame/core"
	"flame/core/evidence"
	"flame/transcripts"
)

// LastTurn returns the last turn from the end of a thread's file. It decodes only the beginning and
// end of long texts, and skips unreadable lines.
func LastTurn(end []byte) (t transcripts.TurnSummary) {
	results := map[string]string{}
	for line := range transcripts.Backwards(end) {
		var l entry
		if len(t.Calls) >= transcripts.MaxTurnCalls {
			break
		}
		if !transcripts.DecodeLenient(transcripts.ShortenJSON(line), &l) {
			continue
		}
		p := l.Payload
		if l.Type == "event_msg" && p.Type == "task_started" {
			break
		}
		switch {
		case l.Type == "turn_context" && t.Model == "":
			t.Model = p.Model
		case l.Type == "token_usage_record" && t.Tokens == 0:
			t.Tokens = int(max(0, p.Usage.Input))
		case l.Type == "event_msg" && p.Type == "token_count" && t.Tokens == 0:
			t.Tokens = int(max(0, p.Info.Last.Input))
		case l.Type == "event_msg" && p.Type == "task_complete":
			t.Over = true
		case l.Type == "event_msg" && p.Type == "turn_aborted":
			t.Stopped = p.Reason
		case l.Type == "response_item" && p.Output != "":
			results[p.Call] = string(p.Output)
		case l.Type == "response_item" && p.Type == "message" && p.Speaker == core.RoleAssistant && t.Said == "":
			t.Said = string(p.Content)
		case l.Type == "response_item" && p.Call != "":
			if output, ended := results[p.Call]; ended {
				t.Calls = append(t.Calls, callOf(p, output))
			}
		}
	}
	slices.Reverse(t.Calls)
	return t
}

func callOf(p payload, output string) evidence.Call {
	call := evidence.Call{Tool: p.tool(), Input: transcripts.CallInput(asJSON(p.Arguments + p.Input)), OK: !failed(output), Output: output}
	if status, err := strconv.Atoi(statusOf(output)); err == nil {
		call.Exit = &status
	}
	return call
}
