package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"flame/core"
	"flame/core/evidence"
	"flame/core/op"
	"flame/project"
	"flame/project/briefing"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/turns"
	"flame/project/usage"
	"flame/transcripts"
)

// An Exchange is one event and the answer to it, as far as all hosts are alike. A host's own
// exchange embeds it.
type Exchange struct {
	Ctx     context.Context
	Project *project.Project
	OwnTool func(name string) bool // as in hosts.HookEnv
	Answer  Answer

	from Source
	of   *Event
}

// SessionItself returns the session as the caller.
func (x *Exchange) SessionItself() project.Caller {
	return project.Caller{
		Session: x.of.Session, Host: x.from.Host, Agent: x.from.Agent, Trust: project.ByHost, Event: x.of.Name, Plugin: x.from.Plugin,
	}
}

// Caller returns the caller that the event happened to: a subagent, or the session.
func (x *Exchange) Caller() project.Caller {
	by := x.SessionItself()
	if x.of.Agent != "" {
		by.Session, by.Parent = x.of.Agent, x.of.Session
	}
	return by
}

// HandleStart handles the start of a session. origin is the id of the session from which it was forked,
// if the host names it. maxChars bounds what it tells.
func (x *Exchange) HandleStart(maxChars int, origin string) error {
	begin := briefing.Begin
	if x.of.Source == "resume" {
		begin = briefing.Resume
	}
	first := ""
	if origin != "" || x.of.Source == "fork" {
		first = forked
		if err := stack.Fork(x.Ctx, x.Project, x.SessionItself(), origin); err != nil {
			return err
		}
	}
	b, err := begin(x.Ctx, x.Project, x.SessionItself(), maxChars-len(first))
	x.Answer.Fields.Context = strings.TrimSuffix(first+b.Text, "\n")
	return err
}

// forked tells the agent of a fork what its history does not: it has left the frames in it.
const forked = "This session is a fork. Frames in its history that are open belong to the session it was forked from and go on there: " +
	"it works in none of them here, and cannot pop them. " + string(op.Push) + " begins a frame of its own. " +
	"A to-do list in its history is not its own either: it writes what is open there anew.\n"

// EndSession handles the end of a session with this log.
func EndSession(x *Exchange, transcript string) error {
	return errors.Join(usage.CountLater(x.Ctx, x.Project, x.SessionItself(), transcript), children.EndSession(x.Ctx, x.Project, x.SessionItself()))
}

// Permissions returns the limits of the agents that are requested.
func (x *Exchange) Permissions() project.SessionPermissions {
	return project.SessionPermissions{Mode: x.of.Mode, Agent: x.of.AgentType}
}

// StampCaller vouches for the caller of one of flame's own tools, by its bare name, and spares the user
// the question whether it may run. In the session itself it needs no store. bind is called for
// calls that are flame's.
func (x *Exchange) StampCaller(tool string, bind func() error) error {
	if tool == SpawnTool || !x.OwnTool(tool) {
		return nil
	}
	err := x.stamp(tool)
	if err == nil {
		x.Answer.Fields.Permission = "allow"
		x.Answer.Fields.Reason = "flame's own tools only work on its frames"
	}
	return errors.Join(err, bind())
}

// StampSpawnCaller vouches for the caller of spawn_agent, and records the limits on what the agent may
// do. Whether it may be started is up to the user's rules.
func (x *Exchange) StampSpawnCaller(tool string, standing project.SessionPermissions, bind func() error) error {
	if tool != SpawnTool {
		return nil
	}
	return errors.Join(x.stamp(tool), bind(), x.Project.NoteStanding(x.Ctx, x.Caller(), standing))
}

// stamp puts the caller into a tool's arguments, in place of what the model wrote there. If flame
// cannot prove the caller, the arguments name none.
func (x *Exchange) stamp(tool string) error {
	set := NoStamp()
	proof, err := x.Project.ProveStamp(x.Ctx, project.Stamp{Session: x.of.Session, Agent: x.of.Agent, Tool: tool, Call: x.of.Call})
	if err == nil {
		set = map[string]string{project.ArgSession: x.of.Session, project.ArgAgent: x.of.Agent, project.ArgProof: proof}
	} else { // not as core.ErrUnavailable: a later proof would be useless
		err = fmt.Errorf("flame cannot prove who calls %s: %v", tool, err)
	}
	input, wrong := WithArguments(x.of.Input, set)
	x.Answer.Fields.Input = input
	return errors.Join(err, wrong)
}

// NoStamp returns the change that removes the arguments in which a model may have named a caller.
func NoStamp() map[string]string {
	return map[string]string{project.ArgSession: "", project.ArgAgent: "", project.ArgProof: ""}
}

// HandlePrompt handles a prompt in the session itself.
func (x *Exchange) HandlePrompt(p turns.Prompt) error {
	b, err := turns.Begin(x.Ctx, x.Project, x.SessionItself(), p)
	x.Answer.Fields.Context = b.Text
	return err
}

