package tests

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEconomy has the clients do the beginning of the long work that `go run ./tests/economy`
// measures completely, with flame and without.
func TestEconomy(t *testing.T) {
	t.Parallel()
	const gateway = "FLAME_GATEWAY_FOLD=on flame "
	clients := map[string]string{ // with the measured variants, beside that without flame
		claudeCode: "flame claude", openCode: "flame", codex: gateway + codex, gemini: gateway + gemini, // whose savings are less than the noise of so little work
	}
	for client := range clients {
		clientBinary(t, client)
	}
	program := filepath.Join(t.TempDir(), "economy")
	out, err := exec.Command("go", "build", "-o", program, "./economy").CombinedOutput()
	require.NoError(t, err, string(out))
	for client, variants := range clients {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			if client != gemini {
				variants += ",no flame"
			}
			cmd := exec.CommandContext(t.Context(), program, "-frames", "6", "-host", client, "-only", variants, "-check", "-flame", flameBinary(t))
			out, err := cmd.CombinedOutput()
			t.Log(string(out))
			require.NoError(t, err)
		})
	}
}
