package agentcmd

import (
	"context"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"flame/agents"
	"flame/agents/supervise"
	"flame/cli/app"
	"flame/cli/flags"
	"flame/core"
	"flame/project"
	"flame/render"
)

func newAttach(a *app.App) *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use: "attach ID [PROMPT...]", Short: "Resume an agent that has ended: talk to it, or give it another prompt",
		Example: `  flame agents attach agent-k3x9a1b2 "now fix what you found" --wait`, Args: flags.Takes(1, -1),
		Long: "Resume an agent that has ended, in its own session. Without a prompt its host\n" +
			"is opened on that session, at a terminal; with one it works on its own again.\n" +
			"ID may also be a frame or a session of a subagent that its host started: if the\n" +
			"host cannot resume it, another agent begins with its context.",
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until it ends, and print its result")
	return asksAgents(a, cmd, func(ctx context.Context, s *agents.Agents, args []string) error {
		if len(args) == 1 {
			return agentView{a}.attach(ctx, s, args[0])
		}
		by := a.Caller()
		if a.Hosts.Inside(os.Getenv, supervise.Above()) {
			by.Trust = project.InHost
		}
		run, err := s.Continue(ctx, by, args[0], strings.Join(args[1:], " "))
		if err != nil {
			return err
		}
		if wait {
			return agentView{a}.awaitResult(ctx, s, run.ID)
		}
		return a.Out.Print(run, render.Agent(s, run))
	})
}

// attach opens an agent's host on its session, for the person at the terminal.
func (v agentView) attach(ctx context.Context, s *agents.Agents, id string) error {
	command, dir, err := s.Interactive(ctx, id)
	if err != nil {
		return err
	}
	if !v.app.AtTerminal() {
		return core.Invalidf("there is no terminal to talk at").WithHint("give a prompt, or run in a terminal: cd %s && %s", dir, strings.Join(command, " "))
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}
