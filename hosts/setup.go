package hosts

import (
	"context"
	"path/filepath"

	"flame/core"
)

// A Setup ties flame to a host. Install and Remove only plan; Apply acts.
// The plan of what is done already is empty.
type Setup interface {
	// Install plans what is missing for flame to work in the host. Without the
	// host on PATH it is a Problem of kind core.ErrNotFound, with ByHand as hint.
	Install(ctx context.Context, scope Scope) ([]Step, error)
	// Remove plans how to undo Install for one scope.
	Remove(ctx context.Context, scope Scope) ([]Step, error)
	// Status says what there is now. It starts nothing of flame.
	Status(ctx context.Context) (Status, error)
}

// A Scope says for which work a host is set up.
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

// Apply takes the steps in order, up to the first that fails, and tells done
// of each that was taken.
func Apply(ctx context.Context, steps []Step, done func(Step)) error {
	for _, step := range steps {
		if err := step.Do(ctx); err != nil {
			return core.Unavailablef(err, "could not %s: %v", step.Says, err).
				WithHint("put that right and run the same command again: it goes on where it stopped")
		}
		done(step)
	}
	return nil
}

// A Status is what one host has of flame.
type Status struct {
	Program   string         // where the host is; empty: not on PATH, and Version is empty too
	Version   string         // as the host itself prints it
	Installed []Installation // by setup
	ByHand    []Registration // by anyone else
	Offers    string         // version of the plugin that setup would install
	GivesWay  bool           // where both are there, the host starts only what was registered by hand
}

// Double reports whether flame is registered by setup and by hand as well. The
// host then starts it twice, unless GivesWay.
func (s Status) Double() bool { return len(s.Installed) > 0 && len(s.ByHand) > 0 }

// An Installation is what setup left in a host.
type Installation struct {
	Scope   Scope
	Where   string // the file or folder that holds it
	Current bool   // it is what this flame would install
}

// A Registration is an entry for flame that no setup made.
type Registration struct {
	Name string // the entry's name in the host
	File string // where it stands
	Undo string // what removes it: a command, or what to delete
}

// IsFlame reports whether a server that a host calls name and starts by command
// is flame's: by its name, or by the program's.
func IsFlame(name, command string) bool {
	return name == "flame" || filepath.Base(command) == "flame"
}
