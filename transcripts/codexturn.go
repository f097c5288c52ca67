package transcripts

import (
	"bytes"
	"iter"
	"slices"
	"strconv"

	"flame/core"
	"flame/core/judge"
)

// linesBackwards returns the lines of the end of a log, the last one first.
func linesBackwards(end []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(end) > 0 {
			end = bytes.TrimRight(end, "\r\n")
			line := end[bytes.LastIndexByte(end, '\n')+1:]
			end = end[:len(end)-len(line)]
			if !yield(line) {
				return
			}
		}
	}
}

// CodexTurn returns the last turn from the end of a thread's file. It decodes only the beginning and
// end of long texts, and skips unreadable lines.
func CodexTurn(end []byte) (t Turn) {
	results := map[string]string{}
	for line := range linesBackwards(end) {
		var l codexLine
		if len(t.Calls) >= maxTurnCalls {
			break
		}
		if !loose(shortened(line), &l) {
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
				t.Calls = append(t.Calls, codexCall(p, output))
			}
		}
	}
	slices.Reverse(t.Calls)
	return t
}

func codexCall(p codexPayload, output string) judge.Call {
	call := judge.Call{Tool: p.tool(), Input: CallInput(asJSON(p.Arguments + p.Input)), OK: !codexFailed(output), Output: output}
	if status, err := strconv.Atoi(codexStatus(output)); err == nil {
		call.Exit = &status
	}
	return call
}
