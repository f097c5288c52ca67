package hub

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

func TestALinkIsChecked(t *testing.T) {
	seedOf := func(make func() (nkeys.KeyPair, error)) string {
		pair, err := make()
		require.NoError(t, err)
		seed, err := pair.Seed()
		require.NoError(t, err)
		return string(seed)
	}
	seed, account := seedOf(nkeys.CreateUser), seedOf(nkeys.CreateAccount)
	whole := Link{URL: "tls://host:4222", Project: "shop-1a2b3c4d", Machine: "desk-abcde", Seed: seed, Pin: strings.Repeat("ab", 32), JoinedAt: 1}
	for says, change := range map[string]func(*Link){
		"":                              func(*Link) {},
		" ":                             func(l *Link) { l.URL, l.Seed, l.Pin, l.Creds = "nats://u:secret@a,nats://b:4223", "", "", "/creds" },
		"the url is missing":            func(l *Link) { l.URL = "" },
		"its url is not":                func(l *Link) { l.URL = "http://u:secret@host" },
		"its project is missing":        func(l *Link) { l.Project = "" },
		"project is missing or invalid": func(l *Link) { l.Project = "shop.>" },
		"its machine is missing":        func(l *Link) { l.Machine = "" },
		"machine is missing or invalid": func(l *Link) { l.Machine = "desk\n" },
		"its seed is not a private":     func(l *Link) { l.Seed = seed[:20] },
		"its seed is not a private ":    func(l *Link) { l.Seed = account },
		"its pin is not":                func(l *Link) { l.Pin = "abcd" },
		"its pin is not the hash":       func(l *Link) { l.Pin = strings.Repeat("x", 64) },
		"its creds are not an absolute": func(l *Link) { l.Creds = "creds" },
	} {
		data, link := t.TempDir(), whole
		change(&link)
		require.NoError(t, Save(data, link))
		got, err := Load(data)
		if strings.TrimSpace(says) == "" {
			require.NoError(t, err)
			assert.Equal(t, link, got)
			continue
		}
		require.ErrorIs(t, err, core.ErrInvalid, says)
		require.ErrorContains(t, err, strings.TrimSpace(says))
		assert.Contains(t, core.HintOf(err), "`flame leave`")
		assert.NotContains(t, err.Error(), seed[:20])
		assert.NotContains(t, err.Error(), "secret")
	}
	for _, text := range []string{"", "{", "[]", "null", strings.Repeat(" ", maxLink+1)} {
		data := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(data, linkName), []byte(text), 0o600))
		_, err := Load(data)
		require.ErrorIs(t, err, core.ErrInvalid, text)
	}
}

func TestAnUnreadableStatusIsReported(t *testing.T) {
	for _, text := range []string{"{", strings.Repeat(" ", maxStatus+1), `{"at":"x"}`} {
		data := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(data, statusName), []byte(text), 0o600))
		_, err := LoadStatus(data)
		require.ErrorIs(t, err, core.ErrInvalid)
	}
	data := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(data, "elsewhere"), []byte("{}"), 0o600))
	require.NoError(t, os.Symlink("elsewhere", filepath.Join(data, statusName)))
	_, err := LoadStatus(data)
	require.ErrorIs(t, err, core.ErrUnavailable)
}
