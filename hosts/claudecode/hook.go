package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"flame/core"
	"flame/core/op"
	"flame/hosts"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/briefing"
	"flame/project/children"
	"flame/project/stack"
	"flame/project/turns"
	"flame/project/usage"
)

// maxInjected bounds an injected text, in characters: Claude Code moves one of
// over 10,000 to a file and shows the model its first 2 KB (observed).
const maxInjected = 9_500

// maxCompaction bounds what is added to the instructions for a summary, in UTF-16 code
// units: Claude Code prints it, and keeps it in the history (observed).
const maxCompaction = 600

// A row says what one event of Claude Code means to flame.
type row struct {
	event string
	tools string // regular expression that must match the whole name of the tool; empty: any
	means func(*exchange) error
	does  string // in one sentence, for the documentation
	// alone says, likewise, why Claude Code starts flame hook for it even where its other
	// hooks call the server of the session: the event reaches no server, Claude Code drops
	// it while a server is starting, or it is rare and nothing could make up for it if the
	// server were killed while it has it.
	alone string
}

// Why events reach no server, as observed with version 2.1.328.
const (
	notConnected = "no server is connected yet"
	notAwaited   = "Claude Code does not wait for a server that is starting"
	stoppedFirst = "Claude Code has stopped the server before"
)

// The tools whose calls mean something to flame.
const (
	agentTools = "Agent|Task" // Task until version 2.1
	fileTools  = "Write|Edit|MultiEdit|NotebookEdit"
	stopTools  = "TaskStop|KillShell"        // KillShell in older versions
	flameTools = "(.*__)?flame_[a-z][a-z_]*" // of any server: a later check finds flame's own
	spawnTools = "(.*__)?" + spawnTool
	spawnTool  = string(op.Spawn)
)

// rows lists the events that flame handles; the first row that fits an event
// applies. The plugin's hooks.json is generated from them.
var rows = []row{
	{
		"SessionStart", "", (*exchange).sessionStarted,
		"Restores the context of the session's frame after a compaction, and says after a resume what changed since; " +
			"offers a new session the frames that others left unfinished, and what the root that ended last leaves.",
		notConnected + "; after a compaction, only this event gives the context back",
	},
	{
		"UserPromptSubmit", "", (*exchange).prompted,
		"Names the session's root frame by the first prompt; reports what others have changed in the tree since the last one, if anything.", "",
	},
	{"PreToolUse", flameTools, (*exchange).flameCalled, "Tells flame's own tools which session or subagent calls, and allows them.", ""},
	{
		"PreToolUse", spawnTools, (*exchange).agentAsked,
		"Tells " + spawnTool + " which session or subagent calls, and in which permission mode. It allows nothing.", "",
	},
	{"PreToolUse", agentTools, (*exchange).childAsked, "Creates the subagent's frame and adds its context to the subagent's prompt.", ""},
	{"PostToolUse", agentTools, (*exchange).childAnswered, "Learns the subagent's id, or that it is done.", ""},
	{"PostToolUse", fileTools, (*exchange).fileWritten, "Records the file as an artifact of the frame.", ""},
	{"PostToolUse", stopTools, (*exchange).childStopped, "Blocks the frame of a subagent that was stopped.", ""},
	{"PostToolUseFailure", agentTools, (*exchange).childFailed, "Ends the frame of a subagent that failed.", "only this event says so"},
	{"PostToolUseFailure", "", (*exchange).toolFailed, "Counts failures, for suggestions.", ""},
	{
		"SubagentStart", "", (*exchange).childStarted,
		"Gives a finished subagent that resumes a new frame; learns the session of one that no pattern matches, where only one can be meant.",
		notAwaited,
	},
	{"SubagentStop", "", (*exchange).childEnded, "Completes the subagent's frame with its last message as summary.", ""},
	{
		"Stop", "", (*exchange).turnEnded,
		"Records that the session waits; blocks frames of subagents that no longer run; " +
			"evaluates, with the last calls in the session's log, whether the frame should end.", "",
	},
	{
		"StopFailure", "", (*exchange).turnFailed,
		"Ends the frame of a subagent that an error of the model's API stopped; in the session itself, records that it waits.",
		notAwaited,
	},
	{"PreCompact", "", (*exchange).compacting, "Adds what the frame needs to the instructions for the summary.", "only this event can"},
	{
		"PostCompact", "", (*exchange).compacted, "Stores the summary in the frame, and ends a frame whose pop waited for it.",
		notAwaited + "; only this event has the summary",
	},
	{
		"SessionEnd", "", (*exchange).sessionEnded,
		"Ends the session's root frame if no work is left below it; other frames stay as they are.", stoppedFirst,
	},
}

