package codex

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"flame/hosts"
)

// A question is a request to Codex's app server, which says more than its commands.
type question struct {
	method string
	params any
	answer any // decoded from the result; unchanged if the server sends no result
}

// ask has an app server, started with options, answer questions.
func (h Client) ask(ctx context.Context, codex hosts.Program, options []string, questions ...question) error {
	if h.Machine.Converse == nil {
		return errors.New("no program can be asked")
	}
	lines := []string{
		`{"id":0,"method":"initialize","params":{"clientInfo":{"name":"flame","title":"flame","version":"1"}}}`, `{"method":"initialized"}`,
	}
	for i, q := range questions {
		line, err := json.Marshal(map[string]any{"id": i + 1, "method": q.method, "params": q.params})
		if err != nil {
			return err
		}
		lines = append(lines, string(line))
	}
	left := len(questions)
	isLast := func(line string) bool {
		var said struct {
			ID     *int            `json:"id"`
			Result json.RawMessage `json:"result"`
		}
		if json.Unmarshal([]byte(line), &said) != nil || said.ID == nil || *said.ID < 1 || *said.ID > len(questions) {
			return false
		}
		q := questions[*said.ID-1]
		if len(said.Result) > 0 && json.Unmarshal(said.Result, q.answer) != nil {
			return false
		}
		left--
		return left == 0
	}
	return h.Machine.Converse(ctx, h.Machine.ProjectDir, strings.Join(lines, "\n")+"\n", isLast, codex.Path, append([]string{"app-server"}, options...)...)
}
