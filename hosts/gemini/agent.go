package gemini

import (
	"path/filepath"
	"strings"

	"flame/core"
	"flame/hosts/hooks"
	"flame/project/children"
	logs "flame/transcripts/gemini"
)

// callDelay is the time within which Gemini CLI has begun the calls of an answer, in ms.
const callDelay = core.Millis(1_000)

// findAgent finds out which agent made the call that the event is about, and notes it in the event:
// the session itself, or one of its subagents. Gemini CLI does not say. But it writes an answer to the
// log before its calls, all of which it begins at once, and the calls after their end. So the caller is
// the one subagent whose last answer has no calls yet; if there are several, the one that has only just
// answered. unsure reports that there is not exactly one.
func (x *exchange) findAgent() (unsure bool, err error) {
	x.Agent = ""
	var calling, fresh []string
	for _, path := range x.logsBelow() {
		agent, err := x.running(path)
		if err != nil {
			return false, err
		}
		answered := core.Millis(0)
		if agent != "" {
			answered = logs.OpenCallTime(hooks.Tail(path, maxChild))
		}
		if answered == 0 {
			continue
		}
		calling = append(calling, agent)
		if since := x.at() - answered; since >= 0 && since < callDelay {
			fresh = append(fresh, agent)
		}
	}
	if len(calling) > 1 {
		calling, unsure = fresh, len(fresh) != 1
	}
	if len(calling) == 1 {
		x.Agent = calling[0]
	}
	return unsure, nil
}

// running returns the id of the subagent with a log, if it has not ended. A new one gets the frame
// that was made for it.
func (x *exchange) running(path string) (agent string, err error) {
	agent = strings.TrimSuffix(filepath.Base(path), ".jsonl")
	known, err := children.SessionOf(x.Ctx, x.Project, agent)
	if err != nil || known.IsCompleted || known.ID != "" && known.Parent == x.Session {
		if known.IsCompleted {
			agent = ""
		}
		return agent, err
	}
	call := x.callOf(path)
	if call == "" {
		return "", nil
	}
	bound, err := children.BindSession(x.Ctx, x.Project, x.SessionItself(), children.ChildStart{Call: call, Session: agent, Transcript: path})
	if !bound {
		agent = ""
	}
	return agent, err
}

// callOf returns the call that started the subagent with a log.
func (x *exchange) callOf(path string) string { return marked(string(hooks.Head(path, maxHead))) }

// logOf returns the log of the subagent that a call started, and its id; empty if there is none.
func (x *exchange) logOf(call string) (path, agent string) {
	for _, path := range x.logsBelow() {
		if x.callOf(path) == call {
			return path, strings.TrimSuffix(filepath.Base(path), ".jsonl")
		}
	}
	return "", ""
}

// written returns the files that the subagent with a log has written.
func (x *exchange) written(path string) (files []string) {
	for _, file := range logs.WrittenFiles(hooks.Tail(path, maxTail)) {
		files = append(files, absolute(x.Folder, file))
	}
	return files
}
