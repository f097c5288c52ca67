package claudecode

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/hosts/hooks"
	"flame/local/safefile"
	"flame/project/children"
)

// childAsked makes the frame of a subagent and puts its context into the
// prompt: no later event knows both the caller and the call.
func (x *exchange) childAsked() error {
	var call agentCall
	if err := json.Unmarshal(x.Input, &call); err != nil {
		return err
	}
	prompt, err := hooks.ChildAsked(x.Exchange, children.SpawnCall{ID: x.Call, Description: call.Description, AgentType: call.AgentType, Prompt: call.Prompt})
	if err != nil || prompt == "" {
		return err
	}
	x.Answer.Fields.Input, err = hooks.WithArguments(x.Input, map[string]string{"prompt": prompt})
	return err
}

// bind gives the subagent of the event its session. The client writes the call
// that asked for it beside its log before its first tool runs (observed); until
// then, or without such a file, the call is unknown.
func (x *exchange) bind() error {
	if x.Agent == "" {
		return nil
	}
	child, err := children.SessionOf(x.Ctx, x.Project, x.Agent)
	if child.Tracked || child.HasFrame() || err != nil {
		return err
	}
	asked := x.askedBy()
	if asked.Call == "" {
		return nil
	}
	known, err := children.BindSession(x.Ctx, x.Project, x.SessionItself(), x.start(asked.Call, x.Agent))
	if known || err != nil || asked.Description == "" {
		return err
	}
	return x.bindMissed(asked)
}

// bindMissed is bind for a subagent whose call was not seen: it is recorded now.
func (x *exchange) bindMissed(asked subagentMeta) error {
	by := x.SessionItself()
	if asked.Parent != "" {
		by.Session, by.Parent = asked.Parent, x.Session
	}
	call := children.SpawnCall{ID: asked.Call, Description: asked.Description, AgentType: asked.Type}
	if _, err := children.Spawn(x.Ctx, x.Project, by, call); err != nil {
		return err
	}
	_, err := children.BindSession(x.Ctx, x.Project, by, x.start(asked.Call, x.Agent))
	return err
}

// childAnswered records the child's id and, if it ran in the foreground, ends
// the child.
func (x *exchange) childAnswered() error {
	var result agentResult
	if err := json.Unmarshal(x.Response, &result); err != nil || result.Agent == "" {
		return err
	}
	if result.Status != "completed" {
		return children.BindBackground(x.Ctx, x.Project, x.Caller(), x.start(x.Call, result.Agent))
	}
	last, all := result.text()
	return children.End(x.Ctx, x.Project, x.Caller(), children.EndReport{
		Session: result.Agent, Call: x.Call, End: core.ChildCompleted, Last: last, HandedOver: all, Transcript: x.agentLog(result.Agent),
	})
}

func (x *exchange) childFailed() error {
	how := core.ChildFailed
	if x.Interrupted {
		how = core.ChildCancelled
	}
	return children.End(x.Ctx, x.Project, x.Caller(), children.EndReport{Call: x.Call, End: how, Last: x.Error})
}

func (x *exchange) childStopped() error {
	var call stopCall
	if err := json.Unmarshal(x.Input, &call); err != nil {
		return err
	}
	child := call.Task + call.Shell
	return children.End(x.Ctx, x.Project, x.Caller(), children.EndReport{Session: child, End: core.ChildCancelled, Transcript: x.agentLog(child)})
}

// start says that a call asked for a subagent.
func (x *exchange) start(call, agent string) children.ChildStart {
	return children.ChildStart{Call: call, Session: agent, Transcript: x.agentLog(agent)}
}

// childStarted resumes a known child. For an unknown child it records the session if exactly one
// child of its type is waiting for one: a child whose tools cause no events would otherwise stay
// unknown until it ends.
func (x *exchange) childStarted() error {
	child, err := children.SessionOf(x.Ctx, x.Project, x.Agent)
	if err == nil && !child.Tracked && !child.HasFrame() && x.AgentType != "" {
		err = children.BindByType(x.Ctx, x.Project, x.SessionItself(), x.AgentType, x.start("", x.Agent))
	}
	if err != nil {
		return err
	}
	return hooks.ChildStarted(x.Exchange, maxInjected)
}

// childEnded ends a child. A SubagentStop without agent_type comes from a
// compaction.
func (x *exchange) childEnded() error {
	if x.AgentType == "" {
		return nil
	}
	if err := x.bind(); err != nil {
		return err
	}
	log := cmp.Or(x.AgentLog, x.agentLog(x.Agent))
	messages, err := x.messages(log)
	if err != nil {
		return err
	}
	return children.End(x.Ctx, x.Project, x.SessionItself(), children.EndReport{
		Session: x.Agent, End: core.ChildCompleted, Last: x.LastMessage, Transcript: log, Messages: messages,
	})
}

// messages counts the messages in a subagent's log while it is undecided
// whether that subagent is worth a frame: no earlier event reports them.
func (x *exchange) messages(log string) (count int, err error) {
	child, err := children.SessionOf(x.Ctx, x.Project, x.Agent)
	if !child.Tracked || child.HasFrame() || err != nil {
		return 0, err
	}
	for line := range bytes.Lines(hooks.Head(log, maxLog)) { // without a log it was a short run
		if kind := gjson.GetBytes(line, "type").Str; json.Valid(line) && (kind == "user" || kind == "assistant") {
			count++
		}
	}
	return count, nil
}

// maxLog bounds how much of a log a hook reads, in bytes: a subagent worth a
// frame needs less.
const maxLog = 1 << 20

// agentLog returns the path of a subagent's log; those of all depths are in one
// folder (observed). It is empty for an id that cannot be a file name.
func (x *exchange) agentLog(agent string) string {
	if agent == "" || agent != filepath.Base(agent) || x.Transcript == "" {
		return ""
	}
	return filepath.Join(strings.TrimSuffix(x.Transcript, ".jsonl"), "subagents", "agent-"+agent+".jsonl")
}

// A subagentMeta is what the client notes of a subagent beside its log.
type subagentMeta struct {
	Call        string `json:"toolUseId"` // that started it
	Description string `json:"description"`
	Type        string `json:"agentType"`
	Parent      string `json:"parentAgentId"` // subagent that asked for it; empty: the session itself
	Finished    bool   `json:"finished"`
}

// askedBy returns Claude Code's record of the event's subagent, or nothing if it cannot be read.
func (x *exchange) askedBy() (asked subagentMeta) {
	content, err := safefile.ReadFile(strings.TrimSuffix(x.agentLog(x.Agent), ".jsonl")+".meta.json", maxLog)
	if err != nil || json.Unmarshal(content, &asked) != nil {
		return subagentMeta{}
	}
	return asked
}
