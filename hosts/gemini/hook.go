package gemini

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"flame/core"
	"flame/hosts"
	"flame/hosts/gateway"
	"flame/hosts/hooks"
	"flame/project"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/turns"
	"flame/transcripts"
	logs "flame/transcripts/gemini"
)

// maxInjected bounds an injected text, in characters.
const maxInjected = 9_500

// A row says what one event of Gemini CLI means to flame.
type row = hooks.EventRule[*exchange]

// rows lists the events that flame handles; the first row that fits an event applies. The
// extension's hooks.json is generated from them.
var rows = []row{
	{
		Event: "SessionStart", Handle: (*exchange).sessionStarted,
		Doc: "After a resume, reports what changed since; " +
			"offers a new session the unfinished frames of other sessions, and the results of the root that ended last.",
	},
	{
		Event: "BeforeAgent", Handle: (*exchange).prompted,
		Doc: "Names the session's root frame after the first prompt; reports what others have changed in the tree since the last prompt. " +
			"After a compaction, stores its summary in the frame and restores the context.",
	},
	{Event: "BeforeTool", Tools: invokeTool, Handle: (*exchange).childAsked,
		Doc: "Creates the subagent's frame and adds its context to the subagent's prompt."},
	{
		Event: "BeforeTool", Tools: flameTools, Handle: (*exchange).flameCalled, StampsCaller: true,
		Doc: "Tells the session's server which session or subagent makes this call.",
	},
	{
		Event: "BeforeTool", Tools: spawnTools, Handle: (*exchange).flameCalled, StampsCaller: true,
		Doc: "The same for calls of flame's " + hooks.SpawnTool + ". Whether the call is allowed is up to Gemini CLI.",
	},
	{Event: "AfterTool", Tools: invokeTool, Handle: used((*exchange).childEnded), Doc: "Completes the subagent's frame, with its last message as the summary."},
	{Event: "AfterTool", Tools: editTools, Handle: used((*exchange).fileWritten), Doc: "Records the file as an artifact of the frame."},
	{Event: "AfterTool", Tools: listTools, Handle: used((*exchange).listCalled), Doc: "Shows the items of the to-do list, or of the tracker, as frames."},
	{Event: "AfterTool", Tools: planTool, Handle: used((*exchange).planApproved), Doc: "Keeps the plan that the user approved with the frame."},
	{
		Event: "AfterTool", Handle: (*exchange).toolUsed,
		Doc: "After a compaction within a turn, stores its summary in the frame and restores the context.",
	},
	{
		Event: "AfterAgent", Handle: (*exchange).turnEnded,
		Doc: "Ends the frames of subagents that failed or were cancelled; records that the session waits; " +
			"evaluates, with the last calls in the session's log, whether the frame should end.",
	},
	{
		Event: "SessionEnd", Handle: func(x *exchange) error { return hooks.EndSession(x.Exchange, x.Transcript) },
		Doc: "Ends the session's root frame if no work is left below it; other frames stay as they are.",
	},
}

// Events says what flame does with each event of Gemini CLI.
func Events() []hosts.EventDoc { return hooks.Docs(rows, func(row) string { return "" }) }

// Hook handles one event of Gemini CLI (a hosts.Hook).
func Hook(ctx context.Context, flame hosts.HookEnv, raw []byte) ([]byte, error) {
	e := &event{}
	if err := hooks.Decode(raw, e, &e.Event); err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	from := hooks.Source{Host: Name, Plugin: hooks.PluginVersion(folderVariable, manifest)}
	return hooks.Handle(ctx, flame, &e.Event, from, rows, func(x *hooks.Exchange) *exchange {
		e.Agent = "" // known only after a look at the logs
		return &exchange{x, e, sync.OnceValue(func() []byte { return hooks.Tail(e.Transcript, maxTail) })}
	})
}

// An exchange is one event and the answer to it.
type exchange struct {
	*hooks.Exchange
	*event
	tail func() []byte // returns the end of the session's log, which is read once
}

func (x *exchange) sessionStarted() error {
	return errors.Join(gateway.NoteBehind(x.Ctx, x.Project, x.SessionItself()), x.HandleStart(maxInjected, ""))
}

// prompted handles a prompt. It has no id, so its time stands for that.
func (x *exchange) prompted() error {
	_, err := x.compacted()
	if err := errors.Join(err, x.childrenLost(), gateway.NoteBehind(x.Ctx, x.Project, x.SessionItself())); err != nil {
		return err
	}
	return x.HandlePrompt(turns.Prompt{ID: x.At, Text: logs.WithoutContext(x.Prompt), FromUser: true, MaxChars: maxInjected, Seen: x.seen(false)})
}

// compacted stores the summary of a compaction that the session's log shows and no event reported,
// and reports whether there is one. The session is then owed its context.
func (x *exchange) compacted() (news bool, err error) {
	var summary string
	news, err = turns.FindCompaction(x.Ctx, x.Project, x.SessionItself(), x.Transcript, func(from int64) (at core.Millis, upTo int64) {
		part, upTo := hooks.Since(x.Transcript, from, maxTail)
		summary, at = logs.LastSummary(part)
		return at, upTo
	})
	if err != nil || !news {
		return false, err
	}
	return true, x.HandlePostCompact(summary)
}

