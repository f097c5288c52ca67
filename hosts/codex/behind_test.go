package codex_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/op"
	"flame/hosts"
	"flame/hosts/codex"
	"flame/tests/clienttest"
)

// behind returns how Codex runs behind a gateway, by what its app server is given to say, and what the
// server was asked.
func behind(m hosts.Machine, tt clienttest.Behind) (b hosts.GatewayLaunch, asked string, err error) {
	m.Converse = func(_ context.Context, _, _ string, isLast func(string) bool, _ string, args ...string) error {
		asked = strings.Join(args, " ")
		said := func(id int, name string, result string) string {
			if tt.Given[name] == nil {
				return fmt.Sprintf(`{"id":%d,"error":{"code":1}}`, id)
			}
			return fmt.Sprintf(`{"id":%d,"result":%s}`, id, result)
		}
		configured := `{"config":` + string(tt.Given["config"]) + `,"origins":` + cmp.Or(string(tt.Given["origins"]), "{}") + "}"
		for _, line := range []string{
			`{"id":0,"result":{}}`, "noise", said(2, "account", string(tt.Given["account"])), `{"method":"x","id":7}`, said(1, "config", configured),
			said(3, "hooks", string(tt.Given["hooks"])),
		} {
			if isLast(line) {
				return nil
			}
		}
		return errors.New("no answer")
	}
	b, err = codex.Host(nil).Gateway.Plan(m, tt.Args)
	return b, asked, err
}

func TestCommandLinesBehindAGateway(t *testing.T) {
	clienttest.Behinds(t, func(m hosts.Machine, tt clienttest.Behind) (hosts.GatewayLaunch, error) {
		b, _, err := behind(m, tt)
		return b, err
	}, "testdata/behind.json")
}

func TestHooksThatWereNotReviewedAreSaidAtTheStart(t *testing.T) {
	t.Parallel()
	notes := func(trust string, args ...string) []string {
		b, _, err := behind(clienttest.Machine(t), clienttest.Behind{Args: args, Given: map[string]json.RawMessage{
			"config": json.RawMessage(`{}`), "account": json.RawMessage(`{"account":{"type":"apiKey"}}`),
			"hooks": json.RawMessage(`{"data":[{"hooks":[{"pluginId":"flame@flame-setup","trustStatus":"` + trust + `","enabled":true}]}]}`),
		}})
		require.NoError(t, err)
		return b.Notes
	}
	assert.Contains(t, strings.Join(notes("untrusted", "exec", "x"), ""), "leaves nothing out")
	assert.Empty(t, notes("trusted"))
	assert.Empty(t, notes("untrusted", "exec", "--dangerously-bypass-hook-trust", "x"))
}

func TestSettingsOfTheCommandLineAreAsked(t *testing.T) {
	t.Parallel()
	_, asked, _ := behind(clienttest.Machine(t), clienttest.Behind{
		Args: []string{"-m", "exec", "--config=a=1", "exec", "-c", "b=2", "-cd=4", "--enable", "x", "--", "-c", "c=3"},
	})
	assert.Equal(t, "app-server --config=a=1 -c b=2 -cd=4 --enable x", asked)
}

func TestWhoAsks(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		session, thread, turn string
		want                  hosts.RequestInfo
	}{
		"a session":                {"s", "s", `{"request_kind":"turn"}`, hosts.RequestInfo{Session: "s", Class: hosts.ClassMain}},
		"a subagent":               {"s", "t", `{"request_kind":"turn"}`, hosts.RequestInfo{Session: "s", Agent: "t", Class: hosts.ClassSubagent}},
		"a compaction":             {"s", "s", `{"request_kind":"compaction"}`, hosts.RequestInfo{Session: "s", Class: hosts.ClassCompaction}},
		"something beside":         {"s", "s", `{"request_kind":"memory"}`, hosts.RequestInfo{Session: "s", Class: hosts.ClassAuxiliary}},
		"an older version":         {"s", "", ``, hosts.RequestInfo{Session: "s", Class: hosts.ClassMain}},
		"another program":          {"", "", `{`, hosts.RequestInfo{Class: hosts.ClassMain}},
		"a header of another form": {"s", "s", `{"request_kind":5}`, hosts.RequestInfo{Session: "s", Class: hosts.ClassMain}},
	}
	for name, tt := range tests {
		h := http.Header{}
		h.Set("session-id", tt.session)
		h.Set("thread-id", tt.thread)
		h.Set("x-codex-turn-metadata", tt.turn)
		assert.Equal(t, tt.want, codex.Host(nil).Gateway.Spec.RequestInfo(h, nil), name)
	}
}

func TestWordsOfRequests(t *testing.T) {
	t.Parallel()
	w := codex.Host(nil).Gateway.Spec
	assert.Equal(t, op.Name("flame_push"), w.FlameTool("mcp__flame__flame_push"))
	assert.Empty(t, w.FlameTool("mcp__docs__flame_push"))
	for text, want := range map[string]string{
		"please": "please", "<environment_context>\nx\n</environment_context>": "", "# AGENTS.md instructions for /x": "",
		"Another language model started to solve this problem:\nDONE": "",
	} {
		assert.Equal(t, want, w.UserWords(text, false))
		assert.Empty(t, w.UserWords(text, true))
	}
	assert.True(t, w.KeepsText("<permissions instructions>"))
	assert.False(t, w.KeepsText("\n<flame-changes session=\"x\">"))
	assert.Equal(t, "Started x", w.Answer("Wall time: 0.1 seconds\nOutput:\nStarted x"))
	assert.Equal(t, "Started x\nOutput:\ny", w.Answer("Started x\nOutput:\ny"))
	assert.Equal(t, core.Usage{TokensIn: 50, TokensOut: 7, CacheRead: 40, CacheWritten: 10, Unpriced: 107},
		w.Usage("m", []byte(`{"input_tokens":100,"input_tokens_details":{"cached_tokens":40,"cache_write_tokens":10},"output_tokens":7}`), nil))
	assert.Zero(t, w.Usage("m", []byte(`{`), nil))
}
