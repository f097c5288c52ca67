package agents

import (
	"bytes"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/plan"
	"flame/agents/record"
	"flame/agents/supervise"
	"flame/core"
	"flame/hosts"
)

// fronted is how a host runs behind a gateway whose settings stand in front of its options.
func fronted(_ hosts.Machine, args []string) (hosts.GatewayLaunch, error) {
	return hosts.GatewayLaunch{
		Upstream: &url.URL{Scheme: "http", Host: "up"},
		Plain:    args[0] == "plain",
		Settings: func(base, mark string) ([]byte, error) { return []byte(base + " " + mark), nil },
		Args:     func(file, _ string) []string { return append([]string{file}, args...) },
		Env:      func(base, _ string) []string { return []string{"AT=" + base} },
	}, nil
}

func TestAnAgentHasTheGatewayOfItsSession(t *testing.T) {
	t.Parallel()
	known := hosts.Registry{{Name: "one", Gateway: hosts.GatewayFacts{Plan: fronted}}, {Name: "two"}}
	refused := hosts.Registry{{Name: "one", Gateway: hosts.GatewayFacts{Plan: func(hosts.Machine, []string) (hosts.GatewayLaunch, error) {
		return hosts.GatewayLaunch{}, errors.New("another service")
	}}}}
	behind := []string{"BASE=http://up"}
	own := func() *Gateway {
		return &Gateway{Env: behind, Base: "http://here", Mark: "M=1", For: []string{"http://up"}}
	}
	tests := map[string]struct {
		hosts   hosts.Registry
		host    string
		command string
		gate    *Gateway
		err     error
		ran     string // the command
		env     []string
		closed  int
		logs    string
	}{
		"a gateway":               {known, "one", "go", own(), nil, "prog FILE go", append(behind, "AT=http://here"), 1, ""},
		"none around":             {known, "one", "go", nil, nil, "prog go", nil, 0, ""},
		"one that does not open":  {known, "one", "go", nil, errors.New("no port"), "prog go", nil, 0, "no port"},
		"a host that has none":    {known, "two", "go", &Gateway{Env: behind}, nil, "prog go", behind, 1, ""},
		"a host that refuses one": {refused, "one", "go", own(), nil, "prog go", behind, 1, "another service"},
		"requests to another server": {
			known, "one", "go", &Gateway{Env: behind, Base: "http://here", For: []string{"http://other"}}, nil, "prog go", behind, 1, "another server",
		},
		"a command without place": {known, "one", "plain", own(), nil, "prog plain", behind, 1, "no place"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var logs bytes.Buffer
			var written []string
			closed := 0
			var meter func(core.Usage, bool)
			a := &Agents{Setup: plan.Setup{Hosts: tt.hosts}, OpenGate: func(_ hosts.Host, agent string, metered func(core.Usage, bool)) (*Gateway, error) {
				assert.Equal(t, "agent-1", agent)
				meter = metered
				if tt.gate != nil {
					tt.gate.Close = func() { closed++ }
					tt.gate.Write = func(settings []byte) (string, error) {
						written = append(written, string(settings))
						return "FILE", nil
					}
				}
				return tt.gate, tt.err
			}}
			s := &supervise.Supervisor{
				Job: supervise.Job{Command: []string{"prog", tt.command}, Resume: []string{"prog", tt.command, "again"}},
				Log: slog.New(slog.NewTextHandler(&logs, nil)),
			}
			end := gated(a, record.Agent{ID: "agent-1", Host: tt.host}, s)
			assert.Equal(t, tt.ran, strings.Join(s.Job.Command, " "))
			assert.Equal(t, tt.ran+" again", strings.Join(s.Job.Resume, " "))
			assert.Equal(t, tt.env, s.Job.Env)
			if s.Meter != nil {
				meter(core.Usage{TokensIn: 1}, false)
				require.NoError(t, s.Prepare())
				assert.Equal(t, []string{"http://here M=1", "http://here M=1", "http://here M=1"}, written, "the settings are written again for each process")
			}
			assert.Equal(t, name == "a gateway", s.Meter != nil)
			end()
			assert.Equal(t, tt.closed, closed)
			if tt.logs == "" {
				assert.Empty(t, logs.String())
			} else {
				assert.Contains(t, logs.String(), tt.logs)
			}
		})
	}
	assert.NotPanics(t, gated(&Agents{}, record.Agent{}, &supervise.Supervisor{}))
}
