package tools

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type progressKey struct{}

// withProgress returns a context in which a tool can report progress to the
// client, if the client asked for that.
func withProgress(ctx context.Context, srv *server.MCPServer, request mcp.CallToolRequest) context.Context {
	if request.Params.Meta == nil || request.Params.Meta.ProgressToken == nil {
		return ctx
	}
	token := request.Params.Meta.ProgressToken
	return context.WithValue(ctx, progressKey{}, func(ctx context.Context, done float64, says string) {
		// A client that is gone needs no report.
		_ = srv.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": token, "progress": done, "message": says})
	})
}

// progress reports to the client how far its call is; done only grows.
func progress(ctx context.Context, done float64, says string) {
	if tell, ok := ctx.Value(progressKey{}).(func(context.Context, float64, string)); ok {
		tell(ctx, done, says)
	}
}

type callKey struct{}

// withCall keeps the id that the host gives the call under one of these keys.
func withCall(ctx context.Context, request mcp.CallToolRequest, keys []string) context.Context {
	if request.Params.Meta == nil {
		return ctx
	}
	for _, key := range keys {
		if id, told := request.Params.Meta.AdditionalFields[key].(string); told {
			return context.WithValue(ctx, callKey{}, id)
		}
	}
	return ctx
}

// callID returns the host's id of the call, or "" if the host sends none.
func callID(ctx context.Context) string {
	id, _ := ctx.Value(callKey{}).(string)
	return id
}
