package tools

import (
	"context"
	"strings"

	"flame/core"
	"flame/core/op"
)

// maxURI bounds the URI of a resource that is subscribed to, in bytes. Hosts' ids of
// sessions, which may stand for a frame, have some 40.
const maxURI = 256

// subscribable finds the resource at uri as reading does, and returns the URI that
// has its id in full, by which its changes are told.
func (s *Server) subscribable(ctx context.Context, uri string) (told string, err error) {
	if len(uri) > maxURI {
		return "", core.Invalidf("the URI has more than %d bytes", maxURI).WithHint("give an id of %s or %s", op.Tree, op.AgentList)
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
