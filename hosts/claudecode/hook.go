package claudecode

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"flame/core"
	"flame/core/evidence"
	"flame/hosts"
	"flame/hosts/hooks"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/turns"
	"flame/transcripts"
)

// maxInjected bounds an injected text, in characters: Claude Code moves one of
// over 10,000 to a file and shows the model its first 2 KB (observed).
const maxInjected = 9_500

// maxCompaction bounds what is added to the instructions for a summary, in UTF-16 code
// units: Claude Code prints it, and keeps it in the history (observed).
const maxCompaction = 900

// A row says what one event of Claude Code means to flame. Alone says why Claude Code starts flame
// hook for this event even if its other hooks call the session's server: the event reaches no
// server, Claude Code drops it while a server is starting, or it is rare and could not be recovered
// if the server were killed while handling it.
type row = hooks.EventRule[*exchange]

// Why events reach no server, as observed with version 2.1.328.
const (
	notConnected = "no server is connected yet"
	notAwaited   = "Claude Code does not wait for a server that is starting"
	stoppedFirst = "Claude Code stops the server first"
)

// The tools whose calls mean something to flame.
const (
	agentTools = "Agent|Task" // Task until version 2.1
	fileTools  = "Write|Edit|MultiEdit|NotebookEdit"
	stopTools  = "TaskStop|KillShell" // KillShell in older versions
	todoTool   = "TodoWrite"
	listTools  = "TaskCreate|TaskUpdate|" + todoTool
)

// rows lists the events that flame handles; the first row that fits an event
// applies. The plugin's hooks.json is generated from them.
var rows = []row{
	{
		Event: "SessionStart", Handle: func(x *exchange) error { return x.HandleStart(maxInjected, "") },
		Doc: "After a compaction, restores the context of the session's frame; after a resume, reports what changed since; " +
			"offers a new session the unfinished frames of other sessions, and the results of the root that ended last.",
		ProcessReason: notConnected + "; after a compaction, only this event restores the context",
	},
	{
		Event: "UserPromptSubmit", Handle: (*exchange).prompted,
		Doc: "Names the session's root frame after the first prompt; reports what others have changed in the tree since the last prompt.",
	},
	{
		Event: "PreToolUse", Tools: hooks.FlameTools, StampsCaller: true, Handle: func(x *exchange) error { return x.StampCaller(x.toolOfFlame(), x.bind) },
		Doc: "Adds the calling session or subagent to calls of flame's own tools, and allows them.",
	},
	{
		Event: "PreToolUse", Tools: hooks.SpawnTools, StampsCaller: true,
		Handle: func(x *exchange) error { return x.StampSpawnCaller(x.toolOfFlame(), x.Permissions(), x.bind) },
		Doc:    "Adds the calling session or subagent to calls of " + hooks.SpawnTool + ", and records its permission mode. Does not allow the call.",
	},
	{
		Event: "PreToolUse", Tools: agentTools, Handle: bound((*exchange).childAsked),
		Doc: "Creates the subagent's frame and adds its context to the subagent's prompt.",
	},
	{
		Event: "PostToolUse", Tools: agentTools, Handle: (*exchange).childAnswered,
		Doc: "Records the subagent's id, or completes its frame.",
	},
	{
		Event: "PostToolUse", Tools: fileTools, Handle: bound((*exchange).fileWritten),
		Doc: "Records the file as an artifact of the frame.",
	},
	{
		Event: "PostToolUse", Tools: stopTools, Handle: (*exchange).childStopped,
		Doc: "Blocks the frame of a subagent that was stopped.",
	},
	{
		Event: "PostToolUse", Tools: listTools, Handle: bound(listCalled),
		Doc: "Shows the items of the to-do list as frames.",
	},
	{
		Event: "PostToolUse", Tools: planTool, Handle: bound(planApproved),
		Doc: "Keeps the plan that the user approved with the frame.",
	},
	{
		Event: "PostToolUseFailure", Tools: agentTools, Handle: (*exchange).childFailed,
		Doc:           "Ends the frame of a subagent that failed.",
		ProcessReason: "only this event reports the failure",
	},
	{
		Event: "PostToolUseFailure", Handle: bound(func(x *exchange) error { return stack.NoteFailure(x.Ctx, x.Project, x.Caller()) }),
		Doc: "Counts failures, for suggestions.",
	},
	{
		Event: "SubagentStart", Handle: (*exchange).childStarted,
		Doc: "Creates a new frame for a finished subagent that resumes; records the session of a subagent whose title matches no pattern, " +
			"if only one of its type is starting.",
		ProcessReason: notAwaited,
	},
	{
		Event: "SubagentStop", Handle: (*exchange).childEnded,
		Doc: "Completes the subagent's frame, with its last message as the summary.",
	},
	{
		Event: "Stop", Handle: (*exchange).turnEnded,
		Doc: "Records that the session waits; blocks frames of subagents that no longer run; " +
			"evaluates, with the last calls in the session's log, whether the frame should end.",
	},
	{
		Event: "StopFailure", Handle: (*exchange).turnFailed,
		Doc:           "Ends the frame of a subagent that an error of the model's API stopped. If the error stopped the session itself, records that it waits.",
		ProcessReason: notAwaited,
	},
	{
		Event: "PreCompact", Handle: (*exchange).compacting,
		Doc:           "Adds what the frame needs to the instructions for the summary.",
		ProcessReason: "only this event can",
	},
	{
		Event: "PostCompact", Handle: func(x *exchange) error { return x.HandlePostCompact(x.Summary) },
		Doc:           "Stores the summary in the frame, and ends a frame whose pop waited for it.",
		ProcessReason: notAwaited + "; only this event has the summary",
	},
	{
		Event: "SessionEnd", Handle: (*exchange).sessionEnded,
		Doc:           "Ends the session's root frame if no work is left below it; other frames stay as they are.",
		ProcessReason: stoppedFirst,
	},
}

