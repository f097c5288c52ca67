package transcripts

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"

	"flame/core"
)

// OpenCode reads what `opencode export` prints of a session: one JSON document.
// A tool's call and its answer are parts of the same message there.
func OpenCode(r io.Reader) iter.Seq2[core.Message, error] {
	return func(yield func(core.Message, error) bool) {
		var export struct {
			Messages []json.RawMessage `json:"messages"`
		}
		if err := json.NewDecoder(r).Decode(&export); err != nil {
			yield(core.Message{}, fmt.Errorf("export of a session: %w", err))
			return
		}
		for _, raw := range export.Messages {
			if !yield(openCodeMessage(raw), nil) {
				return
			}
		}
	}
}

// An openCodeEntry is what we read of a message with its parts.
type openCodeEntry struct {
	Info struct {
		ID        string          `json:"id"`
		SessionID string          `json:"sessionID"`
		Role      string          `json:"role"`
		ModelID   string          `json:"modelID"`
		Summary   json.RawMessage `json:"summary"` // true marks a compaction's; users' messages have an object
		Cost      float64         `json:"cost"`
		Time      struct {
			Created core.Millis `json:"created"`
		} `json:"time"`
		Tokens struct {
			Input  int64 `json:"input"`
			Output int64 `json:"output"`
			Cache  struct {
				Read  int64 `json:"read"`
				Write int64 `json:"write"`
			} `json:"cache"`
		} `json:"tokens"`
	} `json:"info"`
	Parts []openCodePart `json:"parts"`
}

type openCodePart struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Tool   string `json:"tool"`
	CallID string `json:"callID"`
	State  struct {
		Status string          `json:"status"`
		Input  json.RawMessage `json:"input"`
		Output string          `json:"output"`
		Error  string          `json:"error"`
	} `json:"state"`
}

func openCodeMessage(raw json.RawMessage) core.Message {
	var entry openCodeEntry
	if json.Unmarshal(raw, &entry) != nil || entry.Info.Role != "user" && entry.Info.Role != "assistant" {
		return other(raw)
	}
	info := entry.Info
	m := core.Message{
		ID: info.ID, Role: core.Role(info.Role), Session: info.SessionID, Time: info.Time.Created,
		Model: info.ModelID, Summary: string(info.Summary) == "true",
		Usage: core.Usage{
			TokensIn: info.Tokens.Input, TokensOut: info.Tokens.Output,
			CacheRead: info.Tokens.Cache.Read, CacheWritten: info.Tokens.Cache.Write, CostUSD: info.Cost,
		},
	}
	for _, p := range entry.Parts {
		m.Parts = append(m.Parts, p.parts()...)
		if p.Type == "tool" {
			m.Usage.ToolCalls++
		}
	}
	return m
}

// parts gives what a part of OpenCode's says; marks of its own say nothing.
func (p openCodePart) parts() []core.Part {
	switch p.Type {
	case "text":
		return []core.Part{{Type: core.PartText, Text: p.Text}}
	case "reasoning":
		return []core.Part{{Type: core.PartReasoning, Text: p.Text}}
	case "tool":
		call := core.Part{Type: core.PartToolCall, CallID: p.CallID, Tool: p.Tool, Input: p.State.Input}
		result := core.Part{Type: core.PartToolResult, CallID: p.CallID, Tool: p.Tool, Text: p.State.Output}
		switch p.State.Status {
		case "completed":
			return []core.Part{call, result}
		case "error":
			result.Text, result.Failed = p.State.Error, true
			return []core.Part{call, result}
		}
		return []core.Part{call} // it still runs
	}
	return nil
}
