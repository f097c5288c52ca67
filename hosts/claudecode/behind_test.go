package claudecode_test

import (
	"path/filepath"
	"testing"

	"flame/hosts"
	"flame/hosts/claudecode"
	"flame/tests/clienttest"
)

func TestCommandLinesBehindAGateway(t *testing.T) {
	clienttest.Behinds(t, func(m hosts.Machine, tt clienttest.Behind) (hosts.GatewayLaunch, error) {
		return claudecode.BehindIn(m, filepath.Join(m.Home, "managed"), tt.Args)
	}, "testdata/behind.json")
}

func TestAgents(t *testing.T) {
	clienttest.Launches(t, func(m hosts.Machine) hosts.Launcher { return claudecode.Client{Machine: m} }, "testdata/launch.json")
}
