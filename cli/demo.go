package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/config/env"
	"flame/core/op"
	"flame/hosts"
)

func newDemo(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "Watch an agent do a piece of work in frames, in a temporary project", Example: "  flame demo", Args: app.Takes(0, 0),
		Long: "Play a short piece of work in a temporary project, with a real MCP client and the real\n" +
			"server, and print the agent's calls, the answers, and the resulting tree. The demo\n" +
			"touches none of your data.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			calls, err := play(cmd.Context(), a)
			return a.Answer(calls, "This was a temporary project. `flame setup` gives the same tools to "+a.Hosts.Titles("and")+".", err)
		},
	}
}

// A step is one call of the agent in the demo. In its arguments, "$1" is the
// first frame that the plan made, "$2" the second.
type step struct {
	says string
	tool op.Name
	args map[string]any
}

// steps are a piece of work as an agent would do it.
func steps() []step {
	return []step{
		{"The user asks for a login. The agent says what this session is for.", op.SetGoal, map[string]any{"goal": "Add a login"}},
		{"It plans the work.", op.PlanChildren, map[string]any{"children": []string{"Store users and password hashes", "Login form and session cookie"}}},
		{"It starts the first part.", op.Activate, map[string]any{"sessionID": "$1"}},
		{
			"Flame keeps its decisions and artifacts, even if the conversation is lost.", op.AddDecision,
			map[string]any{"decision": "argon2id, not bcrypt: memory-hard, and the library is maintained"},
		},
		{"", op.AddArtifact, map[string]any{"artifact": "internal/users/store.go"}},
		{"The migration fails. The agent pushes a frame for this side track.", op.Push, map[string]any{"goal": "Find out why the migration fails"}},
		{"", op.Pop, map[string]any{"status": "completed", "summary": "The users table existed from an old prototype; migration 0003 drops it first."}},
		{
			"Back in the first part, the agent completes it.", op.Pop,
			map[string]any{"status": "completed", "summary": "Users are stored with argon2id hashes in internal/users; Create and Verify are tested."},
		},
		{"It starts the second part. The context has the summary of the first part, not its details.", op.Activate, map[string]any{"sessionID": "$2"}},
		{"", op.Preview, map[string]any{"maxLength": 4000}},
		{"The resulting tree:", op.Tree, map[string]any{"showDetails": true}},
	}
}

// A demoCall is one call of the agent and its answer.
type demoCall struct {
	Says      string          `json:"says,omitempty"` // why, in a sentence
	Tool      op.Name         `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Answer    string          `json:"answer"`
}

// String returns the call as people read it.
func (c demoCall) String() string {
	answer := strings.ReplaceAll(strings.TrimRight(c.Answer, "\n"), "\n", "\n  ")
	text := fmt.Sprintf("> %s %s\n  %s\n", string(c.Tool), c.Arguments, answer)
	if c.Says != "" {
		text = "# " + c.Says + "\n" + text
	}
	return text
}

// play makes the calls of the demo, and prints each unless the answer is JSON.
func play(ctx context.Context, a *app.App) (calls []demoCall, err error) {
	dir, err := os.MkdirTemp("", "flame-demo-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	work := filepath.Join(dir, "project")
	if err := os.Mkdir(work, 0o700); err != nil {
		return nil, err
	}
	// Neither the user's own settings nor a host's variables may point the demo to a real project.
	variables := []string{env.ProjectDir + "=" + work, env.Dir + "=" + filepath.Join(dir, "data"), env.Tools + "="}
	for _, variable := range a.Hosts.Each(func(h hosts.Host) []string { return []string{h.SessionVariable} }) {
		variables = append(variables, variable+"=")
	}
	c, err := app.StartServer(ctx, a.Program(), variables, "flame demo")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	planID := regexp.MustCompile(`plan-[a-z0-9]{8}`)
	var planned []string
	for _, s := range steps() {
		call, err := s.play(ctx, c, planned)
		if err != nil {
			return nil, err
		}
		if s.tool == op.PlanChildren {
			planned = planID.FindAllString(call.Answer, -1)
		}
		calls = append(calls, call)
		if a.Out.JSON {
			continue
		}
		if _, err := fmt.Fprintln(a.Stdout, call); err != nil {
			return nil, err
		}
	}
	return calls, nil
}

// play makes one call.
func (s step) play(ctx context.Context, c *client.Client, planned []string) (call demoCall, err error) {
	raw, err := json.Marshal(s.args)
	if err != nil {
		return call, err
	}
	line := string(raw)
	for i, id := range planned {
		line = strings.ReplaceAll(line, fmt.Sprintf("$%d", i+1), id)
	}
	var request mcp.CallToolRequest
	request.Params.Name = string(s.tool)
	request.Params.Arguments = json.RawMessage(line)
	result, err := c.CallTool(ctx, request)
	if err != nil {
		return call, err
	}
	var answer strings.Builder
	for _, content := range result.Content {
		if text, ok := content.(mcp.TextContent); ok {
			answer.WriteString(text.Text)
		}
	}
	if result.IsError {
		return call, fmt.Errorf("%s: %s", string(s.tool), answer.String())
	}
	return demoCall{s.says, s.tool, json.RawMessage(line), answer.String()}, nil
}
