package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/converge"
	"flame/agents/graph"
	"flame/agents/supervise"
	"flame/cli/flags"
	"flame/core"
	"flame/render"
)

func newAgentsHandoff(a *App) *cobra.Command {
	r := agents.HandoffRequest{OnFailure: agents.Escalate}
	cmd := &cobra.Command{
		Use: "handoff ID", Short: "Hand over to an agent until it ends",
		Example: "  flame agents handoff agent-k3x9a1b2 --on-failure retry", Args: flags.Takes(1, 1),
	}
	cmd.Flags().BoolVar(&r.Transfer, "transfer-control", false, "the session that started it changes no frames until then")
	flags.Lasts(cmd, &r.Timeout, "timeout", 10*time.Minute, "how long it may take")
	flags.Choose(cmd, &r.OnFailure, "on-failure", "what follows if it fails", r.OnFailure.Values()...)
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		r.ID = args[0]
		run, err := s.Handoff(ctx, a.caller(), r)
		if err != nil {
			return err
		}
		return a.awaitResult(ctx, s, run.ID)
	})
}

func newAgentsConverge(a *App) *cobra.Command {
	var o converge.Options
	var schema string
	cmd := &cobra.Command{
		Use: "converge ID ID...", Short: "Make one result of those of several agents",
		Example: "  flame agents converge agent-k3x9a1b2 agent-q7w2e4r6 --strategy merge", Args: flags.Takes(2, -1),
	}
	flags.Choose(cmd, &o.Strategy, "strategy", "how it is made (required)", o.Strategy.Values()...)
	flags.Choose(cmd, &o.Resolution, "conflict-resolution", "what becomes of conflicts (default "+string(converge.Manual)+")", o.Resolution.Values()...)
	flags.Choose(cmd, &o.Format, "output-format", "how it is written (default "+string(converge.Markdown)+"; with --json "+string(converge.DeltaBatch)+")", o.Format.Values()...)
	cmd.Flags().Float64Var(&o.Tolerance, "tolerance", 0, "how far apart numbers may be that count as equal")
	cmd.Flags().StringVar(&schema, "result-schema", "", "a JSON schema: only what it declares is compared")
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		o.Schema = []byte(schema)
		if o.Format == "" && !a.out.JSON {
			o.Format = converge.Markdown
		}
		c, err := s.Converge(ctx, a.caller(), args, o)
		if err != nil {
			return err
		}
		return a.printConvergence(ctx, s, c)
	})
}

func newAgentsReview(a *App) *cobra.Command {
	var choices []string
	var trajectory bool
	var format converge.Format
	cmd := &cobra.Command{
		Use: "review [CONVERGENCE]", Short: "Look at convergences, and settle the conflicts that wait for a person",
		Example: "  flame agents review converge-k3x9a1b2 --choose file:main.go=agent-q7w2e4r6", Args: flags.Takes(0, 1),
	}
	cmd.Flags().StringArrayVar(&choices, "choose", nil, "CONFLICT=ID: the agent whose side wins (repeatable)")
	cmd.Flags().BoolVar(&trajectory, "trajectory", false, "print what its agents said and called in one stream, with the conflicts in their places")
	flags.Choose(cmd, &format, "output-format", "how the result is written (default "+string(converge.Markdown)+"; with --json as it was made)", format.Values()...)
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		if len(args) == 0 {
			return a.listConvergences(ctx, s)
		}
		c, err := s.Convergence(ctx, args[0])
		if err != nil {
			return err
		}
		if trajectory {
			return a.printTrajectory(ctx, s, c)
		}
		chosen, err := sides(choices)
		if err != nil {
			return err
		}
		if len(chosen) > 0 {
			if c, err = s.Review(ctx, c.ID, chosen); err != nil {
				return err
			}
		}
		if format == "" && !a.out.JSON {
			format = converge.Markdown
		}
		if c, err = written(c, format); err != nil {
			return err
		}
		return a.printConvergence(ctx, s, c)
	})
}

// sides reads the choices of --choose: the agent whose side wins, by conflict.
func sides(choices []string) (map[string]string, error) {
	chosen := map[string]string{}
	for _, choice := range choices {
		i := strings.LastIndexByte(choice, '=')
		if i < 0 {
			return nil, core.Invalidf("--choose %q has no =", choice).WithHint("write CONFLICT=ID, for example file:main.go=agent-q7w2e4r6")
		}
		chosen[choice[:i]] = choice[i+1:]
	}
	return chosen, nil
}

// written returns a convergence with its output in a format; as it is for none.
func written(c agents.Convergence, format converge.Format) (agents.Convergence, error) {
	if format == "" {
		return c, nil
	}
	text, err := c.Result.Render(format)
	c.Text, c.Result.Format = string(text), format
	return c, err
}

// printConvergence prints a convergence; what to do next in the words of the shell,
// what agents wrote as it is.
func (a *App) printConvergence(ctx context.Context, s *agents.Agents, c agents.Convergence) error {
	text, next, err := render.Converged(ctx, s, c, 0)
	if err != nil {
		return err
	}
	return a.out.Print(c, text+next)
}

