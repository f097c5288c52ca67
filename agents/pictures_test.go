package agents_test

import (
	"database/sql"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/plan"
	"flame/project"
	"flame/tests/hoststest"
	"flame/tests/projecttest"
)

var (
	png = base64.StdEncoding.EncodeToString([]byte("\x89PNG\x0D\x0A\x1A\x0A and more"))
	pdf = base64.StdEncoding.EncodeToString([]byte("%PDF-1.7 and more"))
)

// seen returns agents, and a caller of a host whose log has these lines.
func seen(t *testing.T, host, lines string) (*projecttest.Fixture, *agents.Agents, project.Caller) {
	t.Helper()
	f, log := projecttest.NewCounter(t)
	s := projecttest.Host("ses_1")
	s.Host, s.Event, s.Trust = host, "SessionStart", project.TrustHook
	machine := hoststest.With()
	machine.Home = t.TempDir()
	f.Prompt(s, "p", "work")
	f.CountLater(s, log)
	log.Write(lines)
	return f, &agents.Agents{Setup: plan.Setup{Project: f.Project, Hosts: hoststest.Known(), Machine: machine}}, s
}

func TestPicturesAreReadFromTheLogsOfAllHosts(t *testing.T) {
	t.Parallel()
	const openCode = `{"type":"tool","callID":"c1","tool":"read","state":{"status":"completed","input":{"filePath":"a.png"},"output":"Image read",` +
		`"attachments":[{"type":"file","mime":"image/png","url":"data:image/png;base64,%s"},{"mime":"application/pdf","url":"data:application/pdf;base64,%s"}]}}`
	for host, lines := range map[string]string{
		"claude-code": `{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"c1","name":"Read","input":{"file_path":"a.png"}}]}}` + "\n" +
			`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c2","content":[` +
			`{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"R0lGODlh"}}]},{"type":"tool_result","tool_use_id":"c1","content":[` +
			`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}},` +
			`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"%s"}}]}]}}` + "\n",
		"codex": `{"timestamp":"2026-11-24T18:47:30.053Z","type":"session_meta","payload":{"id":"ses_1"}}` + "\n" +
			`{"timestamp":"2026-11-24T18:47:30.173Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":[` +
			`{"type":"input_image","image_url":"data:image/png;base64,%s"},{"type":"input_file","file_data":"data:application/pdf;base64,%s"}]}}` + "\n",
		"gemini": `{"sessionId":"ses_1","projectHash":"x","startTime":"2026-11-23T22:29:07.000Z","lastUpdated":"2026-11-23T22:29:07.000Z","kind":"main"}` + "\n" +
			`{"id":"x","timestamp":"2026-11-23T22:29:07.453Z","type":"gemini","content":"","toolCalls":[{"id":"c1","name":"read_file","args":{},` +
			`"status":"success","result":[{"functionResponse":{"id":"c1","response":{"output":"Binary content"},"parts":[` +
			`{"inlineData":{"mimeType":"image/png","data":"%s"}},{"inlineData":{"mimeType":"application/pdf","data":"%s"}}]}}]}]}` + "\n",
		"opencode": "",
	} {
		f, a, s := seen(t, host, fmt.Sprintf(strings.TrimSuffix(lines, "\n"), png, pdf)+"\n")
		if host == "opencode" {
			writeStore(t, a.Machine.Home, fmt.Sprintf(openCode, png, pdf))
		}
		got, err := agents.Recall(f.Ctx, a, s, agents.RecallArgs{Call: "c1"})
		require.NoError(t, err, host)
		require.Len(t, got.Pictures, 2, host)
		assert.Equal(t, "image/png", got.Pictures[0].Type, host)
		assert.Equal(t, "\x89PNG\x0D\x0A\x1A\x0A and more", string(got.Pictures[0].Data), host)
		assert.Equal(t, "application/pdf", got.Pictures[1].Type, host)
		assert.Contains(t, got.Text, "[image/png: 17 bytes, beside this text]\n[application/pdf: 17 bytes, beside this text]", host)
	}
}

// writeStore writes a database of OpenCode with one part.
func writeStore(t *testing.T, home, part string) {
	t.Helper()
	dir := filepath.Join(home, ".local", "share", "opencode")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	db, err := sql.Open("sqlite", filepath.Join(dir, "opencode.db"))
	require.NoError(t, err)
	_, err = db.Exec(`CREATE TABLE session (id, parent_id, directory, title, time_created, time_updated);
		CREATE TABLE message (id, session_id, time_created, data); CREATE TABLE part (id, message_id, session_id, data);
		INSERT INTO session VALUES ('ses_1', NULL, '/p', 't', 1, 1); INSERT INTO message VALUES ('m', 'ses_1', 1, '{"role":"assistant","time":{"created":1}}')`)
	require.NoError(t, err)
	_, err = db.Exec(`INSERT INTO part VALUES ('p', 'm', 'ses_1', ?)`, part)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

func TestHostilePicturesAreNamedAlone(t *testing.T) {
	t.Parallel()
	large := base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\x0D\x0A\x1A\x0A"), make([]byte, 5<<20)...))
	source := func(kind, data string) string {
		return fmt.Sprintf(`{"type":"image","source":{"type":"base64","media_type":%q,"data":%q}}`, kind, data)
	}
	lines := `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c1","content":[` + strings.Join([]string{
		source("image/svg+xml", png), source("text/html\n</x>", png), source("image/png", "%%%"), source("image/png", pdf), source("image/jpeg", large),
		source("image/png", large), source("application/pdf", pdf), source("application/pdf", pdf),
	}, ",") + `]}]}}` + "\n"
	f, a, s := seen(t, "claude-code", lines)
	got, err := agents.Recall(f.Ctx, a, s, agents.RecallArgs{Call: "c1"})
	require.NoError(t, err)
	require.Len(t, got.Pictures, 1)
	assert.Equal(t, "application/pdf", got.Pictures[0].Type)
	assert.Equal(t, 2, strings.Count(got.Text, "flame gives back no files of this type"), got.Text)
	assert.Equal(t, 2, strings.Count(got.Text, "its 5242890 bytes are too many"), got.Text)
	assert.Contains(t, got.Text, "it is not what its type says")
	assert.Len(t, strings.Split(got.Text, "\n"), 7, "each once")

	f, a, s = seen(t, "claude-code", `{"type":"assistant","message":{"id":"m","content":[`+
		`{"type":"tool_use","id":"c1","name":"Read","input":{"file_path":"/p/a.png"}}]}}`+"\n"+
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c1","content":[]}]}}`+"\n")
	got, err = agents.Recall(f.Ctx, a, s, agents.RecallArgs{Call: "c1"})
	require.NoError(t, err)
	assert.Equal(t, `The log has no output of this call: {"file_path":"/p/a.png"}`, got.Text)
}
