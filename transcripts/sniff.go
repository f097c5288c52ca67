package transcripts

import (
	"bytes"
	"encoding/json"
	"strings"
)

// sniff tells a format by how a log begins.
func sniff(head []byte) Format {
	if bytes.HasPrefix(head, []byte(sqliteMagic)) {
		return OpenCodeStore
	}
	for line := range bytes.Lines(head) {
		if format := sniffLine(line); format != "" {
			return format
		}
	}
	return sniffDocument(head)
}

func sniffLine(line []byte) Format {
	var l struct {
		Type        string `json:"type"`
		SessionID   string `json:"session_id"`
		ClaudeFile  string `json:"sessionId"`
		OpenCode    string `json:"sessionID"`
		LeafUUID    string `json:"leafUuid"` // of the summary that an old session file begins with
		Part, Error json.RawMessage
		Info        struct {
			ID string `json:"id"`
		} `json:"info"`
		Messages json.RawMessage `json:"messages"`
	}
	if !loose(line, &l) {
		return ""
	}
	switch {
	case l.Info.ID != "" && l.Messages != nil:
		return OpenCodeExport
	case l.Type == "":
		return ""
	case l.OpenCode != "" && (l.Part != nil || l.Error != nil):
		return OpenCodeRun
	case l.ClaudeFile != "" || l.LeafUUID != "":
		return ClaudeSession
	case l.SessionID != "":
		return ClaudeStream
	}
	return ""
}

// sniffDocument tells an export, which is spread over lines, or too long to be
// seen to its end.
func sniffDocument(head []byte) Format {
	d := json.NewDecoder(bytes.NewReader(head))
	var info openCodeSession
	if opens(d, '{') != nil {
		return ""
	}
	if key, err := d.Token(); err != nil || key != "info" || d.Decode(&info) != nil || !strings.HasPrefix(info.ID, "ses_") {
		return ""
	}
	return OpenCodeExport
}
