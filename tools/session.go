package tools

import (
	"maps"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// A session is what the server knows of a client, as one of its requests sees
// it: notifications of the request's handler travel with the answer.
type session struct {
	*server.InProcessSession
	*subscriptions
	notes chan mcp.JSONRPCNotification // nil: those that belong to no request
}

var _ server.SessionWithResourceSubscriptions = session{}

func newSession(base *server.InProcessSession) session {
	return session{InProcessSession: base, subscriptions: &subscriptions{uris: map[string]bool{}}}
}

// telling is the session for a request that is answered on out.
func (s session) telling(out *stream) session {
	s.notes = out.own
	return s
}

// NotificationChannel is where the server puts what it tells the client.
func (s session) NotificationChannel() chan<- mcp.JSONRPCNotification {
	if s.notes != nil {
		return s.notes
	}
	return s.InProcessSession.NotificationChannel()
}

// subscriptions are the resources whose changes a client wants to hear of.
type subscriptions struct {
	mu   sync.Mutex
	uris map[string]bool
}

// SubscribeToResource begins telling of changes of uri.
func (s *subscriptions) SubscribeToResource(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uris[uri] = true
}

// UnsubscribeFromResource ends it.
func (s *subscriptions) UnsubscribeFromResource(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.uris, uri)
}

// SubscribedResources lists the subscribed URIs, sorted.
func (s *subscriptions) SubscribedResources() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.uris))
}

// IsSubscribedToResource tells whether changes of uri are wanted.
func (s *subscriptions) IsSubscribedToResource(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.uris[uri]
}

// wants tells whether a notification may be sent: the server tells every
// client of every changed resource, the protocol only those who subscribed.
func (s *subscriptions) wants(note mcp.JSONRPCNotification) bool {
	if note.Method != mcp.MethodNotificationResourceUpdated {
		return true
	}
	uri, _ := note.Params.AdditionalFields["uri"].(string)
	return s.IsSubscribedToResource(uri)
}
