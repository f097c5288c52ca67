// Package result is what an agent came to, put together from its record, its frames and
// its log.
package result

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/samber/lo"

	"flame/agents/changes"
	"flame/agents/handoff"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/project/files"
	"flame/transcripts"
)

// A Result is all that an agent came to, or has come to so far.
type Result struct {
	record.Run
	Text       string     `json:"text"`  // its answer; its last words so far where Partial
	Files      []string   `json:"files"` // that it changed
	Artifacts  []string   `json:"artifacts"`
	Decisions  []string   `json:"decisions"`
	Confidence *float64   `json:"confidence,omitempty"` // 0..1, where it gave one
	Partial    bool       `json:"partial"`
	StopReason string     `json:"stopReason,omitempty"`
	Thinking   int64      `json:"thinkingTokens"`
	Usage      core.Usage `json:"usage"`
	Folder     string     `json:"folder"`         // with its output, and whatever else is kept of it
	Next       string     `json:"next,omitempty"` // agent that tries again what it did not do
}

// Of returns what an agent came to.
func Of(tx project.Tx, data, id string) (Result, error) {
	run, err := record.Find(tx, id)
	if err != nil {
		return Result{}, err
	}
	r := Result{
		Run: run, Text: run.Progress.Text, Files: changes.Paths(run.Changes), Partial: true, Thinking: run.Progress.Thinking,
		Usage: run.Progress.Used(), Folder: record.Folder(data, run.ID), Artifacts: []string{}, Decisions: []string{},
	}
	if o := run.Outcome; o != nil {
		r.Text, r.Partial, r.StopReason = o.Text, o.Partial, o.Reason
	}
	var h handoff.Handoff
	if _, err := handoff.Records.Load(tx, run.ID, &h); err != nil {
		return r, err
	}
	r.Next = h.Next
	err = project.EachUnder(tx, run.Frame, func(f core.Frame) error {
		if f.ID != run.Frame && f.Session != run.Session {
			return nil // of another agent below it
		}
		r.Artifacts, r.Decisions = lo.Union(r.Artifacts, f.Artifacts), lo.Union(r.Decisions, f.Decisions)
		if f.ID == run.Frame {
			r.Confidence = f.Confidence
		}
		return nil
	})
	if err != nil {
		return r, err
	}
	if r.Confidence == nil {
		r.Confidence = confidenceIn(r.Text)
	}
	return r, nil
}

// Changed returns what an agent did to files, by its log. A log that cannot be read tells
// of nothing.
func (r Result) Changed(known hosts.Registry) []changes.Change {
	file, err := os.Open(filepath.Join(r.Folder, supervise.OutputFile))
	if err != nil {
		return nil
	}
	defer file.Close()
	return changes.In(file, known, r.Host, r.Cwd)
}

// maxPatches bounds the patches of Calls, in bytes; the oldest beyond it are left out.
const maxPatches = 4 << 20

// Calls returns what an agent's log tells of calls that changed files, its subagents'
// included.
func (r Result) Calls(known hosts.Registry) (calls []files.Call) {
	file, err := os.Open(filepath.Join(r.Folder, supervise.OutputFile))
	if err != nil {
		return nil
	}
	defer file.Close()
	size, whole := 0, 0 // bytes of patches; the first call that has its own still
	for m, err := range transcripts.Messages(file, known.Of(r.Host).Prints) {
		if err != nil {
			break
		}
		for _, call := range files.CallsOf(m) {
			calls = append(calls, call)
			for _, f := range call.Files {
				size += len(f.Patch)
			}
		}
		for ; size > maxPatches; whole++ {
			for i := range calls[whole].Files {
				f := &calls[whole].Files[i]
				size -= len(f.Patch)
				f.Cut, f.Patch = f.Cut || f.Patch != "", ""
			}
		}
	}
	return calls
}

// Hashes returns the hashes of an agent's artifacts that are files, whatever made them,
// in its own worktree or in a folder.
func (r Result) Hashes(dir string) map[string]string {
	hashes := map[string]string{}
	for _, artifact := range r.Artifacts {
		if !filepath.IsLocal(artifact) {
			continue
		}
		if hash := changes.HashOf(cmp.Or(r.Worktree, dir), artifact); hash != "" {
			hashes[artifact] = hash
		}
	}
	return hashes
}
