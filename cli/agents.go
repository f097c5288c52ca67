package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"flame/agents/definition"
	"flame/cli/flags"
	"flame/core"
	"flame/hosts"
	"flame/render"
)

func newAgents(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "agents", Short: "Start agents, follow them, and look at those that can be started", Example: "  flame agents spawn tester \"run the tests\"",
		Args: flags.NoSuchCommand, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newAgentsSpawn(a), newAgentsRuns(a), newAgentsStatus(a), newAgentsWait(a), newAgentsResult(a), newAgentsCancel(a), newAgentsPrune(a),
		newAgentsHandoff(a), newAgentsConverge(a), newAgentsReview(a), newAgentsAttach(a), newAgentsGraph(a),
		newAgentsList(a), newAgentsShow(a), newAgentsDoctor(a),
		newAgentsGrant(a), newAgentsGrants(a), newAgentsRevoke(a),
	)
	return cmd
}

// catalog reads the definitions that hold in this project.
func (a *App) catalog() (definition.Catalog, error) {
	at, err := a.place()
	if err != nil {
		return definition.Catalog{}, err
	}
	machine, _ := hosts.ThisMachine(at.Worktree) // one without a home has no definitions of the user's
	return definition.Load(a.Hosts, definition.Dirs(a.Hosts, machine)), nil
}

// asksCatalog makes a command that reads the definitions and prints an answer.
func (a *App) asksCatalog(cmd *cobra.Command, run func(c definition.Catalog, args []string) error) *cobra.Command {
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		catalog, err := a.catalog()
		if err != nil {
			return err
		}
		return run(catalog, args)
	}
	return cmd
}

func newAgentsList(a *App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{Use: "list", Short: "List the agents that can be started", Example: "  flame agents list --all", Args: flags.Takes(0, 0)}
	cmd.Flags().BoolVar(&all, "all", false, "those that others replace, hidden and disabled ones too")
	return a.asksCatalog(cmd, func(c definition.Catalog, _ []string) error {
		shown := []definition.Definition{}
		var b strings.Builder
		for _, def := range c.Definitions {
			// One of the repository's may not hide that it takes another's place.
			if !all && (def.ShadowedBy != "" || (def.Disabled || def.Hidden) && def.Replaces == nil) {
				continue
			}
			shown = append(shown, def)
			fmt.Fprintf(&b, "%s (%s)%s\n  %s\n", def.Name, sourceOf(def), remarks(def), core.OneLine(def.Description, 200))
		}
		if broken := len(c.Findings); broken > 0 {
			fmt.Fprintf(&b, "%s; `flame agents doctor` shows what is wrong\n", render.Count(broken, "finding"))
		}
		return a.out.Print(shown, b.String())
	})
}

// sourceOf is where a definition comes from, as people read it.
func sourceOf(def definition.Definition) string {
	if def.Source.File == "" {
		return def.Source.Kind
	}
	return def.Source.File
}

// remarks say whose place a definition takes, and why it does not hold.
func remarks(def definition.Definition) (text string) {
	if def.Replaces != nil {
		text += ", in place of " + cmp.Or(def.Replaces.File, "the built-in one")
	}
	if def.ShadowedBy != "" {
		text += ", shadowed by " + def.ShadowedBy
	}
	if def.Disabled {
		text += ", disabled"
	}
	if def.Hidden {
		text += ", hidden"
	}
	return text
}

func newAgentsShow(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "show NAME|ID", Short: "Show the definition of an agent, or all that is kept of one that was started",
		Example: "  flame agents show tester", Args: flags.Takes(1, 1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			if catalog, err := a.catalog(); err == nil && len(args) == 0 {
				for _, def := range catalog.Available() {
					names = append(names, cobra.CompletionWithDesc(def.Name, core.OneLine(def.Description, 80)))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if strings.HasPrefix(args[0], "agent-") {
			return a.showRun(cmd.Context(), args[0])
		}
		catalog, err := a.catalog()
		if err != nil {
			return err
		}
		def, err := catalog.Find(args[0])
		if err != nil {
			return err
		}
		return a.out.Print(def, definitionText(def))
	}
	return cmd
}

// definitionText is a definition as people read it.
func definitionText(def definition.Definition) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)%s\n%s\n", def.Name, sourceOf(def), remarks(def), def.Description)
	tools := "those of its caller"
	if def.Tools != nil {
		tools = hosts.ToolSet{}.Only(def.Tools).String()
	}
	for _, line := range []struct{ name, value string }{
		{"Host", def.Host}, {"Model", def.Model}, {"Mode", string(def.PermissionMode)}, {"Tools", tools},
		{"Not", strings.Join(def.DisallowedTools, ", ")},
	} {
		if line.value != "" {
			fmt.Fprintf(&b, "%s: %s\n", line.name, line.value)
		}
	}
	return b.String() + "\n" + def.Prompt
}

func newAgentsDoctor(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check the definitions of agents", Example: "  flame agents doctor", Args: flags.Takes(0, 0),
		Long: "Check every definition of an agent, and say file, line and reason of what is wrong.\nStatus 1 if a file gives no agent.",
	}
	return a.asksCatalog(cmd, func(c definition.Catalog, _ []string) error {
		text, broken := "", false
		for _, f := range c.Findings {
			sign := "note  "
			if f.Fatal {
				sign, broken = "BROKEN", true
			}
			text += sign + " " + f.String() + "\n"
		}
		if text == "" {
			text = fmt.Sprintf("ok     %s\n", render.Count(len(c.Definitions), "definition"))
		}
		if err := a.out.Print(append([]definition.Finding{}, c.Findings...), text); err != nil {
			return err
		}
		if broken {
			return errSilent
		}
		return nil
	})
}
