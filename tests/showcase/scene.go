package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"

	"flame/agents/converge"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/hosts"
	"flame/hosts/claudecode"
	"flame/hosts/opencode"
	"flame/project"
)

// A scene is written into a project. Its times are in minutes before now.
type scene struct {
	now     core.Millis
	tx      project.Tx
	err     error
	decided []core.Event
}

func (s *scene) at(ago float64) core.Millis { return s.now - core.Millis(ago*60_000) }

// The frames of the scene, and the agents that hosts started themselves: a webhook receiver is built.
//
//go:embed testdata/scene.json
var written []byte

// A work is a frame of the scene.
type work struct {
	ID, Under, Goal, Session, Summary string
	Status                            core.Status
	From, Until                       float64 // minutes before now
	Tokens, USD                       float64 // thousands, of all kinds
	Decisions                         string  // a line each
	Artifacts                         string  // with spaces between
}

func (s *scene) frame(w work) {
	f := core.Frame{
		ID: w.ID, Parent: w.Under, Goal: w.Goal, Status: w.Status, Session: w.Session, Summary: w.Summary,
		Artifacts: strings.Fields(w.Artifacts), Decisions: []string{}, CreatedAt: s.at(w.From), UpdatedAt: s.at(w.Until),
		Usage: core.Usage{
			TokensIn: int64(w.Tokens * 40), TokensOut: int64(w.Tokens * 60), CacheRead: int64(w.Tokens * 800), CacheWritten: int64(w.Tokens * 100),
			CostUSD: w.USD, ToolCalls: int64(w.Tokens / 7),
		},
	}
	if w.Decisions != "" {
		f.Decisions = strings.Split(w.Decisions, "\n")
		for i, decision := range f.Decisions {
			s.decided = append(s.decided, core.Event{
				TS: s.at(w.From + (w.Until-w.From)*float64(i+1)/float64(len(f.Decisions)+1)), Event: core.FrameUpdated, Frame: w.ID, Session: w.Session,
				Data: lo.Must(json.Marshal(map[string]any{"fields": []string{"decisions"}, "decisions": decision})),
			})
		}
	}
	if w.Status != core.Planned {
		f.StartedAt = f.CreatedAt
	}
	if w.Status != core.Planned && w.Status != core.InProgress {
		f.EndedAt = f.UpdatedAt
	}
	if w.Status == core.Invalidated {
		f.InvalidationReason, f.InvalidatedAt = "the provider signs with Ed25519 now", f.UpdatedAt
	}
	s.keep(s.tx.SaveFrame(f))
}

func (s *scene) keep(err error) {
	if s.err == nil {
		s.err = err
	}
}

// session writes a session that was last active heard minutes ago.
func (s *scene) session(of core.Session, from, heard float64, idle ...core.Interval) {
	of.CreatedAt, of.LastActivityAt, of.Stamped, of.MessageCount = s.at(from), s.at(heard), true, 40
	s.keep(s.tx.SaveSession(of))
	if len(idle) > 0 {
		s.keep(project.RecordIdle.Save(s.tx, of.ID, idle))
	}
}

// agent writes an agent that a session started, with its last output so many minutes ago.
func (s *scene) agent(run record.Agent, asked, last, ended float64, reason string) {
	run.Tree, run.Depth, run.Background = run.ParentSession, 1, true
	run.Mode, run.Model = record.ModeChoice{Effective: hosts.ModeAcceptEdits}, "sonnet"
	run.Limits = supervise.Limits{Idle: 10 * time.Minute, Wall: time.Hour, CostUSD: 5, Retries: 3}
	run.CreatedAt, run.Progress.LastLine = s.at(asked), s.at(last)
	run.Progress.Session, run.Progress.Model = run.Session, "claude-sonnet-5"
	if run.State.Ended() {
		run.EndedAt = s.at(ended)
		run.Outcome = &supervise.Outcome{
			State: run.State, Reason: reason, Text: run.Progress.Text, Partial: run.State != core.AgentCompleted,
			Progress: run.Progress, StartedAt: s.at(asked - 0.3), EndedAt: run.EndedAt,
		}
	}
	s.keep(record.Agents.Save(s.tx, run.ID, run))
	for i := range run.Progress.Attempt {
		between := asked - (asked-last)*float64(i+1)/float64(run.Progress.Attempt+1)
		s.keep(record.Emit(s.tx, s.at(between), run, core.SubagentRetry, map[string]any{"attempt": i + 1, "reason": "overloaded"}))
	}
	if run.State.Ended() {
		s.keep(record.Emit(s.tx, run.EndedAt, run, core.SubagentStop, map[string]any{"state": run.State, "reason": reason}))
	}
}

