package transcripts

import (
	"bytes"
	"encoding/json"
	"strings"
)

// The formats of OpenCode.
var (
	// OpenCodeRun is what the client prints.
	OpenCodeRun = &Format{
		Name: "OpenCode's run --format json", Host: "opencode",
		Lines: func() parser { return openCodeRunLine },
		Entry: func(e Entry) bool {
			return e.Text("type") != "" && e.Text("sessionID") != "" && (e.Has("part") || e.Has("error"))
		},
	}
	// OpenCodeExport is one document.
	OpenCodeExport = &Format{
		Name: "OpenCode's export", Host: "opencode", Document: OpenCode,
		Entry: func(e Entry) bool {
			var info openCodeSession
			return e.Has("messages") && loose(e["info"], &info) && info.ID != ""
		},
		Head: isOpenCodeExport,
	}
	// OpenCodeStore is its database.
	OpenCodeStore = &Format{
		Name: "OpenCode's database", Host: "opencode", Database: OpenCodeDB,
		Head: func(head []byte) bool { return bytes.HasPrefix(head, []byte("SQLite format 3\x00")) },
	}
)

// isOpenCodeExport recognizes an export, which spans lines, or is too long to
// be read to its end.
func isOpenCodeExport(head []byte) bool {
	d := json.NewDecoder(bytes.NewReader(head))
	var info openCodeSession
	if opens(d, '{') != nil {
		return false
	}
	if key, err := d.Token(); err != nil || key != "info" || d.Decode(&info) != nil || !strings.HasPrefix(info.ID, "ses_") {
		return false
	}
	return true
}
