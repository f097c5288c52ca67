package transcripts

// The formats of Claude Code.
var (
	// ClaudeSession is JSONL, a session's or a subagent's. An old file begins with
	// the summary of another.
	ClaudeSession = &Format{
		Name: "Claude Code's session files", Host: "claude-code", Kept: true,
		Lines: func() parser { return claudeSessionLine },
		Entry: func(e Entry) bool {
			return e.Text("type") != "" && (e.Text("sessionId") != "" || e.Text("leafUuid") != "")
		},
	}
	// ClaudeStream is what the client prints.
	ClaudeStream = &Format{
		Name: "Claude Code's stream-json", Host: "claude-code",
		Lines: func() parser { return new(claudeStream).line },
		Entry: func(e Entry) bool {
			speaks := e.Text("type") == "user" || e.Text("type") == "assistant"
			return e.Text("type") != "" && e.Text("session_id") != "" || speaks && e.Has("message") && !e.Has("sessionId")
		},
	}
)
