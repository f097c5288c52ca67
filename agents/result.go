package agents

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/samber/lo"

	"flame/agents/changes"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/project"
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

// Result returns what an agent came to.
func (a *Agents) Result(ctx context.Context, id string) (r Result, err error) {
	err = a.Project.Store.View(ctx, func(tx project.Tx) error {
		r, err = a.resultOf(tx, id)
		return err
	})
	return r, err
}

func (a *Agents) resultOf(tx project.Tx, id string) (Result, error) {
	run, err := record.Find(tx, id)
	if err != nil {
		return Result{}, err
	}
	r := Result{
		Run: run, Text: run.Progress.Text, Files: changes.Paths(run.Changes), Partial: true, Thinking: run.Progress.Thinking,
		Usage: run.Progress.Usage, Folder: a.Folder(run.ID), Artifacts: []string{}, Decisions: []string{},
	}
	r.Usage.CostUSD = run.Progress.Cost()
	if o := run.Outcome; o != nil {
		r.Text, r.Partial, r.StopReason = o.Text, o.Partial, o.Reason
	}
	var h Handoff
	if _, err := recordHandoff.Load(tx, run.ID, &h); err != nil {
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

// confident matches the line in which an agent says how sure it is.
var confident = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)^[\s*_>#-]*confidence[\s*_]*[:=][\s*_]*([01](?:\.\d+)?|\.\d+)[\s*_.]*$`)
})

// confidenceIn returns the confidence that an answer ends with; nil without one.
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

// withoutConfidence is an answer without the lines that say how sure it is, so that
// equal answers are equal.
func withoutConfidence(answer string) string {
	return strings.TrimSpace(confident().ReplaceAllString(answer, ""))
}

// changes reads from an agent's log what it did to files. A log that cannot be read
// tells of none.
func (a *Agents) changes(run record.Run) []changes.Change {
	file, err := os.Open(filepath.Join(a.Folder(run.ID), supervise.OutputFile))
	if err != nil {
		return nil
	}
	defer file.Close()
	return changes.In(file, a.Hosts, run.Host, run.Cwd)
}

// made returns the hashes of an agent's artifacts that are files, whatever made them.
func (a *Agents) made(ctx context.Context, id string) (hashes map[string]string, err error) {
	r, err := a.Result(ctx, id)
	if err != nil || r.State.Ended() {
		return nil, err
	}
	hashes = map[string]string{}
	for _, artifact := range r.Artifacts {
		if !filepath.IsLocal(artifact) {
			continue
		}
		if hash := changes.HashOf(cmp.Or(r.Worktree, a.Dir), artifact); hash != "" {
			hashes[artifact] = hash
		}
	}
	return hashes, nil
}
