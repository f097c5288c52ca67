package opencode

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/fold"
	"flame/core/op"
	"flame/core/summaries"
	"flame/hosts"
	"flame/hosts/hooks"
	"flame/project"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/turns"
	"flame/project/usage"
	"flame/transcripts"
)

// A row says what one event of flame.js means to flame.
type row struct {
	event string
	means func(*exchange) error
	does  string // in one sentence, for the documentation
}

// rows lists all events that flame.js sends.
var rows = []row{
	{"session.created", (*exchange).sessionStarted, "Creates a frame for a subagent's session, below the frame of the session that started it."},
	{"session.updated", (*exchange).sessionStarted, "Names the root frame after the session's title, if no prompt has named it."},
	{"chat.message", (*exchange).prompted, "Names the session's root frame after the first prompt; evaluates whether a new frame is due."},
	{
		"messages.transform", (*exchange).attended,
		"Before each request to the model: leaves out the work of finished frames, and adds the context, or its changes, after the newest prompt.",
	},
	{
		"tool.after", (*exchange).toolEnded,
		"Completes the frame of a subagent, with its result as the summary; records written files as artifacts, with the changes in them; " +
			"shows the items of the to-do list as frames.",
	},
	{"tool.failed", (*exchange).toolFailed, "Ends the frame of a subagent that failed or was aborted; counts failures, for suggestions."},
	{"session.idle", (*exchange).turnEnded, "Records that the session waits and what its answers cost; evaluates whether the frame should end."},
	{"session.compacting", (*exchange).compacting, "Adds what the frame needs to the instructions for the summary."},
	{"text.complete", (*exchange).summarized, "Stores the summary in the frame, and ends a frame whose pop waited for it."},
	{"session.compacted", (*exchange).summarized, "Ends a frame whose pop waited for a summary that did not come."},
	{keyEvent, nil, "Before each call of one of flame's tools: returns the key by which flame.js proves who calls."},
	{"session.deleted", (*exchange).sessionEnded, "Ends the session, and its root frame if no work is left below it."},
	{"dispose", (*exchange).disposed, "Ends all sessions of this process in the same way."},
}

// keyEvent asks for the key of the host's process. Flame answers it with hooks turned off, too.
const keyEvent = "stamp.key"

// Events says what flame does with each event of OpenCode.
func Events() (docs []hosts.EventDoc) {
	for _, r := range rows {
		docs = append(docs, hosts.EventDoc{Event: r.event, Does: r.does})
	}
	return docs
}

// Hook handles one event of OpenCode, as sent by flame.js (a hosts.Hook).
func Hook(ctx context.Context, flame hosts.HookEnv, raw []byte) ([]byte, error) {
	var e event
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	i := slices.IndexFunc(rows, func(r row) bool { return r.event == e.Name })
	if i < 0 || e.Session == "" && len(e.Sessions) == 0 {
		return nil, nil
	}
	if e.Name == keyEvent {
		key, err := flame.Project.HostKey(ctx)
		if err != nil { // not as core.ErrUnavailable: a later answer would be useless
			return nil, fmt.Errorf("flame cannot prove who calls its tools: %v", err)
		}
		return json.Marshal(answer{Key: base64.RawURLEncoding.EncodeToString(key)})
	}
	e.agentID = flame.Agent
	var said answer
	starts := e.Name == "session.created" && e.Parent == ""
	err := turns.OnEvent(ctx, flame.Project, flame.Marks, starts, func(p *project.Project) error {
		x := exchange{ctx: ctx, p: p, event: e}
		err := rows[i].means(&x)
		said = x.answer
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Name, err) // the answer would report what was not stored
	}
	if said.empty() {
		return nil, nil
	}
	return json.Marshal(said)
}

// gone makes the event of a process that ended without a word about its sessions.
func gone(sessions []string) []byte {
	encoded, err := json.Marshal(map[string]any{"event": "dispose", "sessions": sessions})
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return encoded
}

// keeps returns what matters of an event that comes late. The messages of a request say
// how flame should change it, and it was sent long ago.
func keeps(raw []byte) []byte {
	var e map[string]json.RawMessage
	if err := json.Unmarshal(raw, &e); err != nil {
		return raw
	}
	if _, there := e["messages"]; !there {
		return raw
	}
	delete(e, "messages")
	kept, err := json.Marshal(e)
	if err != nil {
		return raw
	}
	return kept
}

// An exchange is one event and the answer to it.
type exchange struct {
	ctx context.Context
	p   *project.Project
	event
	answer answer
}

// sessionStarted handles a new session: it matters for children, and for titles
// that people or models chose.
func (x *exchange) sessionStarted() error {
	if x.Parent == "" && x.Title == "" {
		return nil
	}
	if _, err := children.StartSession(x.ctx, x.p, x.caller(), x.Title); err != nil || x.Name != "session.created" || !strings.Contains(x.Title, " (fork #") {
		return err
	}
	return stack.Fork(x.ctx, x.p, x.caller(), "")
}

