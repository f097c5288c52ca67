package tools

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/plan"
	"flame/core"
	"flame/project"
	"flame/store"
	"flame/tools/transport"
)

// BenchmarkCall is one call of a tool that does nothing, there and back: what is left
// is how its arguments are read.
func BenchmarkCall(b *testing.B) {
	for name, size := range map[string]int{"small": 100, "large": 100_000} {
		b.Run(name, func(b *testing.B) { benchmarkCall(b, strings.Repeat("x", size)) })
	}
}

func benchmarkCall(b *testing.B, text string) {
	nothing := define("nothing", "", reads, func(context.Context, project.Caller, popArgs) (string, error) { return "done", nil })
	dir := b.TempDir()
	p := &project.Project{
		Store: store.Open(dir, store.Options{}), Dir: dir,
		Now: func() core.Millis { return 1 }, NewID: project.NewID, Log: slog.New(slog.DiscardHandler),
	}
	srv := NewServer(p, &agents.Agents{Setup: plan.Setup{Project: p}}, []Tool{nothing}, "test", func(context.Context) project.Caller { return project.Caller{} })
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- transport.ServeStdio(b.Context(), srv.MCP, srv.Writes, transport.Aside{}, in, out) }()
	answers := bufio.NewReader(fromServer)
	call := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nothing","arguments":`+
		`{"status":"completed","summary":%q,"confidence":0.5,"force":true,"session_id":"s","agent_id":"a"}}}`+"\n", text)
	b.ReportAllocs()
	for b.Loop() {
		_, err := toServer.Write(call)
		require.NoError(b, err)
		answer, err := answers.ReadString('\n')
		require.NoError(b, err)
		require.Contains(b, answer, "done")
	}
	require.NoError(b, toServer.Close())
	require.NoError(b, <-ended)
}
