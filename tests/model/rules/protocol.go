package rules

import (
	"fmt"
	"slices"
	"strings"
)

// mostMarks is the number of blocks of a request that may have a cache_control.
const mostMarks = 4

// Obeys returns an error in the API's words for the first rule that a request
// breaks.
func (b Body) Obeys() error {
	if err := Obeys(b.Messages); err != nil {
		return err
	}
	if err := b.thoughtFirst(); err != nil {
		return err
	}
	if marks := b.marks(); marks > mostMarks {
		return fmt.Errorf("a maximum of %d blocks with cache_control may be provided, found %d", mostMarks, marks)
	}
	return nil
}

// Obeys returns an error for the first rule that a list of messages breaks: the order of roles,
// pairs of calls and results, no empty content.
func Obeys(messages []Message) error {
	if len(messages) == 0 {
		return fmt.Errorf("messages: at least one message is required")
	}
	turns := joined(messages)
	for i := range turns {
		n := neighbours{at: turns[i]}
		if i > 0 {
			n.before = turns[i-1]
		}
		if i+1 < len(turns) {
			n.after = turns[i+1]
		}
		for _, rule := range protocol {
			if broken := rule(n); broken != "" {
				return fmt.Errorf("messages.%d: %s", n.at.index, broken)
			}
		}
	}
	return nil
}

// A turn is a message, or consecutive ones of the user, which are one message to the API.
type turn struct {
	Message
	index int // of the first in the request
}

func joined(messages []Message) []turn {
	var turns []turn
	for i, m := range messages {
		if last := len(turns) - 1; last >= 0 && m.Role == user && turns[last].Role == user {
			turns[last].Blocks = append(slices.Clip(turns[last].Blocks), m.Blocks...)
			continue
		}
		turns = append(turns, turn{m, i})
	}
	return turns
}

// Roles of messages.
const (
	user      = "user"
	assistant = "assistant"
	system    = "system"
)

// neighbours are a turn and those beside it. The first has none before it, the last none after it:
// their role is empty.
type neighbours struct{ before, at, after turn }

// protocol has the rules for one turn, in the order in which they are checked. Each returns the
// violation, or nothing.
var protocol = []func(neighbours) string{
	knownRole, notEmpty, noEmptyText, systemFollowsUser, systemPrecedesAssistant, assistantsApart, callsAnswered, resultsAsked, resultsFirst,
}

func knownRole(n neighbours) string {
	if slices.Contains([]string{user, assistant, system}, n.at.Role) {
		return ""
	}
	return fmt.Sprintf("unexpected role %q", n.at.Role)
}

// notEmpty accepts an empty system message: Claude Code may send one.
func notEmpty(n neighbours) string {
	if len(n.at.Blocks) > 0 || n.at.Role == system {
		return ""
	}
	return "all messages must have non-empty content"
}

func noEmptyText(n neighbours) string {
	if slices.ContainsFunc(n.at.Blocks, func(b Block) bool { return b.Type == "text" && strings.TrimSpace(b.Text) == "" }) {
		return "text content blocks must be non-empty"
	}
	return ""
}

func systemFollowsUser(n neighbours) string {
	if n.at.Role == system && n.before.Role != user {
		return "role 'system' must follow a 'user' message"
	}
	return ""
}

func systemPrecedesAssistant(n neighbours) string {
	if n.at.Role == system && n.after.Role != assistant && n.after.Role != "" {
		return "role 'system' must precede an 'assistant' message or end the array"
	}
	return ""
}

// assistantsApart is stricter than the API, which joins them.
func assistantsApart(n neighbours) string {
	if n.at.Role == assistant && n.before.Role == assistant {
		return "roles must alternate, found 'assistant' after 'assistant'"
	}
	return ""
}

func callsAnswered(n neighbours) string {
	answered := ids(n.after.of(user), "tool_result", func(b Block) string { return b.CallID })
	var open []string
	for _, id := range ids(n.at.Blocks, "tool_use", func(b Block) string { return b.ID }) {
		if !slices.Contains(answered, id) {
			open = append(open, id)
		}
	}
	if len(open) == 0 {
		return ""
	}
	return "`tool_use` ids were found without `tool_result` blocks immediately after: " + strings.Join(open, ", ")
}

func resultsAsked(n neighbours) string {
	asked := ids(n.before.of(assistant), "tool_use", func(b Block) string { return b.ID })
	for _, id := range ids(n.at.Blocks, "tool_result", func(b Block) string { return b.CallID }) {
		if n.at.Role != user || !slices.Contains(asked, id) {
			return "unexpected `tool_use_id` found in `tool_result` blocks: " + id
		}
	}
	return ""
}

func resultsFirst(n neighbours) string {
	others := false
	for _, b := range n.at.Blocks {
		if b.Type == "tool_result" && others {
			return "`tool_result` blocks must come before other content"
		}
		others = others || b.Type != "tool_result"
	}
	return ""
}

// of returns the turn's blocks if it has that role.
func (t turn) of(role string) []Block {
	if t.Role != role {
		return nil
	}
	return t.Blocks
}

func ids(blocks []Block, kind string, id func(Block) string) (out []string) {
	for _, b := range blocks {
		if b.Type == kind {
			out = append(out, id(b))
		}
	}
	return out
}

// thoughtFirst is for models that always think: in a current round of tools they must have thought
// before they called.
func (b Body) thoughtFirst() error {
	if b.Thinking != "enabled" {
		return nil
	}
	for _, t := range slices.Backward(joined(b.Messages)) {
		if t.Role != assistant {
			continue
		}
		if len(ids(t.Blocks, "tool_use", func(b Block) string { return b.ID })) > 0 && !t.Blocks[0].isThinking() {
			return fmt.Errorf("messages.%d.content.0.type: expected `thinking` or `redacted_thinking`, but found `%s`", t.index, t.Blocks[0].Type)
		}
		return nil
	}
	return nil
}

func (b Body) marks() (count int) {
	for _, part := range b.all() {
		if part.Marked {
			count++
		}
	}
	return count
}

// all returns the blocks of a request in the order in which it is read.
func (b Body) all() []Block {
	out := slices.Concat(b.Tools, b.System)
	for _, m := range b.Messages {
		out = append(out, m.Blocks...)
	}
	return out
}
