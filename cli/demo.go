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

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/spf13/cobra"

	"flame/cli/client"
	"flame/cli/flags"
	"flame/config/env"
	"flame/core/op"
)

func newDemo(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "Watch an agent's piece of work in frames, in a temporary project", Example: "  flame demo", Args: flags.Takes(0, 0),
		Long: "Play a short piece of work through a real MCP client and the real server in a\n" +
			"temporary project, and print what the agent called, what it got, and the tree that\n" +
			"came of it. Nothing of yours is touched.",
		RunE: func(cmd *cobra.Command, _ []string) error { return demonstration{a}.demo(cmd.Context()) },
	}
}

// A demoStep is one call of the agent in the demo. In its arguments, "$1" is the
// first frame that the plan made, "$2" the second.
type demoStep struct {
	says string
	tool op.Name
	args map[string]any
}

// demoSteps are a piece of work as an agent would do it.
var demoSteps = []demoStep{
	{"The user asks for a login. The agent names what this session is for.", op.SetGoal, map[string]any{"goal": "Add a login"}},
	{"It lays out the work.", op.PlanChildren, map[string]any{"children": []string{"Store users and password hashes", "Login form and session cookie"}}},
	{"It takes up the first part.", op.Activate, map[string]any{"sessionID": "$1"}},
	{"What it decides and makes is kept, whatever becomes of the conversation.", op.AddDecision, map[string]any{"decision": "argon2id, not bcrypt: memory-hard, and the library is maintained"}},
	{"", op.AddArtifact, map[string]any{"artifact": "internal/users/store.go"}},
	{"The migration fails: a side track gets a frame of its own.", op.Push, map[string]any{"goal": "Find out why the migration fails"}},
	{"", op.Pop, map[string]any{"status": "completed", "summary": "The users table existed from an old prototype; migration 0003 drops it first."}},
	{"Back in the first part, which is done.", op.Pop, map[string]any{"status": "completed", "summary": "Users are stored with argon2id hashes in internal/users; Create and Verify are tested."}},
	{"The second part begins. Its agent sees the summary beside it, not the way there.", op.Activate, map[string]any{"sessionID": "$2"}},
	{"", op.Preview, map[string]any{"maxLength": 4000}},
	{"The tree that came of it:", op.Tree, map[string]any{"showDetails": true}},
}

// A demonstration plays the demo.
type demonstration struct{ app *App }

func (d demonstration) demo(ctx context.Context) (err error) {
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
	// Settings of the user's own must not lead the demo to a real project.
	variables := []string{env.ProjectDir + "=" + work, env.Dir + "=" + data, env.Tools + "="}
	for _, variable := range d.app.Hosts.SessionVariables() {
		variables = append(variables, variable+"=")
	}
	c, err := client.Start(ctx, program, variables, "flame demo")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	planID := regexp.MustCompile(`plan-[a-z0-9]{8}`)
	var planned []string
	for _, step := range demoSteps {
		answer, err := d.play(ctx, c, step, planned)
		if err != nil {
			return err
		}
		if step.tool == op.PlanChildren {
			planned = planID.FindAllString(answer, -1)
		}
	}
	fmt.Fprintln(d.app.Stdout, "This was a temporary project. `flame setup` gives the same tools to "+d.app.Hosts.Titles("and")+".")
	return nil
}

// play makes one call and prints it with its answer.
func (d demonstration) play(ctx context.Context, c *mcpclient.Client, step demoStep, planned []string) (string, error) {
	raw, err := json.Marshal(step.args)
	if err != nil {
		return "", err
	}
	line := string(raw)
	for i, id := range planned {
		line = strings.ReplaceAll(line, fmt.Sprintf("$%d", i+1), id)
	}
	var request mcp.CallToolRequest
	request.Params.Name = string(step.tool)
	request.Params.Arguments = json.RawMessage(line)
	result, err := c.CallTool(ctx, request)
	if err != nil {
		return "", err
	}
	var answer strings.Builder
	for _, content := range result.Content {
		if text, ok := content.(mcp.TextContent); ok {
			answer.WriteString(text.Text)
		}
	}
	if result.IsError {
		return "", fmt.Errorf("%s: %s", string(step.tool), answer.String())
	}
	if step.says != "" {
		fmt.Fprintf(d.app.Stdout, "# %s\n", step.says)
	}
	fmt.Fprintf(d.app.Stdout, "> %s %s\n%s\n\n", string(step.tool), line, indent(answer.String()))
	return answer.String(), nil
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}
