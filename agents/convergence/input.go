package convergence

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"flame/agents/converge"
	"flame/agents/record"
	"flame/agents/result"
	"flame/core"
	"flame/project"
)

// inputs returns what agents left, each once, and the schema of their answers where
// all have the same one and none is asked for.
func (all Convergences) inputs(tx project.Tx, ids []string, schema json.RawMessage) (inputs []converge.Input, _ json.RawMessage, err error) {
	var schemas []string
	for _, id := range ids {
		r, err := result.Of(tx, all.Data, id)
		if err != nil {
			return nil, nil, err
		}
		input, err := inputOf(tx, r)
		if err != nil {
			return nil, nil, err
		}
		inputs = append(inputs, input)
		schemas = append(schemas, string(r.Schema))
	}
	if same := slices.Compact(schemas); len(schema) == 0 && len(same) == 1 && same[0] != "" {
		schema = json.RawMessage(same[0])
	}
	return inputs, schema, nil
}

// inputOf returns what one agent left.
func inputOf(tx project.Tx, r result.Result) (in converge.Input, err error) {
	in = converge.Input{
		SubagentID: r.ID, Outcome: r.State, Answer: result.WithoutConfidence(r.Text), Decisions: r.Decisions,
		Confidence: r.Confidence, CompletedAt: r.EndedAt, Base: r.Base,
	}
	var asked record.Assignment
	if _, err := record.Assignments.Load(tx, r.ID, &asked); err != nil {
		return in, err
	}
	in.Task = asked.Task
	for _, change := range r.Changes {
		file := converge.File{Path: change.Path, Hash: change.Hash, Excerpt: change.Excerpt}
		if change.Existed {
			file.Base = r.Base + ":" + change.Path // as git names what it held
		}
		in.Files = append(in.Files, file)
	}
	for _, artifact := range r.Artifacts {
		if !slices.Contains(r.Files, artifact) { // that is told by the file
			in.Artifacts = append(in.Artifacts, converge.Artifact{Key: artifact, Hash: r.Made[artifact]})
		}
	}
	if in.Tree, err = record.RootFrame(tx, r.Frame); errors.Is(err, core.ErrNotFound) {
		err = nil
	}
	if err == nil && r.Session != "" {
		in.Claimed, err = claimed(tx, r.Session)
	}
	return in, err
}

// claimed returns the planned frames that a session took over.
func claimed(tx project.Tx, session string) (frames []string, err error) {
	events, err := tx.FindEvents(project.EventQuery{Session: session, Kinds: []string{core.FrameActivated}})
	for _, e := range events {
		if strings.HasPrefix(e.Frame, "plan-") && !slices.Contains(frames, e.Frame) {
			frames = append(frames, e.Frame)
		}
	}
	return frames, err
}
