package gateway_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// started is the variable that makes a run of this test a process that a gateway's started.
const started = "FLAME_TEST_GATEWAY_STARTED"

// A gateway of an agent is in the process that starts the agent's host.
func TestAGatewayLeavesNoCoreFileAndWhatItsProcessStartsMay(t *testing.T) {
	if os.Getenv(started) != "" {
		fmt.Print(cores(t))
		os.Exit(0)
	}
	t.Parallel()
	var before syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_CORE, &before))
	newStand(t, "http://127.0.0.1:1")
	assert.Equal(t, fmt.Sprint(0, before), cores(t))
	cmd := exec.Command(os.Args[0], "-test.run=^TestAGatewayLeavesNoCoreFileAndWhatItsProcessStartsMay$")
	cmd.Env = append(os.Environ(), started+"=1")
	out, err := cmd.Output()
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprint(1, before), strings.TrimSpace(string(out)))
}

// cores returns whether this process leaves core files, and its limit of their size.
func cores(t *testing.T) string {
	t.Helper()
	leaves, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	require.NoError(t, err)
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_CORE, &limit))
	return fmt.Sprint(leaves, limit)
}
