package main

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/samber/lo"

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

// A work is a frame of the scene.
type work struct {
	id, under, goal string
	status          core.Status
	session         string
	from, until     float64 // minutes before now
	tokens          float64 // thousands, of all kinds
	usd             float64
	summary         string
	decisions       string // a line each
	artifacts       string // with spaces between
}

func (s *scene) frame(w work) {
	f := core.Frame{
		ID: w.id, Parent: w.under, Goal: w.goal, Status: w.status, Session: w.session, Summary: w.summary,
		Artifacts: strings.Fields(w.artifacts), Decisions: []string{}, CreatedAt: s.at(w.from), UpdatedAt: s.at(w.until),
		Usage: core.Usage{
			TokensIn: int64(w.tokens * 40), TokensOut: int64(w.tokens * 60), CacheRead: int64(w.tokens * 800), CacheWritten: int64(w.tokens * 100),
			CostUSD: w.usd, ToolCalls: int64(w.tokens / 7),
		},
	}
	if w.decisions != "" {
		f.Decisions = strings.Split(w.decisions, "\n")
		for i, decision := range f.Decisions {
			s.decided = append(s.decided, core.Event{
				TS: s.at(w.from + (w.until-w.from)*float64(i+1)/float64(len(f.Decisions)+1)), Event: core.FrameUpdated, Frame: w.id, Session: w.session,
				Data: lo.Must(json.Marshal(map[string]any{"fields": []string{"decisions"}, "decisions": decision})),
			})
		}
	}
	if w.status != core.Planned {
		f.StartedAt = f.CreatedAt
	}
	if w.status != core.Planned && w.status != core.InProgress {
		f.EndedAt = f.UpdatedAt
	}
	if w.status == core.Invalidated {
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
func (s *scene) session(of core.Session, from, heard float64, idle ...core.Stretch) {
	of.CreatedAt, of.LastActivityAt, of.Stamped, of.MessageCount = s.at(from), s.at(heard), true, 40
	s.keep(s.tx.SaveSession(of))
	if len(idle) > 0 {
		s.keep(project.RecordIdle.Save(s.tx, of.ID, idle))
	}
}

// agent writes an agent that a session started, with its last output so many minutes ago.
func (s *scene) agent(run record.Run, asked, last, ended float64, reason string) {
	run.Tree, run.Depth, run.Background = run.ParentSession, 1, true
	run.Mode, run.Model = record.Choice{Effective: hosts.AcceptEdits}, "sonnet"
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
	s.keep(record.Runs.Save(s.tx, run.ID, run))
	for i := range run.Progress.Attempt {
		between := asked - (asked-last)*float64(i+1)/float64(run.Progress.Attempt+1)
		s.keep(record.Tell(s.tx, s.at(between), run, core.SubagentRetry, map[string]any{"attempt": i + 1, "reason": "overloaded"}))
	}
	if run.State.Ended() {
		s.keep(record.Tell(s.tx, run.EndedAt, run, core.SubagentStop, map[string]any{"state": run.State, "reason": reason}))
	}
}

// The sessions of the scene.
const (
	first  = "7d1f3c55-0d7e-4f0e-9a33-51b0c9d2e001" // yesterday
	review = "ses_41d0aa1ffexQ7hJ0TvC64xV"          // yesterday, in the other host
	today  = "c02e9a10-6b1f-4a52-8f7a-7be1d3a0e002"
	waits  = "ses_52e1bb2ffexR8iK1UwD75yW"
)

// play writes the scene: a webhook receiver is built.
func (s *scene) play(tx project.Tx) error {
	s.tx, s.err, s.decided = tx, nil, nil
	s.sessions()
	s.yesterday()
	s.thisMorning()
	s.agents()
	s.subagents()
	s.rest()
	return s.err
}

// rest writes the decisions, a suggestion, and the requests that folding made shorter.
func (s *scene) rest() {
	slices.SortFunc(s.decided, func(x, y core.Event) int { return cmp.Compare(x.TS, y.TS) })
	_, err := s.tx.AppendEvent(s.decided[0], s.decided[1:]...)
	s.keep(err)
	s.keep(s.tx.SaveRecord("suggestions", today, []core.Suggestion{{
		Session: today, Frame: "frame-sign0005", Type: core.SuggestPush, Text: "Dead letters: a list, and a button that tries again", Reason: "a new goal",
		Confidence: 78, CreatedAt: s.at(2), RefreshedAt: s.at(2), ExpiresAt: s.at(-20),
	}}))
	s.keep(s.tx.SaveRecord("answered", today, map[string]any{"count": 212, "sent": 9_400_000, "leftOut": 12_100_000}))
	s.keep(s.tx.SaveRecord("answered", waits, map[string]any{"count": 31, "sent": 890_000, "leftOut": 240_000}))
}

func (s *scene) sessions() {
	lunch := core.Stretch{From: s.at(1290), Until: s.at(1235)}
	s.session(core.Session{ID: first, Host: claudecode.Name, Title: "Webhook receiver", State: core.SessionEnded, Root: "frame-recv0001"}, 1440, 1120, lunch)
	s.session(core.Session{ID: review, Host: opencode.Name, Title: "Review of the receiver", State: core.SessionEnded, Root: "frame-revw0001"}, 1180, 1105)
	s.session(core.Session{
		ID: today, Host: claudecode.Name, Title: "Retries and signatures", State: core.SessionActive, Root: "frame-sign0001", Current: "frame-sign0005",
	}, 130, 0.1)
	s.session(core.Session{
		ID: waits, Host: opencode.Name, Title: "Load test of the receiver", State: core.SessionIdle, Root: "frame-load0001", Current: "frame-load0001",
	}, 75, 22)
}

func (s *scene) yesterday() {
	for _, w := range []work{
		{id: "frame-recv0001", goal: "Build a receiver for the payment provider's webhooks", status: core.Completed, session: first, from: 1440, until: 1120,
			tokens: 210, usd: 0.84, artifacts: "receiver/ docs/webhooks.md", summary: "Receiver with a queue, stored idempotency keys and a replay command. " +
				"Signatures are left for tomorrow: the provider changes them tonight.",
			decisions: "answer 202 before any work is done\nkeep raw bodies for 30 days"},
		{id: "frame-recv0002", under: "frame-recv0001", goal: "Read the provider's documentation", status: core.Completed, session: first, from: 1432, until: 1410,
			tokens: 160, usd: 0.41, summary: "Events come at least once, unordered, with a retry for 3 days."},
		{id: "frame-recv0003", under: "frame-recv0001", goal: "Endpoint that stores events and answers at once", status: core.Completed, session: first,
			from: 1405, until: 1330, tokens: 540, usd: 1.9, artifacts: "receiver/endpoint.go receiver/endpoint_test.go",
			summary: "POST /hooks stores and answers 202."},
		{id: "frame-recv0004", under: "frame-recv0003", goal: "Idempotency by the event's id", status: core.Completed, session: first, from: 1370, until: 1345,
			tokens: 180, usd: 0.6, summary: "A unique index; the second delivery changes nothing."},
		{id: "frame-recv0005", under: "frame-recv0001", goal: "Check signatures (HMAC)", status: core.Invalidated, session: first, from: 1325, until: 118,
			tokens: 220, usd: 0.7, summary: "HMAC-SHA256 over the raw body."},
		{id: "frame-recv0006", under: "frame-recv0001", goal: "Queue with workers", status: core.Completed, session: first, from: 1232, until: 1150,
			tokens: 610, usd: 2.3, artifacts: "receiver/queue.go", summary: "Workers take events in the order of their account."},
		{id: "frame-recv0007", under: "frame-recv0006", goal: "Use a second database for the queue", status: core.Failed, session: first, from: 1222, until: 1196,
			tokens: 240, usd: 0.8, summary: "Two databases cannot commit together; back to one."},
		{id: "frame-recv0008", under: "frame-recv0006", goal: "Queue in a table, with SKIP LOCKED", status: core.Completed, session: first, from: 1194, until: 1153,
			tokens: 260, usd: 0.9, summary: "4,000 events a second on a laptop."},
		{id: "frame-recv0009", under: "frame-recv0001", goal: "Replay command", status: core.Completed, session: first, from: 1148, until: 1124,
			tokens: 150, usd: 0.5, summary: "replay --since and --event."},
		{id: "frame-revw0001", goal: "Review the receiver before it goes out", status: core.Completed, session: review, from: 1180, until: 1105,
			tokens: 190, usd: 0.33, summary: "Two findings: a body of 2 GB is read whole, and times are compared with ==.", decisions: "bodies are cut at 1 MB"},
	} {
		s.frame(w)
	}
}

func (s *scene) thisMorning() {
	for _, w := range []work{
		{id: "frame-sign0001", goal: "Signatures by Ed25519, and retries that do not pile up", status: core.InProgress, session: today, from: 130, until: 1,
			tokens: 320, usd: 1.2, decisions: "both kinds of signature are taken until the end of the month\nkeys are fetched once an hour, and never during a request"},
		{id: "frame-sign0002", under: "frame-sign0001", goal: "Fetch and keep the provider's public keys", status: core.Completed, session: today, from: 116,
			until: 84, tokens: 410, usd: 1.5, artifacts: "receiver/keys.go receiver/keys_test.go",
			summary: "Keys are kept for an hour, and the last good ones for a day."},
		{id: "frame-sign0003", under: "frame-sign0001", goal: "Verify signatures over the raw body", status: core.Completed, session: today, from: 82, until: 47,
			tokens: 380, usd: 1.4, artifacts: "receiver/verify.go", summary: "Ed25519 first, HMAC while it lasts; a clock skew of 5 minutes is allowed."},
		{id: "frame-sign0004", under: "frame-sign0001", goal: "Ask the provider for a test key of the new kind", status: core.Blocked, session: today, from: 45,
			until: 39, tokens: 40, usd: 0.12, summary: "Only an administrator can make one; asked in the ticket."},
		{id: "frame-sign0005", under: "frame-sign0001", goal: "Retries with growing pauses", status: core.InProgress, session: today, from: 38, until: 0.1,
			tokens: 290, usd: 1.05, decisions: "at most 8 tries in 3 days"},
		{id: "plan-sign0006", under: "frame-sign0001", goal: "Dead letters: a list, and a button that tries again", status: core.Planned, from: 128, until: 128},
		{id: "plan-sign0007", under: "frame-sign0001", goal: "Write the runbook", status: core.Planned, from: 128, until: 128},
		{id: "frame-load0001", goal: "Load test: 10,000 events in a minute", status: core.InProgress, session: waits, from: 75, until: 22, tokens: 130, usd: 0.21},
	} {
		s.frame(w)
	}
}

func (s *scene) agents() {
	used := func(tokens, usd float64) core.Usage {
		return core.Usage{TokensIn: int64(tokens * 50), TokensOut: int64(tokens * 50), CacheRead: int64(tokens * 900), CostUSD: usd, ToolCalls: int64(tokens / 8)}
	}
	s.frame(work{id: "frame-agnt0001", under: "frame-sign0005", goal: "Simulate outages of the receiver and count lost events", status: core.InProgress,
		session: "agent-session-1", from: 17, until: 0.2, tokens: 220, usd: 0.74})
	s.agent(record.Run{
		ID: "agent-k3x9a1b2", ParentSession: today, Session: "agent-session-1", Frame: "frame-agnt0001", Host: claudecode.Name, Type: "tester",
		State: core.AgentActive, Description: "Simulate outages of the receiver and count lost events",
		Prompt:   "Stop the receiver for 1, 10 and 60 minutes under load and count what is lost.",
		Progress: supervise.Progress{Text: "The outage of 10 minutes loses nothing; now the one of 60.", LastTool: "Bash", Turns: 14, Usage: used(220, 0.74)},
	}, 17, -60, 0, "") // an hour ahead: the agent never counts as silent, however slow a test is
	s.frame(work{id: "frame-agnt0002", under: "frame-sign0003", goal: "Measure what verifying costs", status: core.Failed, session: "agent-session-2",
		from: 72, until: 58, tokens: 150, usd: 0.5, summary: "The benchmark did not build: no cgo on the machine."})
	s.agent(record.Run{
		ID: "agent-q7w2e4r6", ParentSession: today, Session: "agent-session-2", Frame: "frame-agnt0002", Host: claudecode.Name, Type: "analyzer",
		State:       core.AgentError,
		Description: "Measure what verifying costs", Prompt: "Measure Ed25519 and HMAC over bodies of 1 KB, 100 KB and 1 MB.",
		Progress: supervise.Progress{Text: "The benchmark does not build here.", LastTool: "Bash", Turns: 9, Usage: used(150, 0.5)},
	}, 72, 59, 58, "the host ended with status 1")
	s.frame(work{id: "frame-agnt0003", under: "frame-sign0002", goal: "Find every place that reads the old key", status: core.Completed,
		session: "agent-session-3", from: 110, until: 92, tokens: 190, usd: 0.28, summary: "Three places: config, receiver, and a script in deploy/."})
	s.agent(record.Run{
		ID: "agent-m5n8b2v4", ParentSession: today, Session: "agent-session-3", Frame: "frame-agnt0003", Host: opencode.Name, Type: "explorer",
		State:       core.AgentCompleted,
		Description: "Find every place that reads the old key", Prompt: "List every file and line that reads WEBHOOK_SECRET.",
		Progress: supervise.Progress{Text: "Three places read it: config/config.go, receiver/verify.go, deploy/rotate.sh.",
			Turns: 11, Attempt: 2, Usage: used(190, 0.28)},
	}, 110, 92, 92, "done")
}

// subagents writes the agents that hosts started themselves.
func (s *scene) subagents() {
	for _, of := range []struct {
		id, frame, under, parent, host, title string
		from, until                           float64
	}{
		{"a1f0c2d4e5b6a7981", "frame-natv0001", "frame-recv0003", first, claudecode.Name, "Look how other handlers are tested (@Explore subagent)", 1400, 1388},
		{"a2f0c2d4e5b6a7982", "frame-natv0002", "frame-sign0005", today, claudecode.Name, "Read up on jitter (@general-purpose subagent)", 36, 29},
		{"ses_child0000000003", "frame-natv0003", "frame-revw0001", review, opencode.Name, "Check the error paths (@general subagent)", 1165, 1139},
	} {
		s.session(core.Session{
			ID: of.id, Host: of.host, Parent: of.parent, Title: of.title, Root: of.frame, Current: of.frame, State: core.SessionEnded,
			Tracked: true, IsSubagent: true, IsCompleted: true,
		}, of.from, of.until)
		s.frame(work{id: of.frame, under: of.under, goal: core.SubagentGoal(of.title), status: core.Completed, session: of.id, from: of.from, until: of.until,
			tokens: 60, usd: 0.16, summary: "What was asked for was found."})
	}
}
