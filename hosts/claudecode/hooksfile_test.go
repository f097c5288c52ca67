package claudecode_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hosts/claudecode"
)

func TestHooksFileIsMadeFromTheTable(t *testing.T) {
	t.Parallel()
	const file = "plugin/hooks/hooks.json"
	want, err := claudecode.HooksFile(false)
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.MkdirAll("plugin/hooks", 0o755))
		require.NoError(t, os.WriteFile(file, want, 0o644))
	}
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(have), "run go test ./hosts/claudecode -update")
}
