package transport

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// maxSubscriptions is how many resources a session may subscribe to: each is
// kept, and looked at with every change.
const maxSubscriptions = 1000

// subscriptions are the resources whose changes a client wants to hear of.
type subscriptions struct {
	// find returns the URI by which changes of the resource at uri are told; nil: by
	// the same. Set before the session's first request.
	find func(uri string) (told string, err error)

	mu   sync.Mutex
	uris map[string]string // by which changes are told, by what the client calls them
}

// SubscribeToResourceErr begins telling of changes of the resource at uri. It is an
// error if there is none, or if the session has too many already.
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
		return fmt.Errorf("this session is subscribed to %d resources already (unsubscribe from some first; flame://tree tells of every change)", maxSubscriptions)
	}
	s.uris[uri] = told
	return nil
}

// SubscribeToResource is SubscribeToResourceErr for servers that hear of no error.
func (s *subscriptions) SubscribeToResource(uri string) { _ = s.SubscribeToResourceErr(uri) }

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

// IsSubscribedToResource reports whether the client subscribed to uri.
func (s *subscriptions) IsSubscribedToResource(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, subscribed := s.uris[uri]
	return subscribed
}

// wants reports whether a notification may be sent: the server tells every
// client of every changed resource, the protocol only those who subscribed.
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
