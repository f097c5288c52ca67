package hosts

import (
	"context"
	"path/filepath"

	"flame/core"
)

// A Setup connects flame to a host. Install and Remove only plan; Apply acts. A
// plan is empty if everything is done already.
type Setup interface {
	// Install plans what is missing for flame to work in the host. If the host
	// is not on PATH it returns a Problem of kind core.ErrNotFound, with ByHand
	// as hint.
	Install(ctx context.Context, scope Scope) ([]Step, error)
	// Remove plans how to undo Install for one scope.
	Remove(ctx context.Context, scope Scope) ([]Step, error)
	// Status returns the current state. It starts nothing of flame.
	Status(ctx context.Context) (Status, error)
}

// A Scope says which projects a host is set up for.
type Scope string

// The scopes, named as Claude Code names them.
const (
	User    Scope = "user"    // all projects of this user
	Project Scope = "project" // one project, by files that may be committed with it
)

// A Step is one change to the machine.
type Step struct {
	Says string // what it does, beginning with a verb: "write …"
	Do   func(context.Context) error
}

// Apply takes the steps in order until one fails, and calls done for each that
// succeeded.
func Apply(ctx context.Context, steps []Step, done func(Step)) error {
	for _, step := range steps {
		if err := step.Do(ctx); err != nil {
			return core.Unavailablef(err, "could not %s: %v", step.Says, err).
				WithHint("fix that and run the same command again: it continues where it stopped")
		}
		done(step)
	}
	return nil
}

// A Status is what one host has of flame.
type Status struct {
	Program   string         // path of the host's program; empty, like Version, if it is not on PATH
	Version   string         // as the host itself prints it
	Installed []Installation // by setup
	ByHand    []Registration // by anyone else
	Offers    string         // version of the plugin that setup would install
	Tools     string         // value of FLAME_TOOLS that the installed server gets unless the user chose one; empty: none
	Refused   string         // why the host does not load what setup installed; empty: it does, as far as is known
	GivesWay  bool           // if both are there, the host starts only what was registered by hand
}

// Double reports whether flame is registered both by setup and by hand. The
// host then starts it twice, unless GivesWay.
func (s Status) Double() bool { return len(s.Installed) > 0 && len(s.ByHand) > 0 }

// An Installation is what setup left in a host.
type Installation struct {
	Scope   Scope
	Where   string // the file or folder that holds it
	Current bool   // it is what this flame would install
	Off     bool   // the user has turned it off in the host
}

// A Registration is an entry for flame that no setup made.
type Registration struct {
	Name string // the entry's name in the host
	File string // the file that holds it
	Undo string // what removes it: a command, or what to delete
}

// IsFlame reports whether a server that a host calls name and starts by command
// is flame's, judging by its name or the program's.
func IsFlame(name, command string) bool {
	return name == "flame" || filepath.Base(command) == "flame"
}