// Events says what flame does with each event of Claude Code.
func Events() (docs []hosts.EventDoc) {
	for _, r := range rows {
		by := "a call of the server"
		if r.alone != "" {
			by = "a process: " + r.alone
		}
		docs = append(docs, hosts.EventDoc{Event: r.event, Tools: r.tools, Does: r.does, By: by})
	}
	return docs
}

// fits reports whether the row applies to e.
func (r row) fits(e event) bool {
	if r.event != e.Name || r.tools == "" {
		return r.event == e.Name
	}
	whole, err := regexp.MatchString("^(?:"+r.tools+")$", e.Tool)
	return whole && err == nil
}

// vouches reports whether the answer only says who calls one of flame's tools.
func (r row) vouches() bool { return r.tools == flameTools || r.tools == spawnTools }

// Hook handles one event of Claude Code (a hosts.Hook).
func Hook(ctx context.Context, flame hosts.Flame, raw []byte) ([]byte, error) {
	e, err := decodeEvent(raw)
	if err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	i := slices.IndexFunc(rows, func(r row) bool { return r.fits(e) })
	if i < 0 || e.Session == "" {
		return nil, nil
	}
	e.agentID = flame.Agent
	e.seenAtEnd, e.seenBefore = e.seen(true), e.seen(false)
	var said answer
	err = e.transaction(rows[i], flame)(ctx, func(p *project.Project) error {
		x := exchange{ctx: ctx, p: p, ownTool: flame.OwnTool, event: e}
		err := rows[i].means(&x)
		said = x.answer
		return err
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", e.Name, err)
		if !rows[i].vouches() {
			return nil, err // it would tell of what is not there
		}
	}
	answer, wrong := said.encode(e.Name)
	return answer, errors.Join(err, wrong)
}

// transaction returns the function in whose transaction the event is handled.
// With hooks turned off for the project nothing is handled, but flame's own
// tools still work and are vouched for.
func (e event) transaction(r row, flame hosts.Flame) func(context.Context, func(*project.Project) error) error {
	p := flame.Project
	switch {
	case !r.vouches():
		on := turns.OnEvent
		if e.Name == "SessionStart" {
			on = turns.OnStart
		}
		return func(ctx context.Context, f func(*project.Project) error) error { return on(ctx, p, flame.Marks, f) }
	case r.tools == flameTools && e.Agent == "":
		return func(_ context.Context, f func(*project.Project) error) error { return f(p) } // it needs no store
	}
	return p.Together
}

// An exchange is one event and the answer to it.
type exchange struct {
	ctx     context.Context
	p       *project.Project
	ownTool func(name string) bool
	event
	answer answer
}

func (x *exchange) sessionStarted() error {
	begin := briefing.Begin
	if x.Source == "resume" {
		begin = briefing.Resume
	}
	return x.tell(begin(x.ctx, x.p, x.session(), maxInjected))
}

func (x *exchange) prompted() error {
	return x.tell(turns.Begin(x.ctx, x.p, x.session(), turns.Prompt{
		ID: x.PromptID, Text: x.Prompt, FromUser: !x.isNotification(), MaxChars: maxInjected, Standing: x.standing(),
		Seen: x.seenBefore,
	}))
}

// tell shows a briefing to the model.
func (x *exchange) tell(b briefing.Briefing, err error) error {
	x.answer.fields.Context = b.Text
	return err
}

// flameCalled vouches for the caller of one of flame's own tools and spares the
// user the question whether it may run. In the session itself it needs no
// store.
func (x *exchange) flameCalled() error {
	if name := x.toolOfFlame(); name == spawnTool || !x.ownTool(name) {
		return nil
	}
	x.answer.fields.Permission = "allow"
	x.answer.fields.Reason = "flame's own tools only work on its frames"
	return x.stamp()
}

// stamp vouches for the caller of a tool.
func (x *exchange) stamp() (err error) {
	stamp := map[string]string{"session_id": x.Session}
	if x.Agent != "" {
		stamp["agent_id"] = x.Agent
	}
	x.answer.fields.Input, err = changed(x.Input, stamp)
	return errors.Join(err, x.bind())
}

// agentAsked vouches for the caller of spawn_agent, and records the limits on
// what the agent may do. Whether it may be started is up to the user's rules.
func (x *exchange) agentAsked() error {
	if x.toolOfFlame() != spawnTool {
		return nil
	}
	return errors.Join(x.stamp(), x.p.NoteStanding(x.ctx, x.caller(), x.standing()))
}

// standing returns the limits of the agents that are requested.
func (x *exchange) standing() project.Standing {
	return project.Standing{Mode: x.Mode, Agent: x.AgentType}
}

func (x *exchange) turnEnded() error {
	if _, err := x.catchUp(); err != nil {
		return err
	}
	return turns.End(x.ctx, x.p, x.session(), turns.Turn{
		Prompt: x.PromptID, LastMessage: x.LastMessage, Running: x.running(), Transcript: x.Transcript, Seen: x.seenAtEnd,
	})
}

// turnFailed handles a turn that an error of the model's API ended.
func (x *exchange) turnFailed() error {
	if x.Agent == "" {
		return errors.Join(
			autonomy.NoteFailure(x.ctx, x.p, x.session()),
			turns.End(x.ctx, x.p, x.session(), turns.Turn{Failed: true, Stopped: x.failure(), Running: x.running(), Transcript: x.Transcript, Seen: x.seenAtEnd}),
		)
	}
	if err := x.bind(); err != nil {
		return err
	}
	return children.End(x.ctx, x.p, x.session(), children.Ended{Session: x.Agent, End: core.ChildFailed, Last: x.failure(), Transcript: x.agentLog(x.Agent)})
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
	if err := x.bind(); err != nil {
		return err
	}
	return autonomy.NoteFiles(x.ctx, x.p, x.caller(), []string{call.File + call.Notebook})
}

func (x *exchange) toolFailed() error {
	if err := x.bind(); err != nil {
		return err
	}
	return autonomy.NoteFailure(x.ctx, x.p, x.caller())
}

// compacting answers in plain text, which Claude Code adds to its own
// instructions for the summary; it rejects JSON there (observed).
func (x *exchange) compacting() error {
	note, err := stack.CompactionNote(x.ctx, x.p, x.caller(), x.Trigger == "manual", maxCompaction)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	x.answer.text = note
	return err
}

func (x *exchange) compacted() error {
	_, err := stack.StoreSummary(x.ctx, x.p, x.caller(), "", x.Summary)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	return err
}

// sessionEnded also ends the last turn, if that ended by itself and its end did not come.
func (x *exchange) sessionEnded() error {
	gap, err := x.catchUp()
	if err != nil {
		return err
	}
	if turn := x.lastTurn(); gap.End && turn.Over {
		ended := turns.Turn{Prompt: x.PromptID, LastMessage: turn.Said, Transcript: x.Transcript, Seen: x.seenBefore}
		if err := errors.Join(turns.End(x.ctx, x.p, x.session(), ended), x.p.NoteMadeUp(x.ctx, Name)); err != nil {
			return err
		}
	}
	return errors.Join(usage.CountLater(x.ctx, x.p, x.session(), x.Transcript), children.EndSession(x.ctx, x.p, x.session()))
}
