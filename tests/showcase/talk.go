package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/samber/lo"

	"flame/project"
)

// said are the transcripts of today's session and of its tester: minutes ago, the text (of a prompt
// after ">"), and the calls.
var said = map[string][]struct {
	ago   float64
	text  string
	calls []string
}{
	today: {
		{81, "> Verify over the raw body. Old signatures stay valid until the end of the month.", nil},
		{80, "I read how bodies reach the handler before I touch the check.", []string{"Read receiver/verify.go", "Grep WEBHOOK_SECRET"}},
		{71, "The provider signs the bytes as sent, so the body is read once and kept before anything parses it.",
			[]string{"Edit receiver/verify.go", "Bash go test ./receiver"}},
		{58, "All 31 cases pass. A request older than five minutes is refused with 400.", []string{"Bash go test -race ./..."}},
		{48, "Done: signatures are checked over the raw body, with both kinds of keys.", nil},
		{37, "Retries: two agents try two kinds of jitter.", []string{"Read receiver/queue.go"}},
	},
	"agent-session-1": {
		{16.5, "> Stop the receiver for 1, 10 and 60 minutes under load and count what is lost.", nil},
		{15, "The fake receiver is ready: it answers 500, or nothing, for as long as a test wants.", []string{"Write receiver/outage_test.go"}},
		{9, "An outage of one minute loses nothing: 600 sent, 600 worked on.", []string{"Bash go test -run Outage/1m"}},
		{0.5, "The outage of 10 minutes loses nothing; now the one of 60.", []string{"Bash go test -run Outage/60m"}},
	},
}

const patch = `@@ -22,5 +22,7 @@
 func (v *Verifier) Check(h http.Header, body []byte) error {
-	mac := hmac.New(sha256.New, v.secret)
-	mac.Write(normalize(body))
+	at, err := signedAt(h)
+	if err != nil || v.now().Sub(at) > 5*time.Minute {
+		return ErrStale
+	}
 	for _, key := range v.keys.Current() {
`

// talk writes the transcripts, and what a frame changed.
func (s *scene) talk() {
	for session, lines := range said {
		path := filepath.Join(os.Getenv("HOME"), ".claude", "projects", "orchard", session+".jsonl")
		s.keep(os.MkdirAll(filepath.Dir(path), 0o755))
		var b strings.Builder
		line := func(ago float64, kind string, message map[string]any) {
			b.Write(lo.Must(json.Marshal(map[string]any{
				"type": kind, "uuid": fmt.Sprint(session, b.Len()), "sessionId": session, "message": message,
				"timestamp": s.at(ago).Time().UTC().Format(time.RFC3339Nano),
			})))
			b.WriteString("\n")
		}
		for i, of := range lines {
			if text, prompt := strings.CutPrefix(of.text, "> "); prompt {
				line(of.ago, "user", map[string]any{"role": "user", "content": text})
				continue
			}
			content, outputs := []map[string]any{{"type": "text", "text": of.text}}, []map[string]any{}
			for j, call := range of.calls {
				tool, input, _ := strings.Cut(call, " ")
				id := fmt.Sprintf("call-%d-%d", i, j)
				given := map[string]any{"command": input}
				content = append(content, map[string]any{"type": "tool_use", "id": id, "name": tool, "input": given})
				outputs = append(outputs, map[string]any{"type": "tool_result", "tool_use_id": id, "content": "ok"})
			}
			line(of.ago, "assistant", map[string]any{"id": fmt.Sprint("answer-", i), "role": "assistant", "model": "claude-sonnet-5", "content": content})
			if len(outputs) > 0 {
				line(of.ago, "user", map[string]any{"role": "user", "content": outputs})
			}
		}
		s.keep(os.WriteFile(path, []byte(b.String()), 0o600))
		s.keep(project.RecordTranscript.Save(s.tx, session, project.Transcript{Path: path}))
	}
	const frame = "frame-sign0003"
	s.keep(s.tx.SaveRecord("files", frame, map[string]any{
		"files": []map[string]any{{"path": "receiver/verify.go", "kind": "modified", "added": 4, "removed": 2, "changes": 1}},
		"first": 0, "next": 1, "bytes": len(patch),
	}))
	s.keep(s.tx.SaveRecord("files", frame+"/0000000000", map[string]any{"path": "receiver/verify.go", "text": patch}))
}