// The sessions of the scene.
const (
	first  = "7d1f3c55-0d7e-4f0e-9a33-51b0c9d2e001" // yesterday
	review = "ses_41d0aa1ffexQ7hJ0TvC64xV"          // yesterday, in the other host
	today  = "c02e9a10-6b1f-4a52-8f7a-7be1d3a0e002"
	waits  = "ses_52e1bb2ffexR8iK1UwD75yW"
)

// play writes the scene.
func (s *scene) play(tx project.Tx) error {
	s.tx, s.err, s.decided = tx, nil, nil
	var doc struct {
		Frames    []work
		Subagents []struct {
			ID, Frame, Under, Parent, Host, Title string
			From, Until                           float64
		}
	}
	s.keep(json.Unmarshal(written, &doc))
	s.sessions()
	for _, w := range doc.Frames {
		s.frame(w)
	}
	s.agents()
	s.conflict()
	s.talk()
	for _, of := range doc.Subagents {
		s.session(core.Session{
			ID: of.ID, Host: of.Host, Parent: of.Parent, Title: of.Title, Root: of.Frame, Current: of.Frame, State: core.SessionEnded,
			Tracked: true, IsSubagent: true, IsCompleted: true,
		}, of.From, of.Until)
		s.frame(work{ID: of.Frame, Under: of.Under, Goal: core.SubagentGoal(of.Title), Status: core.Completed, Session: of.ID, From: of.From, Until: of.Until,
			Tokens: 60, USD: 0.16, Summary: "What was asked for was found."})
	}
	s.rest()
	return s.err
}

// The two sides of the conflict: what each agent made of one file, and a value.
const (
	fullJitter = `// pause says how long to wait before a try.
func pause(try int) time.Duration {
	top := base << try
	return rand.N(top)
}
`
	equalJitter = `// pause says how long to wait before a try.
func pause(try int) time.Duration {
	top := base << try
	top = min(top, 6*time.Hour)
	half := top / 2
	return half + rand.N(half)
}
`
)

// conflict writes two agents that disagree, and the convergence that waits for a person.
func (s *scene) conflict() {
	var inputs []converge.AgentResult
	for i, side := range []struct{ id, host, task, code, tries string }{
		{"agent-f1u2l3l4", claudecode.Name, "Pauses with full jitter", fullJitter, "8"},
		{"agent-e5q6u7a8", opencode.Name, "Pauses with a cap and equal jitter", equalJitter, "12"},
	} {
		session, ended := "agent-session-"+string(rune('4'+i)), 25-float64(i)
		s.agent(record.Agent{
			ID: side.id, ParentSession: today, Session: session, Frame: "frame-agnt000" + string(rune('4'+i)), Host: side.host,
			Type: "builder", State: core.AgentCompleted, Description: side.task, Prompt: "Write the pauses between tries.",
			Progress: supervise.Progress{Text: "Done.", Turns: 8},
		}, 34, ended, ended, "done")
		inputs = append(inputs, converge.AgentResult{
			SubagentID: side.id, Task: side.task, Outcome: core.AgentCompleted, Decisions: []string{"retry.max_tries: " + side.tries}, CompletedAt: s.at(ended),
			Files: []converge.File{{Path: "receiver/retry.go", Base: "1", Hash: side.id, Excerpt: side.code}},
		})
	}
	c := converge.Convergence{ID: "converge-r3t5y7u9", Session: today, Inputs: inputs, CreatedAt: s.at(24), UpdatedAt: s.at(24)}
	c.Options.Strategy = converge.StrategyMerge
	var err error
	c.Result, err = converge.Converge(c.Inputs, c.Options)
	s.keep(err)
	s.keep(converge.RecordConvergences.Save(s.tx, c.ID, c))
}