// used returns a handler of the end of a call: the call may stand behind a compaction within the turn.
func used(handle func(*exchange) error) func(*exchange) error {
	return func(x *exchange) error {
		if err := handle(x); err != nil {
			return err
		}
		return x.toolUsed()
	}
}

// toolUsed handles the end of a call.
func (x *exchange) toolUsed() error {
	x.Agent = ""
	if news, err := x.compacted(); err != nil || !news {
		return err
	}
	return x.HandleStart(maxInjected, "")
}

// flameCalled tells the session's server who makes a call of one of flame's tools: in a call itself
// Gemini CLI does not name the caller, and it would tell the model of an argument that a hook adds.
func (x *exchange) flameCalled() error {
	if !x.OwnTool(x.Server.Tool) {
		return nil
	}
	unsure, err := x.findAgent()
	if err != nil {
		return err
	}
	input := x.Input
	if own, had := hooks.Unstamped(input); had {
		input, x.Answer.Fields.Instead = hooks.Document(own), own // only then: Gemini CLI tells the model of a change
	}
	return x.Project.Announce(x.Ctx, x.Caller(), project.CallKey(x.Server.Tool, input), unsure)
}

// maxTask is the length in characters of the task in a frame's goal: a subagent has no title.
const maxTask = 60

// childAsked makes the frame of a subagent and puts its context into the prompt.
func (x *exchange) childAsked() error {
	call := x.invoked()
	if call.Prompt == "" {
		return nil
	}
	id := x.callID()
	prompt, err := hooks.ChildAsked(x.Exchange, children.SpawnCall{
		ID: id, Description: core.OneLine(call.Prompt, maxTask), AgentType: call.Agent, Prompt: call.Prompt,
	})
	if err != nil {
		return err
	}
	x.Answer.Fields.Instead, err = hooks.WithArguments(x.Input, map[string]string{"prompt": cmp.Or(prompt, call.Prompt) + "\n\n" + mark(id)})
	return err
}

func (x *exchange) childEnded() error {
	if call := marked(x.invoked().Prompt); call != "" {
		end, last := x.answered()
		return x.endChild(call, end, last)
	}
	return nil
}

// endChild ends the frame of the subagent that a call started. The files that it wrote are in its
// log.
func (x *exchange) endChild(call string, end core.ChildEnd, last string) error {
	path, session := x.logOf(call)
	if session != "" {
		known, err := children.BindSession(x.Ctx, x.Project, x.SessionItself(), children.ChildStart{Call: call, Session: session, Transcript: path})
		if err != nil || !known {
			return err
		}
		child := x.SessionItself()
		child.Session, child.Parent = session, x.Session
		if err := stack.NoteFiles(x.Ctx, x.Project, child, x.written(path)); err != nil {
			return err
		}
	}
	return children.End(x.Ctx, x.Project, x.SessionItself(), children.EndReport{Call: call, Session: session, End: end, Last: last, Transcript: path})
}

// childrenLost ends the frames of subagents whose calls failed or were cancelled: no event says so,
// but the session's log does.
func (x *exchange) childrenLost() error {
	for _, child := range logs.Children(x.tail()) {
		call := marked(child.Prompt)
		if call == "" || child.End == core.ChildCompleted {
			continue
		}
		if err := x.endChild(call, child.End, child.Result); err != nil {
			return err
		}
	}
	return nil
}

func (x *exchange) fileWritten() error {
	file := x.file()
	unsure, err := x.findAgent()
	if err == nil && !unsure && file != "" { // of subagents that work at once, the logs tell when they end
		err = stack.NoteFiles(x.Ctx, x.Project, x.Caller(), []string{file})
	}
	return err
}

func (x *exchange) turnEnded() error {
	if err := x.childrenLost(); err != nil {
		return err
	}
	return turns.End(x.Ctx, x.Project, x.SessionItself(), turns.EndReport{
		LastMessage: x.lastMessage(), Again: x.GoesOn, Transcript: x.Transcript, Running: []string{}, Seen: x.seen(true),
	})
}

// lastMessage returns the last message of a turn: the event has all of them in one text.
func (x *exchange) lastMessage() string {
	if said := logs.LastTurn(x.tail()).Said; said != "" && strings.HasSuffix(strings.TrimSpace(x.Said), said) {
		return said
	}
	return x.Said
}

// seen returns what the session's log shows of the turn that ended last.
func (x *exchange) seen(ended bool) func() transcripts.TurnSummary {
	return hooks.SeenOnce(func() transcripts.TurnSummary { return logs.LastTurn(x.tail()) },
		func(said string) bool { return !ended || strings.HasSuffix(strings.TrimSpace(x.Said), said) })
}