func (a *App) listConvergences(ctx context.Context, s *agents.Agents) error {
	all, err := s.Convergences(ctx)
	if err != nil {
		return err
	}
	text := ""
	for _, c := range all {
		text += fmt.Sprintf("%s: %s\n", c.ID, c.Result.Rationale)
	}
	if text == "" {
		text = "No convergences; `flame agents converge` makes one.\n"
	}
	return a.out.Print(append([]agents.Convergence{}, all...), text)
}

func (a *App) printTrajectory(ctx context.Context, s *agents.Agents, c agents.Convergence) error {
	entries, err := s.Trajectory(ctx, c)
	if err != nil {
		return err
	}
	text := ""
	for _, e := range entries {
		at := e.TS.Time().Local().Format(time.DateTime)
		if e.Conflict != nil {
			text += fmt.Sprintf("%s CONFLICT %s between %s\n", at, e.Conflict.ID, strings.Join(e.Conflict.SubagentIDs, ", "))
			continue
		}
		text += fmt.Sprintf("%s %s %s\n", at, e.SubagentID, core.OneLine(entryText(e), maxEntry))
	}
	return a.out.Print(append([]converge.Entry{}, entries...), text)
}

// maxEntry is the length in characters that an entry of a trajectory is cut to.
const maxEntry = 160

// entryText is what an agent said, called or went through.
func entryText(e converge.Entry) string {
	switch {
	case e.Event != nil:
		return eventText(*e.Event)
	case e.Said.Type == core.PartToolCall:
		return e.Said.Tool + " " + subject(e.Said.Input)
	}
	return "says: " + e.Said.Text
}

// A telling is a field of an event's data with the words before it.
type telling struct{ words, field string }

// tellings say in words what events of a trajectory tell. A field that is empty or
// missing has none.
var tellings = map[string][]telling{
	core.SubagentSpawned: {{"started as ", "agent_type"}, {": ", "description"}},
	core.SubagentRetry:   {{"tried again: ", "reason"}},
	core.FrameUpdated:    {{"goal: ", "goal"}, {"artifact: ", "artifacts"}, {"decision: ", "decisions"}},
	core.SubagentStop:    {{"ended ", "state"}, {": ", "stop_reason"}, {": ", "error"}},
}

func eventText(e core.Event) string {
	var data map[string]any
	_ = json.Unmarshal(e.Data, &data) // what is no object has no fields
	text := ""
	for _, t := range tellings[e.Event] {
		if value, ok := data[t.field].(string); ok && value != "" {
			text += t.words + value
		}
	}
	return cmp.Or(text, e.Event)
}

// subjects are the names under which tools take what they are about, the most
// telling first.
var subjects = []string{"file_path", "filePath", "notebook_path", "command", "pattern", "path", "url", "query", "description", "prompt"}

// subject is what a call is about: a file, a command; else its input as it is.
func subject(input json.RawMessage) string {
	var values map[string]any
	_ = json.Unmarshal(input, &values) // as in eventText
	for _, name := range subjects {
		if value, ok := values[name].(string); ok && value != "" {
			return value
		}
	}
	return string(input)
}

func newAgentsGraph(a *App) *cobra.Command {
	format := "tree"
	cmd := &cobra.Command{
		Use: "graph", Short: "Draw the agents that were started: by whom, and what became of their results",
		Example: "  flame agents graph --format mermaid", Args: flags.Takes(0, 0),
	}
	flags.Choose(cmd, &format, "format", "how it is drawn", graph.Formats()...)
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, _ []string) error {
		g, err := s.Graph(ctx)
		if err != nil {
			return err
		}
		if a.out.JSON {
			format = "json"
		}
		return graph.Draw(a.Stdout, g, format)
	})
}

func newAgentsAttach(a *App) *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use: "attach ID [PROMPT...]", Short: "Go on with an agent that is over: talk to it, or give it another prompt",
		Example: `  flame agents attach agent-k3x9a1b2 "now fix what you found" --wait`, Args: flags.Takes(1, -1),
		Long: "Go on with an agent that is over, in its own session. Without a prompt its host\n" +
			"is opened on that session, at a terminal; with one it works by itself again.\n" +
			"ID may also be a frame or a session of a subagent that its host started: where\n" +
			"the host cannot go on in it, another agent begins with its context.",
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until it ends, and print its result")
	return a.asksAgents(cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		if len(args) == 1 {
			return a.attach(ctx, s, args[0])
		}
		by := a.caller()
		by.InHost = a.Hosts.Inside(os.Getenv, supervise.Above())
		run, err := s.Continue(ctx, by, args[0], strings.Join(args[1:], " "))
		if err != nil {
			return err
		}
		if wait {
			return a.awaitResult(ctx, s, run.ID)
		}
		return a.out.Print(run, render.Agent(s, run))
	})
}

// attach opens an agent's host on its session, for the person at the terminal.
func (a *App) attach(ctx context.Context, s *agents.Agents, id string) error {
	command, dir, err := s.Interactive(ctx, id)
	if err != nil {
		return err
	}
	if !a.atTerminal() {
		return core.Invalidf("there is no terminal to talk at").WithHint("give a prompt, or run in a terminal: cd %s && %s", dir, strings.Join(command, " "))
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}
