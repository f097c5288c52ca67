package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatAServerSaysOfAConfiguration(t *testing.T) {
	t.Parallel()
	const at = "2026/11/23 11:56:01.123456 "
	for text, want := range map[string]struct {
		known bool
		why   string
	}{
		"": {},
		"[77] " + at + "[INF] Reloaded: accounts":                                                     {},
		"[77] " + at + "[INF] Reloaded server configuration (sha256:ab)":                              {true, ""},
		"[77] " + at + "[INF] Reloaded: accounts\n[77] " + at + "[INF] Reloaded server configuration": {true, ""},
		"[77] " + at + "[ERR] Failed to reload server configuration: no such [thing]":                 {true, "no such [thing]"},
		"[77] " + at + "[ERR] Failed to reload server configuration: ":                                {true, "it does not say why"},
		"[78] " + at + "[INF] Reloaded server configuration":                                          {},
		"[77] " + at + "[ERR] 127.0.0.1 - authentication error - [INF] Reloaded server configuration": {},
		"[INF] Reloaded server configuration":                                                         {},
	} {
		known, why := verdict(strings.Split(text, "\n"), 77)
		assert.Equal(t, want.known, known, text)
		assert.Equal(t, want.why, why, text)
	}
}

func TestALogIsReadOnThoughItIsBegunAnew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nats.log")
	add := func(text string) {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		_, err = file.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}
	r := reading{path: path}
	read := func() string { return strings.Join(r.lines(), "|") }
	assert.Empty(t, read(), "there is none")
	add("old\n")
	r.skip()
	assert.Empty(t, read())
	add("one\ntwo")
	assert.Equal(t, "one|", read(), "two is not whole")
	add("!\n")
	assert.Equal(t, "two!|", read())
	require.NoError(t, os.Rename(path, path+".1"))
	add("a longer line of a log that was begun anew\n")
	assert.Equal(t, "a longer line of a log that was begun anew|", read())
	require.NoError(t, os.Truncate(path, 0))
	add("short\n")
	assert.Equal(t, "short|", read())
	add(strings.Repeat("x", maxRead))
	assert.Empty(t, strings.Trim(read(), "x"))
	add("\nend\n")
	assert.Equal(t, "|end|", read())
}
