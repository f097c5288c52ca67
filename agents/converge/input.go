package converge

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"flame/agents/record"
	"flame/core"
	"flame/project"
)

// inputs returns the results of agents, and the schema of their answers: the given schema, or
// the schema that all agents share.
func (all Convergences) inputs(tx project.Tx, ids []string, schema json.RawMessage) (inputs []AgentResult, _ json.RawMessage, err error) {
	var schemas []string
	for _, id := range ids {
		r, err := record.ResultOf(tx, all.Data, id)
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

// maxTask bounds the words for an agent's task, in characters.
const maxTask = 80

func inputOf(tx project.Tx, r record.Result) (in AgentResult, err error) {
	in = AgentResult{
		SubagentID: r.ID, Task: core.OneLine(r.Description, maxTask), Outcome: r.State, Answer: record.WithoutConfidence(r.Text), Decisions: r.Decisions,
		Confidence: r.Confidence, CompletedAt: r.EndedAt, Base: r.Base, Unread: r.Unread != "",
	}
	for _, change := range r.Changes {
		file := File{Path: change.Path, Hash: change.Hash, Excerpt: change.Excerpt}
		if change.Existed {
			file.Base = r.Base + ":" + change.Path // git's name for the former content
		}
		in.Files = append(in.Files, file)
	}
	for _, artifact := range r.Artifacts {
		if !slices.Contains(r.Files, artifact) { // the list of files has it already
			in.Artifacts = append(in.Artifacts, Artifact{Key: artifact, Hash: r.ArtifactHashes[artifact]})
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

func claimed(tx project.Tx, session string) (frames []string, err error) {
	events, err := tx.FindEvents(project.EventQuery{Session: session, Kinds: []string{core.FrameActivated}})
	for _, e := range events {
		if strings.HasPrefix(e.Frame, "plan-") && !slices.Contains(frames, e.Frame) {
			frames = append(frames, e.Frame)
		}
	}
	return frames, err
}
