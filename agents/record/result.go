package record

import (
	"cmp"
	"iter"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/samber/lo"

	"flame/agents/changes"
	"flame/agents/supervise"
	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/project/usage"
)

// A Result is everything that an agent has done so far.
type Result struct {
	Agent
	Text       string     `json:"text"`  // its answer, or its last words so far if Partial
	Files      []string   `json:"files"` // files that it changed
	Artifacts  []string   `json:"artifacts"`
	Decisions  []string   `json:"decisions"`
	Confidence *float64   `json:"confidence,omitempty"` // 0..1; nil if it gave none
	Partial    bool       `json:"partial"`
	StopReason string     `json:"stopReason,omitempty"`
	Thinking   int64      `json:"thinkingTokens"`
	Usage      core.Usage `json:"usage"`
	Folder     string     `json:"folder"`         // has its output and other files
	Next       string     `json:"next,omitempty"` // agent of the next attempt, after a failure
}

// ResultOf returns the result of an agent.
func ResultOf(tx project.Tx, data, id string) (Result, error) {
	run, err := Find(tx, id)
	if err != nil {
		return Result{}, err
	}
	r := Result{
		Agent: run, Text: run.Progress.Text, Files: changes.Paths(run.Changes), Partial: true, Thinking: run.Progress.Thinking,
		Usage: run.Progress.Used(), Folder: Folder(data, run.ID), Artifacts: []string{}, Decisions: []string{},
	}
	if o := run.Outcome; o != nil {
		r.Text, r.Partial, r.StopReason = o.Text, o.Partial, o.Reason
	}
	h, err := Handoffs.Find(tx, run.ID)
	if err != nil {
		return r, err
	}
	r.Next = h.Next
	err = project.EachBelow(tx, run.Frame, func(f core.Frame) error {
		if f.ID != run.Frame && f.Session != run.Session {
			return nil // the message is from an agent below it
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

// Messages yields the messages of an agent's log. A log that cannot be read has none.
func Messages(data string, run Agent, known hosts.Registry) iter.Seq[core.Message] {
	return supervise.Printed(Folder(data, run.ID), known.Of(run.Host).Agents.RunFormat.Reader())
}

// maxPatches is the size limit of all patches from Calls, in bytes. Calls leaves out the
// oldest patches beyond it.
const maxPatches = 4 << 20

// Calls returns the calls in an agent's log that changed files, including calls of its
// subagents.
func Calls(log iter.Seq[core.Message]) (calls []usage.FileCall) {
	size, whole := 0, 0 // bytes of patches; the first call that still has its patch
	for m := range log {
		for _, call := range usage.FileCallsOf(m) {
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

// Hashes returns the hashes of an agent's artifacts that are files in its own worktree or in a
// folder.
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

// confident matches the line with an agent's confidence.
var confident = core.Pattern(`(?im)^[\s*_>#-]*confidence[\s*_]*[:=][\s*_]*([01](?:\.\d+)?|\.\d+)[\s*_.]*$`)

// confidenceIn returns the confidence at the end of an answer; nil if there is none.
func confidenceIn(answer string) *float64 {
	found := confident().FindAllStringSubmatch(answer, -1)
	if len(found) == 0 {
		return nil
	}
	value, err := strconv.ParseFloat(found[len(found)-1][1], 64)
	if err != nil || value < 0 || value > 1 {
		return nil
	}
	return &value
}

// WithoutConfidence returns an answer without its lines about confidence, so that otherwise
// equal answers are equal.
func WithoutConfidence(answer string) string {
	return strings.TrimSpace(confident().ReplaceAllString(answer, ""))
}
