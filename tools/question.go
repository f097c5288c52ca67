package tools

import (
	"context"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type questionKey struct{}

// patience is how long a person has to answer a question.
const patience = 2 * time.Minute

// withQuestions returns a context in which a tool can ask the person behind the
// client, if the client supports that.
func withQuestions(ctx context.Context, srv *server.MCPServer) context.Context {
	session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo)
	if !ok || session.GetClientCapabilities().Elicitation == nil {
		return ctx
	}
	return context.WithValue(ctx, questionKey{}, func(ctx context.Context, question string) (yes, answered bool) {
		ctx, stop := context.WithTimeout(ctx, patience)
		defer stop()
		answer, err := srv.RequestElicitation(ctx, mcp.ElicitationRequest{Params: mcp.ElicitationParams{
			Message: question,
			RequestedSchema: map[string]any{"type": "object", "required": []string{"allow"}, "properties": map[string]any{
				"allow": map[string]any{"type": "boolean", "title": "Allow it, this once"},
			}},
		}})
		if err != nil {
			return false, false
		}
		content, _ := answer.Content.(map[string]any)
		return answer.Action == mcp.ElicitationResponseActionAccept && content["allow"] == true, true
	})
}

// question asks the person behind the client a yes-or-no question; answered is
// false if nobody could be asked.
func question(ctx context.Context, text string) (yes, answered bool) {
	if ask, ok := ctx.Value(questionKey{}).(func(context.Context, string) (bool, bool)); ok {
		return ask(ctx, text)
	}
	return false, false
}
