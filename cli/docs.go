package cli

import "strings"

// A CommandDoc is one command as the README lists it.
type CommandDoc struct {
	Use   string // its name and arguments
	Short string // what it does
}

// Docs lists every command, in the order of the help.
func Docs() (docs []CommandDoc) {
	app := &App{}
	for _, group := range app.groups() {
		for _, cmd := range group.commands {
			docs = append(docs, CommandDoc{strings.TrimSpace("flame " + cmd.Use), cmd.Short})
		}
	}
	return docs
}
