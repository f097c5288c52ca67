package supervise

import (
	"sync"

	"flame/core"
)

// A Meter is what a gateway measures of an agent's requests. What the agent's output says
// of their usage is then not counted.
type Meter struct {
	// Close ends the gateway, once the host is over; afterwards everything is measured.
	Close func()

	mu         sync.Mutex
	own, below core.Usage
}

// Add notes what one request used: the agent's own, or one of a subagent of its host's.
func (m *Meter) Add(used core.Usage, below bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if below {
		m.below = m.below.Add(used)
	} else {
		m.own = m.own.Add(used)
	}
}

// measure takes over what was measured so far.
func (a *account) measure(m *Meter) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	a.Progress = a.MeteredAs(Progress{Usage: m.own, Below: m.below})
}
