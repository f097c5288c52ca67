package codex

import (
	"cmp"
	"strconv"
	"strings"

	"flame/core"
	"flame/transcripts"
)

// What the files of older clients have:
//
//   - A fork's file, and a subagent's that goes on from its parent's conversation, begins with a copy of the
//     other thread's lines, mostly with its session_meta. The client may have stamped them anew.
//   - Up to 0.126, usage stands only in token_count: the thread's total so far, repeated at will, and that of
//     the last answer. Newer clients write both kinds, token_usage_record first.
//   - A subagent's parent stands only in the source of session_meta.

// An older is the state between the lines of an older client.
type older struct {
	watch  bool        // a copy may come
	copied bool        // lines are copies
	dated  bool        // the ids of turns tell when they began
	aged   bool        // copies have their own times
	born   core.Millis // when the thread was made
	begun  core.Millis // when its first line was written

	records bool   // usage stands in token_usage_record
	spoke   bool   // the thread's model has said something
	known   bool   // total is known
	total   tokens // of the last token_count
}

// A source says what started a thread.
type source struct {
	Subagent struct {
		Spawn struct {
			Parent string `json:"parent_thread_id"`
			Role   string `json:"agent_role"`
		} `json:"thread_spawn"`
	} `json:"subagent"`
}

// A count is what a token_count has.
type count struct {
	Total tokens `json:"total_token_usage"`
	Last  tokens `json:"last_token_usage"`
}

// parent returns the thread that started the one of a session_meta; empty for a session.
func (p payload) parent() string { return cmp.Or(p.Parent, p.Source.Subagent.Spawn.Parent) }

// begin takes in the first line of a thread's file.
func (o *older) begin(l entry) {
	o.begun, o.born = core.Millis(l.Time), cmp.Or(madeAt(l.Payload.ID), core.Millis(l.Payload.Created))
	o.watch = l.Payload.Forked != "" || l.Payload.parent() != ""
	o.known = !o.watch // a total begins at 0
}

const (
	// copying is how long after the first line the client may write copies, in ms. It counts only if
	// neither turns nor copies tell their time.
	copying = 1000
	// spawned begins the last copied line of a subagent's file, the answer to the call that started it.
	spawned = "You are the newly spawned agent."
)

// isCopy reports whether a line is a copy.
func (o *older) isCopy(l entry) bool {
	if !o.watch {
		return false
	}
	turn, at := madeAt(l.Payload.Turn), core.Millis(l.Time)
	switch {
	case turn != 0 && turn != o.born && (l.Type == "turn_context" || l.Payload.Type == "task_started"):
		o.dated, o.copied = true, turn < o.born
		o.watch = o.copied
	case o.dated:
	case 0 < at && at < o.begun:
		o.aged, o.copied = true, true
	case o.copied && strings.HasPrefix(string(l.Payload.Output), spawned):
		o.watch, o.copied = false, false
		return true
	case o.copied && (o.aged || at > o.begun+copying):
		o.watch, o.copied = false, false
	}
	return o.copied
}

// madeAt returns the time in an id, a UUID of version 7; 0 if it has none.
func madeAt(id string) core.Millis {
	if len(id) != 36 || id[14] != '7' {
		return 0
	}
	at, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64)
	if err != nil {
		return 0
	}
	return core.Millis(at)
}

// counted returns the usage since the last token_count.
func (o *older) counted(c count) core.Usage {
	before, known := o.total, o.known
	if c.Total == (tokens{}) || known && c.Total == before {
		return core.Usage{}
	}
	o.total, o.known = c.Total, true
	switch {
	case c.Total == c.Last, known && c.Total.Input+c.Total.Output < before.Input+before.Output:
		return c.Total.usage() // a total that began anew
	case known:
		return Usage(c.Total.Input-before.Input, c.Total.CacheRead-before.CacheRead,
			c.Total.CacheWritten-before.CacheWritten, c.Total.Output-before.Output)
	case o.spoke:
		return c.Last.usage()
	}
	return core.Usage{} // another thread's total
}

// told returns the message about usage of a token_count; without a role if it tells nothing new.
func (r *rollout) told(m core.Message, c count) core.Message {
	u := r.counted(c)
	if r.records || r.copied || u == (core.Usage{}) {
		return m
	}
	m.Role, m.ID, m.Model, m.Usage = core.RoleAssistant, r.answer, r.model, transcripts.WithPrice(r.model, u)
	r.answer, m.Synthetic = "", true
	return m
}
