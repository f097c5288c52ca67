package hosts_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/hosts"
)

func TestModesAreKnownByTheClientsNames(t *testing.T) {
	t.Parallel()
	mode, err := hosts.ParseMode("acceptEdits")
	require.NoError(t, err)
	assert.Equal(t, hosts.AcceptEdits, mode)
	_, err = hosts.ParseMode("acceptedits")
	assert.ErrorContains(t, err, `"acceptedits"`)
}
