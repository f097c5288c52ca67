package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLeavingWhatIsDamagedSaysThatAKeyIsLeft(t *testing.T) {
	t.Parallel()
	all := machines(t, "desk", "couch")
	desk, couch := all[0], all[1]
	desk.hub("--listen", "127.0.0.1:0")
	for i, text := range []string{`{"url":"tls://host`, `{"url":"tls://host:4222","project":"shop","machine":"desk-1","seed":"SUAx"}`} {
		m := all[i]
		m.flame("join", desk.invite())
		require.NoError(t, os.WriteFile(filepath.Join(dataOf(t, m), "hub.json"), []byte(text), 0o600))
		assert.Contains(t, m.fails("join", desk.invite()), "`flame leave` removes it")
		said, err := m.command("leave").CombinedOutput()
		require.NoError(t, err, "%s", said)
		assert.Regexp(t, "hub.json cannot be used: .*key.*`flame hub remove [^` ]+` there", string(said))
		assert.Contains(t, m.flame("doctor"), "has joined no hub")
	}
	listed := regexp.MustCompile(`(?m)^(\S+)  joined`).FindAllStringSubmatch(desk.flame("hub", "machines"), -1)
	require.Len(t, listed, 2, "it says so because their keys are known still")
	for _, found := range listed {
		desk.flame("hub", "remove", found[1])
	}
	couch.flame("join", desk.invite())
}
