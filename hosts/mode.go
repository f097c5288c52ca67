package hosts

import (
	"slices"
	"strings"

	"flame/core"
)

// A Mode says what an agent may do without asking each time. The names are
// Claude Code's.
type Mode string

// The modes, from the narrowest to the widest (spec: agents §3).
const (
	Plan        Mode = "plan"              // reads only
	DontAsk     Mode = "dontAsk"           // only what rules allow
	Default     Mode = "default"           // asks; if there is nobody to ask, like DontAsk
	AcceptEdits Mode = "acceptEdits"       // changes files
	Bypass      Mode = "bypassPermissions" // everything
)

// modes lists the modes from the narrowest to the widest.
var modes = []Mode{Plan, DontAsk, Default, AcceptEdits, Bypass}

// ParseMode returns the mode of a name.
func ParseMode(name string) (Mode, error) {
	if mode := Mode(name); slices.Contains(modes, mode) {
		return mode, nil
	}
	return "", core.Invalidf("there is no permission mode %q", name).WithHint("use %s", strings.Join(Mode("").Values(), ", "))
}

// Values lists the modes, from the narrowest to the widest.
func (Mode) Values() []string { return core.Words(modes...) }

// Known reports whether flame knows the mode.
func (m Mode) Known() bool { return slices.Contains(modes, m) }

// rank returns the mode's position. An unknown mode counts as Default, so that
// it neither widens nor blocks.
func (m Mode) rank() int {
	if i := slices.Index(modes, m); i >= 0 {
		return i
	}
	return slices.Index(modes, Default)
}

// Exceeds reports whether m allows more than other.
func (m Mode) Exceeds(other Mode) bool { return m.rank() > other.rank() }
