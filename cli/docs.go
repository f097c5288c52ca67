package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"flame/cli/app"
	"flame/hosts"
)

// A CommandDoc is one command as docs/reference.md lists it.
type CommandDoc struct {
	Use   string // its name and arguments
	Short string // what it does
}

// Docs lists every command, in the order of the help.
func Docs(known hosts.Registry) (docs []CommandDoc) {
	for _, group := range groups(known) {
		for _, e := range group.commands {
			if cmd := e.make(&app.App{Hosts: known}); !cmd.Hidden {
				docs = append(docs, docsOf("flame ", cmd)...)
			}
		}
	}
	return docs
}

// docsOf lists a command, if it does something by itself, and those below it.
func docsOf(prefix string, cmd *cobra.Command) (docs []CommandDoc) {
	if acts(cmd) {
		docs = []CommandDoc{{strings.TrimSpace(prefix + cmd.Use), cmd.Short}}
	}
	for _, sub := range cmd.Commands() {
		docs = append(docs, docsOf(prefix+cmd.Name()+" ", sub)...)
	}
	return docs
}