// ChildAsked makes the frame of a subagent, and returns its prompt with its context; empty if the prompt stays as it is.
func ChildAsked(x *Exchange, call children.SpawnCall) (prompt string, err error) {
	context, err := children.Spawn(x.Ctx, x.Project, x.Caller(), call)
	if err != nil || context == "" || strings.Contains(call.Prompt, context) {
		return "", err
	}
	return call.Prompt + "\n\n" + context, nil
}

// ChildStarted makes a new frame for a finished subagent that resumes, and tells it its context, of at most maxChars.
func ChildStarted(x *Exchange, maxChars int) (err error) {
	x.Answer.Fields.Context, err = children.Continue(x.Ctx, x.Project, x.SessionItself(), x.of.Agent, maxChars)
	return err
}

// SeenOnce returns a function that returns what the session's log shows of the turn that ended last, which is read once;
// isWhole reports whether the log has the turn's last words already.
func SeenOnce(read func() transcripts.TurnSummary, isWhole func(said string) bool) func() transcripts.TurnSummary {
	return sync.OnceValue(func() transcripts.TurnSummary {
		t := read()
		t.Whole = isWhole(strings.TrimSpace(t.Said))
		return t
	})
}

// HandlePreCompact returns what the frame needs in a summary, at most max UTF-16 code units; empty
// without a frame. The next context may have next characters.
func (x *Exchange) HandlePreCompact(max, next int) (string, error) {
	return briefing.CompactionNote(x.Ctx, x.Project, x.Caller(), x.of.Trigger == "manual", max, next)
}

// HandlePostCompact stores the summary of a compaction in the caller's frame, if there is one.
func (x *Exchange) HandlePostCompact(summary string) error {
	_, err := stack.StoreSummary(x.Ctx, x.Project, x.Caller(), "", summary)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	return err
}

// PlanApproved keeps a plan that the user approved, and tells the agent.
func PlanApproved(x *Exchange, file, text string) (err error) {
	x.Answer.Fields.Context, err = stack.KeepPlan(x.Ctx, x.Project, x.Caller(), project.Plan{File: file, Text: text})
	return err
}

// itemWords are the words of hosts for statuses.
var itemWords = map[string]evidence.ItemStatus{
	"in_progress": evidence.ItemActive, "completed": evidence.ItemDone, "closed": evidence.ItemDone, "blocked": evidence.ItemBlocked,
	"cancelled": evidence.ItemDropped, "canceled": evidence.ItemDropped, "deleted": evidence.ItemDropped, "": "",
}

// StatusOf returns the status that a host's word means, or nothing for an empty word. Some hosts store
// any word: an unknown one is evidence.ItemPending.
func StatusOf(word string) evidence.ItemStatus {
	if status, known := itemWords[strings.ToLower(strings.TrimSpace(word))]; known {
		return status
	}
	return evidence.ItemPending
}

// WholeList reads the input of a host's tool that writes its whole to-do list; ok is false for anything
// else.
func WholeList(input json.RawMessage) (call evidence.ListCall, ok bool) {
	type item struct {
		Content     string `json:"content"`
		Description string `json:"description"`
		Step        string `json:"step"`
		Status      string `json:"status"`
	}
	var list struct {
		Todos []item `json:"todos"`
		Plan  []item `json:"plan"`
	}
	if json.Unmarshal(input, &list) != nil || list.Todos == nil && list.Plan == nil {
		return call, false
	}
	call.Whole = true
	for _, i := range append(list.Todos, list.Plan...) {
		item := evidence.Item{Text: i.Content + i.Description + i.Step, Status: cmp.Or(StatusOf(i.Status), evidence.ItemPending)}
		if strings.TrimSpace(item.Text) != "" {
			call.Items = append(call.Items, item)
		}
	}
	if len(call.Items) > evidence.MaxListed {
		call.Items = append(call.Items[:evidence.MaxListed], rest(call.Items[evidence.MaxListed:]))
	}
	return call, true
}

// rest returns one item that stands for the last ones of a long list.
func rest(items []evidence.Item) evidence.Item {
	one := evidence.Item{ID: "rest", Text: fmt.Sprintf("and %d more", len(items)), Status: evidence.ItemDone}
	for _, item := range items {
		switch item.Status {
		case evidence.ItemActive:
			one.Status = item.Status
			return one
		case evidence.ItemPending, evidence.ItemBlocked:
			one.Status = evidence.ItemPending
		}
	}
	return one
}

// ListWritten handles a call that wrote the caller's whole to-do list. said returns the agent's last words.
func ListWritten(x *Exchange, said func() string) error {
	call, ok := WholeList(x.of.Input)
	if !ok {
		return nil
	}
	return FollowList(x, x.Caller().Session, call, said)
}

// FollowList handles a call of a list tool; list identifies the list among those of the host.
func FollowList(x *Exchange, list string, call evidence.ListCall, said func() string) error {
	return stack.Follow(x.Ctx, x.Project, x.Caller(), x.from.Host+"/"+list, call, said)
}
