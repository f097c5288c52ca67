package messages_test

import (
	"fmt"
	"strings"
	"testing"

	"flame/core/fold"
	"flame/hosts/claudecode"
	"flame/hosts/gateway/messages"
)

// BenchmarkARequest reads and edits a request of 500 KB.
func BenchmarkARequest(b *testing.B) {
	all := []string{asks, env, pushes, pushed}
	for i := 0; len(strings.Join(all, "")) < 500_000; i++ {
		all = append(all, fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":"x%d","name":"Read","input":{}}]}`, i),
			fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"x%d","content":%q}]}`, i, strings.Repeat("line of a file\n", 500)))
	}
	body := []byte(in(all...))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		r, err := messages.Parse(body)
		if err != nil {
			b.Fatal(err)
		}
		r.Amended(r.History(claudecode.Host().Wire), fold.Amendment{Drop: []string{"c:x1", "r:x1"}})
	}
}
