package tools

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"flame/core"
)

const (
	// maxSubscriptions is how many resources a session may subscribe to: each is
	// kept, and looked at with every change.
	maxSubscriptions = 1000
	// maxURI bounds the URI of each, in bytes. Hosts' ids of sessions, which may
	// stand for a frame, have some 40.
	maxURI = 256
)

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
			return readable(err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.uris[uri]; !known && len(s.uris) >= maxSubscriptions {
		return readable(core.Invalidf("this session is subscribed to %d resources already", maxSubscriptions).
			WithHint("unsubscribe from some first; flame://tree tells of every change"))
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

// subscribable finds the resource at uri as reading does, and returns the URI that
// has its id in full, by which its changes are told.
func (s *Server) subscribable(ctx context.Context, uri string) (told string, err error) {
	if len(uri) > maxURI {
		return "", core.Invalidf("the URI has more than %d bytes", maxURI).WithHint("give an id of flame_tree or flame_agent_list")
	}
	afterSlash := strings.LastIndexByte(uri, '/') + 1
	prefix, id := uri[:afterSlash], strings.TrimSpace(uri[afterSlash:])
	switch {
	case uri == treeURI:
		return uri, nil
	case id == "":
	case prefix == framePrefix, prefix == contextPrefix:
		details, err := s.project.Details(ctx, s.caller(ctx), id)
		return prefix + details.Frame.ID, err
	case prefix == agentPrefix:
		agent, err := s.agents.Result(ctx, id)
		return prefix + agent.ID, err
	}
	return "", core.NotFoundf("there is no resource %q", core.OneLine(uri, maxURI)).
		WithHint("subscribe to %s, or to %sID, %sID or %sID of what there is", treeURI, framePrefix, contextPrefix, agentPrefix)
}