// Events says what flame does with each event of Claude Code.
func Events() []hosts.EventDoc {
	return hooks.Docs(rows, func(r row) string {
		if r.ProcessReason != "" {
			return "a process: " + r.ProcessReason
		}
		return "a call of the server"
	})
}

// Hook handles one event of Claude Code (a hosts.Hook).
func Hook(ctx context.Context, flame hosts.HookEnv, raw []byte) ([]byte, error) {
	e, err := decodeEvent(raw)
	if err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	e.seenAtEnd, e.seenBefore = e.seen(true), e.seen(false)
	from := hooks.Source{Host: Name, Plugin: hooks.PluginVersion("CLAUDE_PLUGIN_ROOT", ".claude-plugin/plugin.json")}
	return hooks.Handle(ctx, flame, &e.Event, from, rows, func(x *hooks.Exchange) *exchange { return &exchange{x, e} })
}

// An exchange is one event and the answer to it.
type exchange struct {
	*hooks.Exchange
	event
}

// bound returns a handler of a call that a subagent may have made: it has its session by then.
func bound(handle func(*exchange) error) func(*exchange) error {
	return func(x *exchange) error {
		if err := x.bind(); err != nil {
			return err
		}
		return handle(x)
	}
}

func (x *exchange) prompted() error {
	return x.HandlePrompt(turns.Prompt{
		ID: x.PromptID, Text: x.Prompt, FromUser: !x.isNotification(), MaxChars: maxInjected, Standing: x.Permissions(),
		Seen: x.seenBefore,
	})
}

func (x *exchange) turnEnded() error {
	if _, err := x.catchUp(); err != nil {
		return err
	}
	return turns.End(x.Ctx, x.Project, x.SessionItself(), turns.EndReport{
		Prompt: x.PromptID, LastMessage: x.LastMessage, Again: x.GoesOn, Running: x.running(), Transcript: x.Transcript, Seen: x.seenAtEnd,
	})
}

