package claudecode_test

import (
	"testing"

	"flame/hosts"
	"flame/hosts/claudecode"
	"flame/tests/clienttest"
)

// What a project denies may lie where flame does not look and Claude Code does, so no agent is started
// without it.
func TestFilesThatLeadOutOfTheProject(t *testing.T) {
	clienttest.Traps(t, func(m hosts.Machine) hosts.Client {
		m.Run = (&fakeClaude{}).run
		return claudecode.Client{Machine: m}
	},
		clienttest.Trap{File: ".claude/settings.json", Launch: true, Setup: true},
		clienttest.Trap{File: ".claude/settings.local.json", Launch: true},
		clienttest.Trap{File: ".mcp.json", Status: true},
	)
}
