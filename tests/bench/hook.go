package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/fold"
	"flame/hosts/claudecode"
	"flame/hosts/opencode"
	"flame/project"
)

// A hookEvent is one event of a host, as the host sends it to flame hook.
type hookEvent struct {
	what  string
	host  string
	goal  goal
	event func(t tree, run int) map[string]any
	// A hook never fails, so the benchmark checks its effect: its answer contains this, or each
	// run adds one to that.
	answer func(t tree) string
	kept   func(tx project.Tx, t tree) int
	called bool // the host calls its running server for it, if it can
}

// hookEvents are the most frequent events. The event of a compaction reads, but also notes durably
// that the context was given, so it counts as a write.
var hookEvents = []hookEvent{
	{what: "SessionStart of a compaction", host: claudecode.Name, goal: writeGoal, event: compacted, answer: currentFrame},
	{what: "PreToolUse of a flame tool", host: claudecode.Name, goal: readGoal, event: flameCalled, answer: hookedID, called: true},
	{what: "PreToolUse in a subagent", host: claudecode.Name, goal: readGoal, event: flameCalledInChild, answer: childID, called: true},
	{what: "messages.transform", host: opencode.Name, goal: readGoal, event: requested, answer: currentFrame},
	{what: "messages.transform of a new prompt", host: opencode.Name, goal: writeGoal, event: requestedAnew, kept: promptsDecidedOn},
	{what: "UserPromptSubmit", host: claudecode.Name, goal: writeGoal, event: prompted, kept: promptsTakenIn, called: true},
	{what: "PostToolUse of Write", host: claudecode.Name, goal: writeGoal, event: fileWritten, kept: filesNoted, called: true},
}

// hooks times each event on every tree.
func (b *bench) hooks(ctx context.Context) (rows []row) {
	for _, e := range hookEvents {
		rows = append(rows, b.timeHook(ctx, e)...)
	}
	return rows
}

func (b *bench) timeHook(ctx context.Context, e hookEvent) []row {
	before := b.keptBy(ctx, e)
	rows := b.everywhere(ctx, "flame hook, "+e.what+", p50", e.goal, func(t tree, run int) { b.hook(ctx, e, t, run) })
	sent, kept := b.processes*len(b.scale.trees), b.keptBy(ctx, e)-before
	check(e.kept == nil || kept == sent, "of %d events %s flame hook kept %d", sent, e.what, kept)
	return rows
}

// hook sends e and checks the answer.
func (b *bench) hook(ctx context.Context, e hookEvent, t tree, run int) {
	e.check(t, output(b.fed(b.command(ctx, t, "hook", e.host), e, t, run)))
}

// check checks flame's answer.
func (e hookEvent) check(t tree, answer string) {
	if e.answer != nil {
		check(strings.Contains(answer, e.answer(t)), "flame answered %s without %s: %q", e.what, e.answer(t), answer)
	}
}

// fed passes the event to a command's stdin.
func (b *bench) fed(cmd *exec.Cmd, e hookEvent, t tree, run int) *exec.Cmd {
	cmd.Stdin = bytes.NewReader(lo.Must(json.Marshal(e.event(t, run))))
	return cmd
}

// keptBy counts the stored effects of the runs of e in all trees.
func (b *bench) keptBy(ctx context.Context, e hookEvent) (sum int) {
	if e.kept == nil {
		return 0
	}
	for _, frames := range b.scale.trees {
		t := b.trees[frames]
		p, closing := t.open()
		lo.Must0(p.Store.View(ctx, func(tx project.Tx) error {
			sum += e.kept(tx, t)
			return nil
		}))
		closing()
	}
	return sum
}

// claudeEvent has the fields of all events of Claude Code.
func claudeEvent(t tree, name string, fields map[string]any) map[string]any {
	event := map[string]any{
		"session_id": t.hooked, "transcript_path": filepath.Join(t.dir, t.hooked+".jsonl"), "cwd": t.dir,
		"permission_mode": "default", "hook_event_name": name,
	}
	for field, value := range fields {
		event[field] = value
	}
	return event
}