// rest writes the decisions, a suggestion, and the requests that folding made shorter.
func (s *scene) rest() {
	slices.SortFunc(s.decided, func(x, y core.Event) int { return cmp.Compare(x.TS, y.TS) })
	_, err := s.tx.AppendEvent(s.decided[0], s.decided[1:]...)
	s.keep(err)
	s.keep(s.tx.SaveRecord("session.suggestions", today, []core.Suggestion{{
		Session: today, Frame: "frame-sign0005", Type: core.SuggestPush, Text: "Dead letters: a list, and a button that tries again", Reason: "a new goal",
		Confidence: 78, CreatedAt: s.at(2), RefreshedAt: s.at(2), ExpiresAt: s.at(-20),
	}}))
	s.keep(s.tx.SaveRecord("answers.answered", today, map[string]any{"count": 212, "sent": 9_400_000, "leftOut": 12_100_000}))
	s.keep(s.tx.SaveRecord("answers.answered", waits, map[string]any{"count": 31, "sent": 890_000, "leftOut": 240_000}))
}

func (s *scene) sessions() {
	lunch := core.Interval{From: s.at(1290), Until: s.at(1235)}
	s.session(core.Session{ID: first, Host: claudecode.Name, Title: "Webhook receiver", State: core.SessionEnded, Root: "frame-recv0001"}, 1440, 1120, lunch)
	s.session(core.Session{ID: review, Host: opencode.Name, Title: "Review of the receiver", State: core.SessionEnded, Root: "frame-revw0001"}, 1180, 1105)
	s.session(core.Session{
		ID: today, Host: claudecode.Name, Title: "Retries and signatures", State: core.SessionActive, Root: "frame-sign0001", Current: "frame-sign0005",
	}, 130, 0.1)
	s.session(core.Session{ID: "agent-session-1", Host: claudecode.Name, State: core.SessionEnded, Root: "frame-agnt0001"}, 17, 0.2)
	s.session(core.Session{
		ID: waits, Host: opencode.Name, Title: "Load test of the receiver", State: core.SessionIdle, Root: "frame-load0001", Current: "frame-load0001",
	}, 75, 22)
}

func (s *scene) agents() {
	used := func(tokens, usd float64) core.Usage {
		return core.Usage{TokensIn: int64(tokens * 50), TokensOut: int64(tokens * 50), CacheRead: int64(tokens * 900), CostUSD: usd, ToolCalls: int64(tokens / 8)}
	}
	s.agent(record.Agent{
		ID: "agent-k3x9a1b2", ParentSession: today, Session: "agent-session-1", Frame: "frame-agnt0001", Host: claudecode.Name, Type: "tester",
		State: core.AgentActive, Description: "Simulate outages of the receiver and count lost events",
		Prompt:   "Stop the receiver for 1, 10 and 60 minutes under load and count what is lost.",
		Progress: supervise.Progress{Text: "The outage of 10 minutes loses nothing; now the one of 60.", LastTool: "Bash", Turns: 14, Usage: used(220, 0.74)},
	}, 17, -60, 0, "") // an hour ahead: the agent never counts as silent, however slow a test is
	s.agent(record.Agent{
		ID: "agent-q7w2e4r6", ParentSession: today, Session: "agent-session-2", Frame: "frame-agnt0002", Host: claudecode.Name, Type: "analyzer",
		State:       core.AgentError,
		Description: "Measure what verifying costs", Prompt: "Measure Ed25519 and HMAC over bodies of 1 KB, 100 KB and 1 MB.",
		Progress: supervise.Progress{Text: "The benchmark does not build here.", LastTool: "Bash", Turns: 9, Usage: used(150, 0.5)},
	}, 72, 59, 58, "the host ended with status 1")
	s.agent(record.Agent{
		ID: "agent-m5n8b2v4", ParentSession: today, Session: "agent-session-3", Frame: "frame-agnt0003", Host: opencode.Name, Type: "explorer",
		State:       core.AgentCompleted,
		Description: "Find every place that reads the old key", Prompt: "List every file and line that reads WEBHOOK_SECRET.",
		Progress: supervise.Progress{Text: "Three places read it: config/config.go, receiver/verify.go, deploy/rotate.sh.",
			Turns: 11, Attempt: 2, Usage: used(190, 0.28)},
	}, 110, 92, 92, "done")
}

