package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"flame/core"
	"flame/hosts"
	"flame/hosts/hooks"
	"flame/project"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/turns"
	"flame/transcripts"
	logs "flame/transcripts/codex"
)

// maxInjected bounds an injected text, in characters: Codex moves one of over 2,500 tokens to a
// file.
const maxInjected = 9_500

// A row says what one event of Codex means to flame.
type row = hooks.EventRule[*exchange]

// rows lists the events that flame handles; the first row that fits an event applies. The plugin's
// hooks.json is generated from them.
var rows = []row{
	{
		Event: "SessionStart", Handle: (*exchange).sessionStarted,
		Doc: "After a compaction, stores its summary in the frame and restores the context; after a resume, reports what changed since; " +
			"offers a new session the unfinished frames of other sessions, and the results of the root that ended last.",
	},
	{
		Event: "UserPromptSubmit", Handle: (*exchange).prompted,
		Doc: "Names the session's root frame after the first prompt; reports what others have changed in the tree since the last prompt.",
	},
	{Event: "PreToolUse", Tools: spawnTool, Handle: (*exchange).childAsked, Doc: "Creates the subagent's frame and adds its context to the subagent's prompt."},
	{
		Event: "PreToolUse", Tools: hooks.FlameTools, StampsCaller: true, Handle: (*exchange).flameCalled,
		Doc: "Adds the calling session or subagent to calls of flame's own tools, and allows them.",
	},
	{
		Event: "PreToolUse", Tools: hooks.SpawnTools, StampsCaller: true, Handle: (*exchange).agentAsked,
		Doc: "Adds the calling session or subagent to calls of flame's " + hooks.SpawnTool + ", and records what its sandbox lets it do. " +
			"Whether the call is allowed is up to Codex.",
	},
	{Event: "PostToolUse", Tools: spawnTool, Handle: (*exchange).childAnswered, Doc: "Records the subagent's id."},
	{Event: "PostToolUse", Tools: closeTools, Handle: (*exchange).childClosed, Doc: "Blocks the frame of a subagent that was closed while it worked."},
	{Event: "PostToolUse", Tools: patchTool, Handle: (*exchange).fileWritten, Doc: "Records the files of the patch as artifacts of the frame."},
	{
		Event: "PostToolUse", Tools: planTool, Doc: "Shows the items of the plan as frames.",
		Handle: func(x *exchange) error {
			return hooks.ListWritten(x.Exchange, func() string { return logs.LastTurn(x.tail()).Said })
		},
	},
	{
		Event: "SubagentStart", Handle: func(x *exchange) error { return hooks.ChildStarted(x.Exchange, maxInjected) },
		Doc: "Creates a new frame for a finished subagent that resumes.",
	},
	{Event: "SubagentStop", Handle: (*exchange).childEnded, Doc: "Completes the subagent's frame, with its last message as the summary."},
	{
		Event: "Stop", Handle: (*exchange).turnEnded,
		Doc: "Records that the session waits; evaluates, with the last calls in the session's log, whether the frame should end.",
	},
	{
		Event: "SessionEnd", Handle: func(x *exchange) error { return hooks.EndSession(x.Exchange, x.Transcript) },
		Doc: "Ends the session's root frame if no work is left below it; other frames stay as they are.",
	},
}

// Events says what flame does with each event of Codex.
func Events() []hosts.EventDoc { return hooks.Docs(rows, func(row) string { return "" }) }

// Hook handles one event of Codex (a hosts.Hook).
func Hook(ctx context.Context, flame hosts.HookEnv, raw []byte) ([]byte, error) {
	var e event
	if err := hooks.Decode(raw, &e, &e.Event); err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	from := hooks.Source{Host: Name, Plugin: hooks.PluginVersion("PLUGIN_ROOT", manifest)}
	return hooks.Handle(ctx, flame, &e.Event, from, rows, func(x *hooks.Exchange) *exchange {
		return &exchange{x, e, sync.OnceValue(func() []byte { return hooks.Tail(e.Transcript, maxTail) })}
	})
}

// An exchange is one event and the answer to it.
type exchange struct {
	*hooks.Exchange
	event
	tail func() []byte // returns the end of the session's log, which is read once
}

// sessionStarted handles the start of a session, and the end of a compaction: no event has the
// summary, but the log does.
func (x *exchange) sessionStarted() error {
	if x.Source == "compact" {
		if summary := logs.Summary(x.tail()); summary != "" {
			if err := x.HandlePostCompact(summary); err != nil {
				return err
			}
		}
	}
	origin := ""
	if x.Source != "compact" {
		origin = logs.Origin(hooks.Head(x.Transcript, maxHead))
	}
	return x.HandleStart(maxInjected, origin)
}

// maxHead is how much of a log is read to find out how it began, in bytes.
const maxHead = 8 << 10

// prompted handles a prompt of a person. The prompt of a subagent is its task, which is known.
func (x *exchange) prompted() error {
	if x.Agent != "" {
		return nil
	}
	return x.HandlePrompt(turns.Prompt{ID: x.Turn, Text: x.Prompt, FromUser: true, MaxChars: maxInjected, Standing: x.standing(), Seen: x.seen(false)})
}