func (x *exchange) prompted() error {
	return turns.NotePrompt(x.ctx, x.p, x.caller(), prompt(words{x.Message, x.Agent, x.Permission, x.Text}))
}

// prompt returns a prompt in the form that flame processes.
func prompt(w words) turns.Prompt {
	text := w.Text
	if command, line, ok := op.CommandOf(text); ok {
		text = command.Slash() + " " + line // as the user typed it
	}
	mode := "" // what the user's agent may do, by flame's names; it limits what its agents may do
	if w.Agent == "plan" {
		mode = "plan" // it only reads
	}
	return turns.Prompt{
		ID: w.Message, Text: text, FromUser: true, Standing: project.SessionPermissions{Mode: mode, Agent: w.Agent, Rules: string(w.Permission)},
	}
}

func (x *exchange) turnEnded() error {
	return turns.End(x.ctx, x.p, x.caller(), turns.EndReport{
		LastMessage: x.Text, Failed: x.Aborted, Stopped: x.Error, Running: x.Running, Usage: x.usages(), Editions: x.editions(), Seen: x.seen,
	})
}

// toolEnded handles a task that is done, or a file that was written.
func (x *exchange) toolEnded() error {
	if x.Child != "" {
		return children.End(x.ctx, x.p, x.caller(), children.EndReport{
			Session: x.Child, End: core.ChildCompleted, Last: transcripts.TaskResult(x.Output), HandedOver: x.Output,
		})
	}
	if list, ok := hooks.WholeList(x.Did.Input); ok {
		p := x.p
		if x.At > 0 {
			p = p.At(x.At) // OpenCode does not wait for flame before it makes the next message
		}
		return stack.Follow(x.ctx, p, x.caller(), Name+"/"+x.Session, list, func() string { return x.Text })
	}
	if len(x.Files) == 0 {
		return nil
	}
	if err := stack.NoteFiles(x.ctx, x.p, x.caller(), x.Files); err != nil {
		return err
	}
	return usage.NoteFileCall(x.ctx, x.p, x.caller(), usage.FileCall{ID: x.Call, Files: transcripts.OpenCodeFiles(x.Tool, x.Did.Input, x.Did.Metadata)})
}

func (x *exchange) toolFailed() error {
	if err := stack.NoteFailure(x.ctx, x.p, x.caller()); err != nil || x.Child == "" {
		return err
	}
	how := core.ChildFailed
	if x.Aborted {
		how = core.ChildCancelled
	}
	return children.End(x.ctx, x.p, x.caller(), children.EndReport{Session: x.Child, End: how, Last: x.Error})
}

// attended handles a request to the model before it is sent.
func (x *exchange) attended() error {
	prompts := lo.Map(x.Words, func(w words, _ int) turns.Prompt { return prompt(w) })
	tasks := lo.Map(x.Tasks, func(t task, _ int) children.Task {
		return children.Task{Session: t.Child, Title: t.Title, Ended: t.ended()}
	})
	wrong := turns.CatchUp(x.ctx, x.p, x.caller(), prompts, tasks)
	a, err := turns.EditRequest(x.ctx, x.p, x.caller(), x.request())
	x.answer.Edition, x.answer.Drop, x.answer.Stale = a.Edition, a.Drop, a.DropThinking
	for _, note := range a.Before {
		x.answer.Before = append(x.answer.Before, text{note.Before, note.Text})
	}
	for _, insert := range a.After {
		x.answer.After = append(x.answer.After, text{insert.Message, insert.Text})
	}
	for _, c := range a.Cuts {
		x.answer.Cuts = append(x.answer.Cuts, cut{c.Message, c.Call, c.Text})
	}
	x.answer.Calls = x.p.Fold && x.p.Trim != "" && x.p.Trim != fold.TrimOff
	return errors.Join(wrong, err)
}

// compacting adds to the host's own instructions; for a requested summary,
// flame's instructions replace them.
func (x *exchange) compacting() error {
	kind, prompt, err := stack.CompactionPrompt(x.ctx, x.p, x.caller())
	switch kind {
	case summaries.Overflow:
		x.answer.Context = []string{prompt}
	default:
		x.answer.Prompt = prompt
	}
	return err
}

// summarized stores the text of a compaction. Without a text, it ends a pop that waited for a
// summary, in case none came.
func (x *exchange) summarized() error {
	_, err := stack.StoreSummary(x.ctx, x.p, x.caller(), "", x.Text)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	return err
}

// sessionEnded handles the deletion of a session.
func (x *exchange) sessionEnded() error {
	return children.EndEverywhere(x.ctx, x.p, x.caller())
}

// disposed handles the end of the process, and with it of its sessions.
func (x *exchange) disposed() error {
	var errs []error
	for _, session := range x.Sessions {
		errs = append(errs, children.EndSession(x.ctx, x.p, project.Caller{Session: session, Host: Name}))
	}
	return errors.Join(errs...)
}
