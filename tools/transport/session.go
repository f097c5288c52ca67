package transport

import (
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// A session is the server's view of a client within one request: notifications
// from the request's handler travel with the answer.
type session struct {
	*server.InProcessSession
	*subscriptions
	notes chan mcp.JSONRPCNotification // nil: notifications that belong to no request
}

// FindResources makes find look up the resource that a client subscribes to: it
// returns the URI under which changes of that resource are announced, or an
// error if there is none. It is called when a session begins.
func FindResources(client server.ClientSession, find func(uri string) (told string, err error)) {
	if own, ok := client.(session); ok {
		own.find = find
	}
}

var _ server.SessionWithResourceSubscriptionsErr = session{}

func newSession(base *server.InProcessSession) session {
	return session{InProcessSession: base, subscriptions: &subscriptions{uris: map[string]string{}}}
}

// telling returns the session for a request that is answered on out.
func (s session) telling(out *stream) session {
	s.notes = out.own
	return s
}

// NotificationChannel returns the channel for the server's notifications to the
// client.
func (s session) NotificationChannel() chan<- mcp.JSONRPCNotification {
	if s.notes != nil {
		return s.notes
	}
	return s.InProcessSession.NotificationChannel()
}
