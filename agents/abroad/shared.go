package abroad

import (
	"errors"
	"strings"

	"flame/core"
	"flame/core/merge"
	"flame/project"
)

// What of an agent that has ended its machine may share (FLAME_SHARE, DESIGN §13).
const (
	Prompts = "prompts" // its task, as it was asked
	Patches = "patches" // what it changed
	Logs    = "logs"    // what its host printed
)

// Kinds are all of these.
var Kinds = []string{Prompts, Patches, Logs}

// MaxShared bounds one of these, in bytes.
const MaxShared = 50 << 20

// SharedName returns under which name the hub keeps what is shared of the agent that worked
// last in a frame.
func SharedName(frame, kind string) string { return "shared-" + frame + "-" + kind }

// FrameOf returns the frame of an agent of another machine, by its id, or of any agent by
// the id of the frame.
func FrameOf(tx project.Tx, id string) (string, error) {
	id = strings.TrimSpace(id)
	if frame, err := tx.Frame(id); err == nil || !errors.Is(err, core.ErrNotFound) {
		return frame.ID, err
	}
	a, known, err := find(tx, id)
	switch {
	case err != nil:
		return "", err
	case !known:
		return "", core.NotFoundf("no agent of another machine and no frame has the id %q", id).
			WithHint("`flame agents runs --elsewhere` shows agents, and `flame tree` frames")
	case !merge.ValidID(a.Frame):
		return "", core.NotFoundf("%s works in no frame, so nothing of it is shared", a.ID)
	}
	return a.Frame, nil
}

// find returns an agent of another machine.
func find(tx project.Tx, id string) (a Agent, known bool, err error) {
	all, err := All(tx)
	for _, one := range all {
		if one.ID == id || one.ID == "agent-"+id {
			return one, true, err
		}
	}
	return a, false, err
}

// Explained returns the error of an agent that is not known here, where it is another
// machine's.
func Explained(tx project.Tx, id string, err error) error {
	if !errors.Is(err, core.ErrNotFound) {
		return err
	}
	a, known, wrong := find(tx, strings.TrimSpace(id))
	if wrong != nil || !known {
		return err
	}
	return core.NotFoundf("%s is an agent of the machine %s, and is told of there", a.ID, a.Machine).
		WithHint("`flame agents runs --elsewhere` shows how far it is; `flame agents shared` what its machine shares of it")
}