// mode returns what the session may do without asking. Codex calls a session that asks for nothing
// unlimited, whatever its sandbox keeps it from, so the sandbox decides: its name is in the log.
func (x *exchange) mode() hosts.Mode {
	if hosts.Mode(x.Mode) == hosts.ModePlan {
		return hosts.ModePlan
	}
	switch logs.Sandbox(x.tail()) {
	case "danger-full-access":
		return hosts.Mode(x.Mode)
	case "workspace-write":
		return hosts.ModeAcceptEdits
	}
	return hosts.ModePlan
}

// standing returns the limits of the agents that are requested.
func (x *exchange) standing() project.SessionPermissions {
	return project.SessionPermissions{Mode: string(x.mode()), Agent: x.AgentType}
}

func (x *exchange) flameCalled() error { return x.StampCaller(x.toolOfFlame(x.Project.Dir), nothing) }

// agentAsked vouches for the caller of flame's spawn_agent. Codex takes changed arguments only with
// an allowance, and asks the user all the same, or refuses the call if it may not ask (observed).
func (x *exchange) agentAsked() error {
	err := x.StampSpawnCaller(x.toolOfFlame(x.Project.Dir), x.standing(), nothing)
	if x.Answer.Fields.Input != nil {
		x.Answer.Fields.Permission = "allow"
	}
	return err
}

// nothing is left to do for a call of flame's: a subagent has its session since its start.
func nothing() error { return nil }

// maxTask is the length in characters of the task in a frame's goal: Codex has no shorter name for a
// subagent than its whole task.
const maxTask = 60

// childAsked makes the frame of a subagent and puts its context into the prompt.
func (x *exchange) childAsked() error {
	var call spawnCall
	if err := json.Unmarshal(x.Input, &call); err != nil || call.Message == "" {
		return err
	}
	prompt, err := hooks.ChildAsked(x.Exchange, children.SpawnCall{
		ID: x.Call, Description: core.OneLine(call.Message, maxTask), AgentType: cmp.Or(call.Type, "default"), Prompt: call.Message,
	})
	if err != nil || prompt == "" {
		return err
	}
	x.Answer.Fields.Input, err = hooks.WithArguments(x.Input, map[string]string{"message": prompt})
	x.Answer.Fields.Permission = "allow" // Codex takes changed arguments only with it
	return err
}

// childAnswered records the child's id: its end is an event of its own.
func (x *exchange) childAnswered() error {
	agent := x.answered().Agent
	if agent == "" {
		return children.End(x.Ctx, x.Project, x.Caller(), children.EndReport{Call: x.Call, End: core.ChildFailed, Last: string(x.Response)})
	}
	return children.BindBackground(x.Ctx, x.Project, x.Caller(), children.ChildStart{Call: x.Call, Session: agent, Transcript: x.beside(agent)})
}

func (x *exchange) childClosed() error {
	var call struct {
		Target string `json:"target"`
		ID     string `json:"id"`
	}
	if err := json.Unmarshal(x.Input, &call); err != nil || call.Target+call.ID == "" {
		return err
	}
	child := cmp.Or(call.Target, call.ID)
	return children.End(x.Ctx, x.Project, x.SessionItself(), children.EndReport{Session: child, End: core.ChildCancelled, Transcript: x.beside(child)})
}

// beside returns the path of a subagent's log. Codex keeps it with that of its parent, with the time
// of its start in the name. The path is empty if there is not exactly one such log.
func (x *exchange) beside(agent string) string {
	if agent == "" || agent != filepath.Base(agent) || strings.ContainsAny(agent, `*?[\`) || x.Transcript == "" {
		return ""
	}
	logs, err := filepath.Glob(filepath.Join(filepath.Dir(x.Transcript), "rollout-*-"+agent+".jsonl"))
	if err != nil || len(logs) != 1 {
		return ""
	}
	return logs[0]
}

func (x *exchange) childEnded() error {
	return children.End(x.Ctx, x.Project, x.SessionItself(), children.EndReport{
		Session: x.Agent, End: core.ChildCompleted, Last: x.LastMessage, Transcript: x.AgentLog,
	})
}

func (x *exchange) fileWritten() error {
	files := x.files()
	if len(files) == 0 {
		return nil
	}
	return stack.NoteFiles(x.Ctx, x.Project, x.Caller(), files)
}

func (x *exchange) turnEnded() error {
	return turns.End(x.Ctx, x.Project, x.SessionItself(), turns.EndReport{
		Prompt: x.Turn, LastMessage: x.LastMessage, Again: x.GoesOn, Transcript: x.Transcript, Seen: x.seen(true),
	})
}

// seen returns what the session's log shows of the turn that ended last.
func (x *exchange) seen(ended bool) func() transcripts.TurnSummary {
	return hooks.SeenOnce(func() transcripts.TurnSummary { return logs.LastTurn(x.tail()) },
		func(said string) bool { return !ended || said == strings.TrimSpace(x.LastMessage) })
}
