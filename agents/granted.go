package agents

import (
	"errors"
	"fmt"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
)

// atWork returns the agents that are at work.
func atWork(tx project.Tx) (runs []Run, err error) {
	ids, err := recordLive.IDs(tx, "")
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		var run Run
		if known, err := recordRun.Load(tx, id, &run); err != nil {
			return nil, err
		} else if known && !run.State.Ended() {
			runs = append(runs, run)
		}
	}
	return runs, nil
}

// notify tells the session at the root of a tree of a grant that was made while agents
// of the tree ran.
func notify(tx project.Tx, tree string, g Grant, ran []Run) error {
	session := tree
	switch _, err := tx.Session(tree); {
	case errors.Is(err, core.ErrNotFound): // agents of a shell are below a frame
		frame, err := tx.Frame(tree)
		if session = frame.Session; err != nil || session == "" {
			return ignoreMissing(err)
		}
	case err != nil:
		return err
	}
	names := lo.Map(ran, func(run Run, _ int) string { return fmt.Sprintf("%s (%s)", run.ID, core.OneLine(run.Type, maxTold)) })
	if more := len(names) - maxRan; more > 0 {
		names = append(names[:maxRan], fmt.Sprintf("%d more", more))
	}
	text := fmt.Sprintf("%s was made while agents that this session started ran: %s. It lets %s.", g.ID, strings.Join(names, ", "), g.Lets())
	return project.Notify(tx, session, fmt.Sprintf("%s If the user did not make it, `flame agents revoke %s` takes it back.", text, g.ID))
}

// A notice names so many agents, and so many characters of a name: it has to reach its
// end, which says what to do.
const (
	maxRan  = 5
	maxTold = 40
)

// Lets says what the grant allows, and whom, as the rest of a sentence.
func (g Grant) Lets() string {
	whom := "agents"
	if g.Agent != "" {
		whom += " of type " + core.OneLine(g.Agent, maxTold)
	}
	if g.Delegates {
		return "those that " + whom + " start have tools that these lack"
	}
	return fmt.Sprintf("%s work in the mode %s", whom, g.Mode)
}

func ignoreMissing(err error) error {
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	return err
}
