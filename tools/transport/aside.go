package transport

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// A HiddenTool is a tool outside of the list of tools that never waits for other calls: a host's
// hooks call it to report events. The host continues once it has the answer, while another
// tool of the same connection may wait for minutes. The zero value is no tool.
type HiddenTool struct {
	Tool   string // its name
	Model  string // the key in _meta by which the host marks a model's call; such a call is refused like that of any unknown tool
	Answer func(ctx context.Context, arguments json.RawMessage) (text string)
}

// takes reports whether m is a call of the tool by a hook.
func (a HiddenTool) takes(m message) bool {
	if a.Tool == "" || m.tool() != a.Tool {
		return false
	}
	_, model := m.Params.Meta[a.Model]
	return !model
}

// answer calls the tool and returns the encoded result.
func (a HiddenTool) answer(ctx context.Context, m message) []byte {
	text := a.Answer(ctx, m.Params.Arguments)
	return encode(mcp.NewJSONRPCResultResponse(m.ID, mcp.NewToolResultText(text)))
}
