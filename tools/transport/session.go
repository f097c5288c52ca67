package transport

import (
	"fmt"
	"maps"
	"slices"
	"sync"

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

// maxSubscriptions is how many resources a session may subscribe to: each is
// kept in memory and checked on every change.
const maxSubscriptions = 1000

// subscriptions are the resources whose changes a client wants to hear of.
type subscriptions struct {
	// find returns the URI under which changes of the resource at uri are
	// announced; nil: uri itself. It is set before the session's first request.
	find func(uri string) (told string, err error)

	mu   sync.Mutex
	uris map[string]string // the URI of announcements, by what the client calls it
}

// SubscribeToResourceErr subscribes to changes of the resource at uri. It fails
// if there is no such resource, or if the session has too many subscriptions.
func (s *subscriptions) SubscribeToResourceErr(uri string) error {
	told := uri
	if s.find != nil {
		var err error
		if told, err = s.find(uri); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.uris[uri]; !known && len(s.uris) >= maxSubscriptions {
		return fmt.Errorf("this session is subscribed to %d resources already (unsubscribe from some first; flame://tree announces every change)", maxSubscriptions)
	}
	s.uris[uri] = told
	return nil
}

// SubscribeToResource is SubscribeToResourceErr for servers that ignore the
// error.
func (s *subscriptions) SubscribeToResource(uri string) { _ = s.SubscribeToResourceErr(uri) }

// UnsubscribeFromResource ends the subscription.
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

// IsSubscribedToResource reports whether the client subscribed to uri.
func (s *subscriptions) IsSubscribedToResource(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, subscribed := s.uris[uri]
	return subscribed
}

// wants reports whether a notification may be sent: the server announces every
// changed resource to every client, the protocol only to subscribers.
func (s *subscriptions) wants(note mcp.JSONRPCNotification) bool {
	if note.Method != mcp.MethodNotificationResourceUpdated {
		return true
	}
	changed, _ := note.Params.AdditionalFields["uri"].(string)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, told := range s.uris {
		if told == changed {
			return true
		}
	}
	return false
}
