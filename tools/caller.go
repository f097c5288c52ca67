package tools

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"flame/core"
	"flame/project"
)

// A stamp is what the reserved arguments of a call say about its caller. Anyone can write them: only
// a proof makes them true.
type stamp struct{ session, agent, proof string }

// readStamp reads a reserved argument, which is text.
func readStamp(decoder *json.Decoder, name string, to *string) error {
	err := decoder.Decode(to)
	if _, wrong := errors.AsType[*json.UnmarshalTypeError](err); wrong {
		return core.Invalidf("%s is not text", name).WithHint("leave it out: flame's hook sets it")
	}
	if err != nil {
		return errNoObject()
	}
	return nil
}

// callerOf returns the caller that a stamp names, if its proof is for this call of the tool and was
// not used before; else the connection's own.
func (s *Server) callerOf(ctx context.Context, tool string, told stamp, callID string) (by project.Caller, proven bool) {
	own := s.caller(ctx)
	by, proven = s.project.CallerOf(ctx, own, project.Stamp{Session: told.session, Agent: told.agent, Tool: tool, Call: callID}, told.proof)
	if proven && s.proofs.add(told.proof) {
		return by, true
	}
	if told != (stamp{}) {
		s.log.Warn("a call names a caller without a valid proof; it counts as one of the connection's own session", "tool", tool)
	}
	return own, false
}

// announced returns the caller of a call that hooks announced. Without hooks it returns by.
func (s *Server) announced(ctx context.Context, by project.Caller, call mcp.CallToolParams) (project.Caller, error) {
	found, hooked, err := s.project.TakeAnnounced(ctx, project.CallKey(call.Name, call.RawArguments))
	switch {
	case err != nil:
		return by, err
	case found == nil && hooked:
		return by, core.Invalidf("flame's hook did not say which agent makes this call").
			WithHint("make the call again; `flame doctor` says whether the hook works")
	case found == nil:
		return by, nil
	case found.Session == "":
		return by, core.Invalidf("several agents of this session call tools at this moment, and the host does not say which of them makes this call").
			WithHint("make the call again, alone in its message")
	}
	by.Session, by.Parent, by.Trust = found.Session, found.Parent, project.TrustHook
	return by, nil
}

// callIDOf returns the host's id of a call, which hosts send under one of these keys; empty without one.
func callIDOf(request mcp.CallToolRequest, keys []string) string {
	if meta := request.Params.Meta; meta != nil {
		for _, key := range keys {
			if id, sent := meta.AdditionalFields[key].(string); sent && key != "" {
				return id
			}
		}
	}
	return ""
}

// maxProofs is how many proofs a replayCache remembers. A proof holds for one id of the host's, which
// no model chooses, or for one process of the host.
const maxProofs = 10_000

// A replayCache remembers the newest proofs that calls have used.
type replayCache struct {
	mu    sync.Mutex
	known map[string]bool
	order []string // oldest first
}

// add adds a proof, and reports whether it is new.
func (c *replayCache) add(proof string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[proof] {
		return false
	}
	if c.known == nil {
		c.known = map[string]bool{}
	}
	if c.known[proof], c.order = true, append(c.order, proof); len(c.order) > maxProofs {
		delete(c.known, c.order[0])
		c.order = c.order[1:]
	}
	return true
}
