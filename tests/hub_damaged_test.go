package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestARefusedConfigurationIsReported removes the server's key, which the server reads again with
// its configuration.
func TestARefusedConfigurationIsReported(t *testing.T) {
	t.Parallel()
	desk := machines(t, "desk")[0]
	h := desk.hub("--listen", "127.0.0.1:0")
	desk.flame("join")
	key := filepath.Join(filepath.Dir(desk.store()), "key.pem")
	require.NoError(t, os.Rename(key, key+".away"))
	desk.flame("hub", "remove", regexp.MustCompile(`as machine (\S+)`).FindStringSubmatch(desk.flame("doctor"))[1])
	says := func(want string) {
		require.Eventually(t, func() bool { return strings.Contains(h.said.String(), want) }, hubPatience, 20*time.Millisecond, want)
	}
	says("nats-server refuses the new configuration: ")
	says("those that were removed still can")
	assert.Contains(t, desk.flame("doctor"), "the hub answers in")
	require.NoError(t, os.Rename(key+".away", key))
	says("the server knows all machines again")
	require.Eventually(t, func() bool { return strings.Contains(desk.flame("doctor"), "does not know this key") }, hubPatience, 100*time.Millisecond)
	assert.Equal(t, 1, strings.Count(h.said.String(), "refuses the new configuration"), "once")
}

func TestLeavingADamagedHubReportsTheRemainingKey(t *testing.T) {
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
		assert.Regexp(t, "hub.json cannot be used: .*key.*`flame hub remove [^` ]+`, run there", string(said))
		assert.Contains(t, m.flame("doctor"), "has joined no hub")
	}
	listed := regexp.MustCompile(`(?m)^(\S+)  joined`).FindAllStringSubmatch(desk.flame("hub", "machines"), -1)
	require.Len(t, listed, 2, "the hub still knows their keys")
	for _, found := range listed {
		desk.flame("hub", "remove", found[1])
	}
	couch.flame("join", desk.invite())
}
