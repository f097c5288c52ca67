package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"flame/core"
	"flame/project"
)

// rows say what each event of flame.js means to flame.
var rows = map[string]func(*exchange) error{
	"session.created":    (*exchange).sessionStarted,
	"session.updated":    (*exchange).sessionStarted,
	"session.idle":       (*exchange).turnEnded,
	"session.deleted":    (*exchange).sessionEnded,
	"session.compacting": (*exchange).compacting,
	"session.compacted":  (*exchange).compacted,
	"chat.message":       (*exchange).prompted,
	"text.complete":      (*exchange).summarized,
	"tool.after":         (*exchange).toolEnded,
	"tool.failed":        (*exchange).toolFailed,
	"messages.transform": (*exchange).attended,
	"dispose":            (*exchange).disposed,
}

// Hook takes in one event of OpenCode, as flame.js tells it (a hosts.Hook).
func Hook(ctx context.Context, p *project.Project, raw []byte) ([]byte, error) {
	var e event
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	means := rows[e.Name]
	if means == nil || e.Session == "" && len(e.Sessions) == 0 {
		return nil, nil
	}
	if on, err := p.Wake(ctx); !on || err != nil {
		return nil, err
	}
	x := exchange{ctx: ctx, p: p, event: e}
	if err := means(&x); err != nil {
		return nil, fmt.Errorf("%s: %w", e.Name, err)
	}
	if x.answer.empty() {
		return nil, nil
	}
	return json.Marshal(x.answer)
}

// An exchange is one event on its way to an answer.
type exchange struct {
	ctx context.Context
	p   *project.Project
	event
	answer answer
}

// sessionStarted matters for children, and for titles that people or models gave.
func (x *exchange) sessionStarted() error {
	if x.Parent == "" && x.Title == "" {
		return nil
	}
	_, err := x.p.StartSession(x.ctx, x.caller(), x.Title)
	return err
}

func (x *exchange) prompted() error {
	return x.p.TakeIn(x.ctx, x.caller(), project.Prompt{ID: x.Message, Text: x.Text, FromUser: true})
}

func (x *exchange) turnEnded() error {
	return x.p.EndTurn(x.ctx, x.caller(), project.Turn{LastMessage: x.Text, Running: x.Running, Usage: x.usages()})
}

// toolEnded is a task that is done, or a file that was written.
func (x *exchange) toolEnded() error {
	if x.Child != "" {
		return x.p.EndChild(x.ctx, x.caller(), project.ChildEnded{
			Session: x.Child, End: core.ChildCompleted, Last: taskResult(x.Output), HandedOver: x.Output,
		})
	}
	if len(x.Files) == 0 {
		return nil
	}
	return x.p.NoteFiles(x.ctx, x.caller(), x.Files)
}

// resultOf finds what a child said in what its task answers.
var resultOf = regexp.MustCompile(`(?s)<task_result>\n?(.*?)\n?</task_result>`)

func taskResult(output string) string {
	if found := resultOf.FindStringSubmatch(output); found != nil {
		return strings.TrimSpace(found[1])
	}
	return strings.TrimSpace(output)
}

func (x *exchange) toolFailed() error {
	if err := x.p.NoteFailure(x.ctx, x.caller()); err != nil || x.Child == "" {
		return err
	}
	how := core.ChildFailed
	if x.Aborted {
		how = core.ChildCancelled
	}
	return x.p.EndChild(x.ctx, x.caller(), project.ChildEnded{Session: x.Child, End: how, Last: x.Error})
}

// attended is a request to the model on its way out.
func (x *exchange) attended() error {
	a, err := x.p.Attend(x.ctx, x.caller(), x.request())
	x.answer.Drop = a.Drop
	for _, note := range a.Notes {
		x.answer.Before = append(x.answer.Before, text{note.Before, note.Text})
	}
	for _, insert := range a.Inserts {
		x.answer.Append = append(x.answer.Append, text(insert))
	}
	return err
}

// compacting adds to the host's own instructions; for a summary that was asked
// for, flame's stand instead of them (spec: compaction §1).
func (x *exchange) compacting() error {
	kind, prompt, err := x.p.CompactionPrompt(x.ctx, x.caller(), "")
	switch {
	case errors.Is(err, core.ErrNotFound):
		return nil
	case kind == core.Overflow:
		x.answer.Context = []string{prompt}
	default:
		x.answer.Prompt = prompt
	}
	return err
}

// summarized is the text of a compaction.
func (x *exchange) summarized() error {
	return x.store(x.Text)
}

// compacted ends a pop that waited for a summary, should none have come.
func (x *exchange) compacted() error {
	return x.store("")
}

func (x *exchange) store(summary string) error {
	_, err := x.p.StoreSummary(x.ctx, x.caller(), "", summary)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	return err
}

func (x *exchange) sessionEnded() error {
	return x.p.EndSession(x.ctx, x.caller())
}

// disposed is the end of the process, and with it of its sessions.
func (x *exchange) disposed() error {
	var errs []error
	for _, session := range x.Sessions {
		errs = append(errs, x.p.EndSession(x.ctx, project.Caller{Session: session, Host: Name}))
	}
	return errors.Join(errs...)
}
