package tests

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
)

// watched is the state of a page that follows a project.
type watched struct {
	Frames map[string]struct {
		ID, Goal, Status, Host, Agent string
		Total                         struct{ TokensIn int64 }
	}
	Agents   map[string]struct{ ID, State, Type, Host, Tool string }
	Hosts    map[string]bool // of sessions that have not ended
	Notices  []struct{ Kind, Text string }
	mostBusy int // the largest number of agents that ran at one time
}

// watch follows the project as its page does, until seen is satisfied.
func (u *user) watch(seen func(w watched) bool) watched {
	u.t.Helper()
	cmd := u.command(u.t.Context(), u.flame, "web", "--no-open")
	out, err := cmd.StdoutPipe()
	require.NoError(u.t, err)
	require.NoError(u.t, cmd.Start())
	defer func() {
		assert.NoError(u.t, cmd.Process.Signal(os.Interrupt))
		_ = cmd.Wait()
	}()
	address, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(u.t, err)
	base, token, found := strings.Cut(strings.TrimSpace(address), "/#t=")
	require.True(u.t, found, address)
	var start struct{ Project string }
	answer, err := httpClient.Get(base + "/start.json")
	require.NoError(u.t, err)
	require.NoError(u.t, json.NewDecoder(answer.Body).Decode(&start))
	answer.Body.Close()
	req, err := http.NewRequestWithContext(u.t.Context(), http.MethodGet, base+"/api/"+start.Project+"/live", nil)
	require.NoError(u.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	answer, err = httpClient.Do(req)
	require.NoError(u.t, err)
	defer answer.Body.Close()
	return follow(u.t, json.NewDecoder(answer.Body), seen)
}

// follow takes lines of the stream until seen is satisfied.
func follow(t *testing.T, lines *json.Decoder, seen func(w watched) bool) (w watched) {
	t.Helper()
	for {
		var line struct {
			watched
			Whole    bool
			Frames   []json.RawMessage
			Agents   []json.RawMessage
			Sessions *[]struct{ Host string }
			Notices  *[]struct{ Kind, Text string }
		}
		require.NoError(t, lines.Decode(&line), "it did not come to what was waited for: %+v", w)
		if line.Whole {
			w = watched{mostBusy: w.mostBusy}
			require.NoError(t, json.Unmarshal([]byte(`{"Frames":{},"Agents":{},"Hosts":{}}`), &w))
		}
		for _, raw := range line.Frames {
			put(t, w.Frames, raw)
		}
		for _, raw := range line.Agents {
			put(t, w.Agents, raw)
		}
		if line.Sessions != nil {
			for _, s := range *line.Sessions {
				w.Hosts[s.Host] = true
			}
		}
		if line.Notices != nil {
			w.Notices = *line.Notices
		}
		busy := 0
		for _, a := range w.Agents {
			if a.State == "active" {
				busy++
			}
		}
		if w.mostBusy = max(w.mostBusy, busy); seen(w) {
			return w
		}
	}
}

// put replaces the state of a row by its id.
func put[T any](t *testing.T, rows map[string]T, raw json.RawMessage) {
	t.Helper()
	var row T
	var named struct{ ID string }
	require.NoError(t, json.Unmarshal(raw, &row))
	require.NoError(t, json.Unmarshal(raw, &named))
	rows[named.ID] = row
}

// While both hosts and three agents work, the page shows who does what, the results, and who
// waits.
func TestThePageShowsBothHostsAndTheirAgentsAtWork(t *testing.T) {
	t.Parallel()
	u := newUser(t, claudeCode, openCode)
	u.must(u.flame, "setup")
	release, released := make(chan struct{}), false
	held := func(turn model.Turn) model.Turn {
		return model.Turn{From: func(model.Request) model.Turn {
			<-release
			return turn
		}}
	}
	agent := func(actor, prompt string) model.Actor {
		return asked(actor, prompt, calls("flame_add_decision", map[string]any{"decision": actor + " decides"}), held(model.Turn{Text: actor + " is done"}))
	}
	u.model.Play(model.Script{
		agent("one", "ONEWORK"), agent("two", "TWOWORK"), agent("three", "THREEWORK"),
		asked("other", "OTHERWORK", calls("flame_push", map[string]any{"goal": "a piece in OpenCode"}), held(model.Turn{Text: "OTHER-RESULT"})),
		asked("main", "MAINWORK", append(append([]model.Turn{{Tools: []model.Tool{
			spawns("builder", "do one", "ONEWORK go", nil), spawns("builder", "do two", "TWOWORK go", nil), spawns("analyzer", "do three", "THREEWORK go", nil),
		}}}, waitsForAll(3)...), model.Turn{Text: "MAIN-RESULT"})...),
	})
	var hosts sync.WaitGroup
	hosts.Go(func() { u.works(claudeCode, "MAINWORK please") })
	hosts.Go(func() { u.ask(openCode, "OTHERWORK please") })
	defer hosts.Wait()
	w := u.watch(func(w watched) bool {
		used, opened := false, false
		for _, f := range w.Frames {
			used = used || f.Agent != "" && f.Total.TokensIn > 0
			opened = opened || f.Goal == "a piece in OpenCode" && f.Host == openCode
		}
		atOnce := w.mostBusy == 3 && w.Hosts[claudeCode] && w.Hosts[openCode] && opened
		if atOnce && !released {
			close(release)
			released = true
		}
		return released && used && len(w.Notices) == 3
	})
	assert.Len(t, w.Agents, 3)
	for _, a := range w.Agents {
		assert.Equal(t, "completed", a.State)
		assert.Contains(t, []string{"builder", "analyzer"}, a.Type)
	}
	for _, n := range w.Notices {
		assert.Equal(t, "ended", n.Kind)
		assert.Contains(t, n.Text, "ended (completed): do ")
	}
}
