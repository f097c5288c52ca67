package supervise

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Asked from outside, a failure would end every process of the machine's user.
func TestAFamilyOfNoAgentIsEmpty(t *testing.T) {
	t.Parallel()
	assert.Empty(t, processTree{}.living())
	assert.Empty(t, processTree{noted: []member{{}, {Process: Process{PID: 1}}, {Process: Process{PID: -1}}}}.living())
	assert.Empty(t, processTree{}.members())
}

// The environment of a supervisor with a gateway cannot be read.
func TestASupervisorIsKnownByItsCommand(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ command, agent string }{
		"a supervisor":         {"/bin/flame supervise agent-1", "agent-1"},
		"a keeper":             {"/bin/flame supervise --keep agent-1", "agent-1"},
		"with a path":          {"/bin/flame supervise /data/agents/agent-1", "agent-1"},
		"another program":      {"/bin/sleep agent-1", ""},
		"nothing can be read":  {"", ""},
		"a word that is alike": {"/bin/supervisor agent-1", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.agent, supervised(tt.command))
		})
	}
}
