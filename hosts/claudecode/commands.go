package claudecode

import "slices"

// apart are the client's commands that talk to no model, or to one in another process.
// They are known by the first word of a command line alone, and some only there.
var apart = []string{
	"agents", "attach", "auth", "auto-mode", "bridge", "daemon", "doctor", "gateway", "import", "install", "kill", "logs", "mcp", "plugin", "plugins",
	"purge", "rc", "remote", "remote-control", "respawn", "rm", "self-hosted-runner", "setup-token", "stop", "sync", "ultrareview", "update", "upgrade",
	"--version", "-v", "--help", "-h", "--update", "--upgrade",
}

// later are the options for sessions that outlive the client, and with it the gateway.
var later = []string{"--bg", "--background", "--cloud", "--remote", "--routine"}

// runsPlain reports whether a command line is none for a gateway, with what to tell of it.
func runsPlain(args []string) (note []string, plain bool) {
	if len(args) > 0 && slices.Contains(apart, args[0]) {
		return nil, true
	}
	for _, word := range args {
		if word == "--" {
			return nil, false
		}
		if slices.Contains(later, word) {
			return []string{"a session of " + word + " goes on without flame's gateway, so nothing is folded or measured in it"}, true
		}
	}
	return nil, false
}
