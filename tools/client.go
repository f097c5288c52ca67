package tools

import (
	"context"
	"errors"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"flame/tools/transport"
)

// A client is the client of a call, as its tool knows it. The zero value shows no
// progress and asks nothing.
type client struct {
	srv    *server.MCPServer
	token  mcp.ProgressToken // nil: the client wants no progress
	callID string            // the host's id of the call; empty: the host sends none

	// ask asks the client's user a yes-or-no question. An error says that nobody waits for the
	// call any more. nil: the client cannot ask.
	ask func(ctx context.Context, text string) (consent, error)
}

type clientKey struct{}

// withClient returns the context of a call with this id of the host, for clientOf.
func withClient(ctx context.Context, srv *server.MCPServer, request mcp.CallToolRequest, callID string) context.Context {
	c := client{srv: srv, callID: callID}
	if meta := request.Params.Meta; meta != nil {
		c.token = meta.ProgressToken
	}
	session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo)
	if ok {
		if can := session.GetClientCapabilities().Elicitation; can != nil && (can.Form != nil || can.URL == nil) { // forms are what those can that say nothing more
			c.ask = c.elicit
		}
	}
	return context.WithValue(ctx, clientKey{}, c)
}

// clientOf returns the client of a call; zero outside of one.
func clientOf(ctx context.Context) client {
	c, _ := ctx.Value(clientKey{}).(client)
	return c
}

// progress tells the client how far its call is; done only grows.
func (c client) progress(ctx context.Context, done float64, says string) {
	if c.token != nil { // a disconnected client needs no progress
		_ = c.srv.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": c.token, "progress": done, "message": says})
	}
}

// patience is how long a person has to answer a question.
const patience = 2 * time.Minute

// A consent is a user's answer to a question.
type consent int

// The consents.
const (
	unanswered consent = iota // the user could not be asked, or put the question away
	refused
	allowed
)

func (c client) elicit(ctx context.Context, text string) (consent, error) {
	bounded, stop := context.WithTimeout(ctx, patience)
	defer stop()
	answer, err := c.srv.RequestElicitation(bounded, mcp.ElicitationRequest{Params: mcp.ElicitationParams{
		Message: text,
		RequestedSchema: map[string]any{"type": "object", "required": []string{"allow"}, "properties": map[string]any{
			"allow": map[string]any{"type": "boolean", "title": "Allow it, this once"},
		}},
	}})
	switch {
	case errors.Is(err, transport.ErrClientGone) || ctx.Err() != nil:
		return unanswered, errors.Join(transport.ErrClientGone, ctx.Err())
	case err != nil || answer.Action == mcp.ElicitationResponseActionCancel:
		return unanswered, nil
	}
	if content, _ := answer.Content.(map[string]any); answer.Action == mcp.ElicitationResponseActionAccept && content["allow"] == true {
		return allowed, nil
	}
	return refused, nil
}