// said are the transcripts of today's session and of its tester: minutes ago, the text (of a prompt
// after ">"), and the calls.
var said = map[string][]struct {
	ago   float64
	text  string
	calls []string
}{
	today: {
		{81, "> Verify over the raw body. Old signatures stay valid until the end of the month.", nil},
		{80, "I read how bodies reach the handler before I touch the check.", []string{"Read receiver/verify.go", "Grep WEBHOOK_SECRET"}},
		{71, "The provider signs the bytes as sent, so the body is read once and kept before anything parses it.",
			[]string{"Edit receiver/verify.go", "Bash go test ./receiver"}},
		{58, "All 31 cases pass. A request older than five minutes is refused with 400.", []string{"Bash go test -race ./..."}},
		{48, "Done: signatures are checked over the raw body, with both kinds of keys.", nil},
		{37, "Retries: two agents try two kinds of jitter.", []string{"Read receiver/queue.go"}},
	},
	"agent-session-1": {
		{16.5, "> Stop the receiver for 1, 10 and 60 minutes under load and count what is lost.", nil},
		{15, "The fake receiver is ready: it answers 500, or nothing, for as long as a test wants.", []string{"Write receiver/outage_test.go"}},
		{9, "An outage of one minute loses nothing: 600 sent, 600 worked on.", []string{"Bash go test -run Outage/1m"}},
		{0.5, "The outage of 10 minutes loses nothing; now the one of 60.", []string{"Bash go test -run Outage/60m"}},
	},
}

const patch = `@@ -22,5 +22,7 @@
 func (v *Verifier) Check(h http.Header, body []byte) error {
-	mac := hmac.New(sha256.New, v.secret)
-	mac.Write(normalize(body))
+	at, err := signedAt(h)
+	if err != nil || v.now().Sub(at) > 5*time.Minute {
+		return ErrStale
+	}
 	for _, key := range v.keys.Current() {
`

// talk writes the transcripts, and what a frame changed.
func (s *scene) talk() {
	for session, lines := range said {
		path := filepath.Join(os.Getenv("HOME"), ".claude", "projects", "orchard", session+".jsonl")
		s.keep(os.MkdirAll(filepath.Dir(path), 0o755))
		var b strings.Builder
		line := func(ago float64, kind string, message map[string]any) {
			b.Write(lo.Must(json.Marshal(map[string]any{
				"type": kind, "uuid": fmt.Sprint(session, b.Len()), "sessionId": session, "message": message,
				"timestamp": s.at(ago).Time().UTC().Format(time.RFC3339Nano),
			})))
			b.WriteString("\n")
		}
		for i, of := range lines {
			if text, prompt := strings.CutPrefix(of.text, "> "); prompt {
				line(of.ago, "user", map[string]any{"role": "user", "content": text})
				continue
			}
			content, outputs := []map[string]any{{"type": "text", "text": of.text}}, []map[string]any{}
			for j, call := range of.calls {
				tool, input, _ := strings.Cut(call, " ")
				id := fmt.Sprintf("call-%d-%d", i, j)
				given := map[string]any{"command": input}
				content = append(content, map[string]any{"type": "tool_use", "id": id, "name": tool, "input": given})
				outputs = append(outputs, map[string]any{"type": "tool_result", "tool_use_id": id, "content": "ok"})
			}
			line(of.ago, "assistant", map[string]any{"id": fmt.Sprint("answer-", i), "role": "assistant", "model": "claude-sonnet-5", "content": content})
			if len(outputs) > 0 {
				line(of.ago, "user", map[string]any{"role": "user", "content": outputs})
			}
		}
		s.keep(os.WriteFile(path, []byte(b.String()), 0o600))
		s.keep(project.RecordTranscript.Save(s.tx, session, project.Transcript{Path: path}))
	}
	const frame = "frame-sign0003"
	s.keep(s.tx.SaveRecord("files", frame, map[string]any{
		"files": []map[string]any{{"path": "receiver/verify.go", "kind": "modified", "added": 4, "removed": 2, "changes": 1}},
		"first": 0, "next": 1, "bytes": len(patch),
	}))
	s.keep(s.tx.SaveRecord("files", frame+"/0000000000", map[string]any{"path": "receiver/verify.go", "text": patch}))
}