func compacted(t tree, _ int) map[string]any {
	return claudeEvent(t, "SessionStart", map[string]any{"source": "compact"})
}

func flameCalled(t tree, run int) map[string]any {
	return claudeEvent(t, "PreToolUse", map[string]any{
		"tool_name": "mcp__plugin_flame_flame__flame_add_decision", "tool_use_id": fmt.Sprintf("toolu_flame%d", run),
		"tool_input": map[string]any{"decision": fmt.Sprintf("decision %d", run)},
		"mcp_server": map[string]any{"name": "plugin:flame:flame", "source": "plugin"},
	})
}

func flameCalledInChild(t tree, run int) map[string]any {
	event := flameCalled(t, run)
	event["agent_id"], event["agent_type"] = t.child, "general-purpose"
	return event
}

func prompted(t tree, run int) map[string]any {
	return claudeEvent(t, "UserPromptSubmit", map[string]any{
		"prompt_id": fmt.Sprintf("prompt-%d", run), "prompt": fmt.Sprintf("Now split the parser from the session cache, step %d.", run),
	})
}

func fileWritten(t tree, run int) map[string]any {
	file := filepath.Join(t.dir, fmt.Sprintf("part%d.go", run))
	content := strings.Repeat("// a line of a file\n", 200)
	return claudeEvent(t, "PostToolUse", map[string]any{
		"tool_name": "Write", "tool_use_id": fmt.Sprintf("toolu_write%d", run),
		"tool_input":    map[string]any{"file_path": file, "content": content},
		"tool_response": map[string]any{"type": "create", "filePath": file, "content": content, "structuredPatch": []any{}},
	})
}

// The length of the conversation in a request of OpenCode.
const (
	frameVisits = 10 // frames that it entered and left
	frameWork   = 4  // messages in each
)

// requested is a request of OpenCode in the middle of a turn. The first run decides on the text
// beside the prompt; the others find that decision.
func requested(t tree, _ int) map[string]any { return request(t, 0) }

// requestedAnew is the first request of another turn each time.
func requestedAnew(t tree, run int) map[string]any { return request(t, run+1) }

// request is a request of OpenCode that answers the prompt of a turn.
func request(t tree, turn int) map[string]any {
	messages := []map[string]any{{"name": promptOf(turn), "role": core.RoleUser, "time": firstMorning}}
	for visit := range frameVisits {
		frame := t.ids[len(t.ids)-1-visit]
		for step := range frameWork {
			message := map[string]any{
				"name": fmt.Sprintf("msg_%d_%d", visit, step), "role": core.RoleAssistant,
				"time": firstMorning + core.Millis(len(messages))*1000, "tail": strings.Repeat("So it goes on. ", 20),
			}
			switch step {
			case 0:
				message["moves"] = []map[string]any{{"kind": fold.Enter, "frame": frame}}
			case frameWork - 1:
				message["moves"] = []map[string]any{{"kind": fold.Leave, "frame": frame}}
			}
			messages = append(messages, message)
		}
	}
	return map[string]any{"event": "messages.transform", "session": t.opencode, "messages": messages}
}

const promptFormat = "msg_prompt%d"

func promptOf(turn int) string { return fmt.Sprintf(promptFormat, turn) }

// promptsDecidedOn reads the turn from the last prompt with a decision: turns begin at 0 and come
// in order.
func promptsDecidedOn(tx project.Tx, t tree) (turn int) {
	var last struct{ Prompt string }
	if lo.Must(tx.Record("ledger", t.opencode, &last)) {
		lo.Must(fmt.Sscanf(last.Prompt, promptFormat, &turn))
	}
	return turn
}

func currentFrame(t tree) string { return t.current }
func hookedID(t tree) string     { return `"session_id":"` + t.hooked + `"` }
func childID(t tree) string      { return `"agent_id":"` + t.child + `"` }

func promptsTakenIn(tx project.Tx, t tree) int { return lo.Must(tx.Session(t.hooked)).MessageCount }
func filesNoted(tx project.Tx, t tree) int     { return len(lo.Must(tx.Frame(t.current)).Artifacts) }
