// Package demo shows flame at work: an agent's short piece of work, by a real
// MCP client on the real server, in a temporary project.
package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"flame/cli/client"
	"flame/config/env"
	"flame/core/op"
)

// A step is one call of the agent in the demo. In its arguments, "$1" is the
// first frame that the plan made, "$2" the second.
type step struct {
	says string
	tool op.Name
	args map[string]any
}

// steps are a piece of work as an agent would do it.
var steps = []step{
	{"The user asks for a login. The agent says what this session is for.", op.SetGoal, map[string]any{"goal": "Add a login"}},
	{"It plans the work.", op.PlanChildren, map[string]any{"children": []string{"Store users and password hashes", "Login form and session cookie"}}},
	{"It starts the first part.", op.Activate, map[string]any{"sessionID": "$1"}},
	{
		"Its decisions and artifacts are kept, whatever becomes of the conversation.", op.AddDecision,
		map[string]any{"decision": "argon2id, not bcrypt: memory-hard, and the library is maintained"},
	},
	{"", op.AddArtifact, map[string]any{"artifact": "internal/users/store.go"}},
	{"The migration fails: a side track gets a frame of its own.", op.Push, map[string]any{"goal": "Find out why the migration fails"}},
	{"", op.Pop, map[string]any{"status": "completed", "summary": "The users table existed from an old prototype; migration 0003 drops it first."}},
	{
		"Back in the first part, which is now done.", op.Pop,
		map[string]any{"status": "completed", "summary": "Users are stored with argon2id hashes in internal/users; Create and Verify are tested."},
	},
	{"The second part begins. Its agent sees the summary of the first, not how it got there.", op.Activate, map[string]any{"sessionID": "$2"}},
	{"", op.Preview, map[string]any{"maxLength": 4000}},
	{"The resulting tree:", op.Tree, map[string]any{"showDetails": true}},
}

// A Call is what the agent calls and gets.
type Call struct {
	Says      string          `json:"says,omitempty"` // why, in a sentence
	Tool      op.Name         `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Answer    string          `json:"answer"`
}

// String returns the call as people read it.
func (c Call) String() string {
	text := fmt.Sprintf("> %s %s\n%s\n", string(c.Tool), c.Arguments, indent(c.Answer))
	if c.Says != "" {
		text = "# " + c.Says + "\n" + text
	}
	return text
}

// Play shows what an agent calls and gets; the last answer is the resulting tree.
// hosts are the variables by which hosts point their children to a project; they
// are not passed on.
func Play(ctx context.Context, hosts []string, show func(Call) error) (err error) {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "flame-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	work, data := filepath.Join(dir, "project"), filepath.Join(dir, "data")
	if err := os.Mkdir(work, 0o700); err != nil {
		return err
	}
	// The user's own settings must not point the demo to a real project.
	variables := []string{env.ProjectDir + "=" + work, env.Dir + "=" + data, env.Tools + "="}
	for _, variable := range hosts {
		variables = append(variables, variable+"=")
	}
	c, err := client.Start(ctx, program, variables, "flame demo")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	planID := regexp.MustCompile(`plan-[a-z0-9]{8}`)
	var planned []string
	for _, s := range steps {
		call, err := s.play(ctx, c, planned)
		if err != nil {
			return err
		}
		if s.tool == op.PlanChildren {
			planned = planID.FindAllString(call.Answer, -1)
		}
		if err := show(call); err != nil {
			return err
		}
	}
	return nil
}

// play makes one call.
func (s step) play(ctx context.Context, c *mcpclient.Client, planned []string) (Call, error) {
	raw, err := json.Marshal(s.args)
	if err != nil {
		return Call{}, err
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
		return Call{}, err
	}
	var answer strings.Builder
	for _, content := range result.Content {
		if text, ok := content.(mcp.TextContent); ok {
			answer.WriteString(text.Text)
		}
	}
	if result.IsError {
		return Call{}, fmt.Errorf("%s: %s", string(s.tool), answer.String())
	}
	return Call{s.says, s.tool, json.RawMessage(line), answer.String()}, nil
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}