// turnFailed handles a turn that an error of the model's API ended.
func (x *exchange) turnFailed() error {
	if x.Agent == "" {
		return errors.Join(
			stack.NoteFailure(x.Ctx, x.Project, x.SessionItself()),
			turns.End(x.Ctx, x.Project, x.SessionItself(),
				turns.EndReport{Failed: true, Stopped: x.failure(), Running: x.running(), Transcript: x.Transcript, Seen: x.seenAtEnd}),
		)
	}
	if err := x.bind(); err != nil {
		return err
	}
	return children.End(x.Ctx, x.Project, x.SessionItself(),
		children.EndReport{Session: x.Agent, End: core.ChildFailed, Last: x.failure(), Transcript: x.agentLog(x.Agent)})
}

// failure returns the event's description of an error.
func (x *exchange) failure() string {
	if x.LastMessage != "" {
		return x.LastMessage
	}
	return x.Error
}

func (x *exchange) fileWritten() error {
	var call fileCall
	if err := json.Unmarshal(x.Input, &call); err != nil || call.File+call.Notebook == "" {
		return err
	}
	return stack.NoteFiles(x.Ctx, x.Project, x.Caller(), []string{call.File + call.Notebook})
}

// planApproved handles the end of ExitPlanMode, which only an approved plan brings.
func planApproved(x *exchange) error {
	var out planResult
	if json.Unmarshal(x.Response, &out) != nil {
		return nil
	}
	return hooks.PlanApproved(x.Exchange, out.File, out.Plan)
}

// compacting answers in plain text, which Claude Code adds to its own
// instructions for the summary; it rejects JSON there (observed).
func (x *exchange) compacting() (err error) {
	x.Answer.Text, err = x.HandlePreCompact(maxCompaction, maxInjected)
	return err
}

// sessionEnded also ends the last turn, if that ended by itself and its end did not come.
func (x *exchange) sessionEnded() error {
	gap, err := x.catchUp()
	if err != nil {
		return err
	}
	if turn := x.lastTurn(); gap.End && turn.Over {
		ended := turns.EndReport{Prompt: x.PromptID, LastMessage: turn.Said, Transcript: x.Transcript, Seen: x.seenBefore}
		if err := errors.Join(turns.End(x.Ctx, x.Project, x.SessionItself(), ended), x.Project.NoteMadeUp(x.Ctx, Name)); err != nil {
			return err
		}
	}
	return hooks.EndSession(x.Exchange, x.Transcript)
}

// listVariable is the environment variable with the id of a list that several sessions share. A project may
// set it, so it names nothing but a list of that project.
const listVariable = "CLAUDE_CODE_TASK_LIST_ID"

// maxListID limits that id in characters.
const maxListID = 200

// maxWords bounds how much of a log is read for the agent's last words, in bytes.
const maxWords = 64 << 10

// listCalled handles a call of a list tool. A subagent works on the list of its session.
func listCalled(x *exchange) error {
	said := func() string { return lastWords(x) }
	if x.Tool == todoTool {
		return hooks.ListWritten(x.Exchange, said)
	}
	var in taskCall
	var out taskResult
	if json.Unmarshal(x.Input, &in) != nil || json.Unmarshal(x.Response, &out) != nil || out.Task.ID == "" && !out.Success {
		return nil // the item is not there, or a hook of the user's refused the change
	}
	item := evidence.Item{ID: cmp.Or(out.Task.ID, in.ID), Text: in.Subject, Status: hooks.StatusOf(in.Status)}
	call := evidence.ListCall{Items: []evidence.Item{item}, Created: out.Task.ID != "", From: hooks.StatusOf(out.Change.From)}
	return hooks.FollowList(x.Exchange, "tasks/"+core.Head(cmp.Or(os.Getenv(listVariable), x.Session), maxListID), call, said)
}

// lastWords returns the caller's last words before the call, as far as its log has them.
func lastWords(x *exchange) string {
	log, of := x.Transcript, transcripts.LineFilter{Session: x.Session}
	if x.Agent != "" {
		log, of = x.agentLog(x.Agent), transcripts.LineFilter{Agent: x.Agent}
	}
	return transcripts.ClaudeWords(hooks.Tail(log, maxWords), of, x.Call, strings.Split(listTools, "|"))
}
