package server

import (
	"fmt"
	"strings"
)

// Unit returns a unit of systemd, of a user, that runs `flame hub` with these words.
func Unit(words []string, path string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = unitWord(strings.ReplaceAll(word, "$", "$$"))
	}
	return fmt.Sprintf(`# ~/.config/systemd/user/flame-hub.service
#   systemctl --user enable --now flame-hub
#   loginctl enable-linger     so that it runs while you are not logged in
[Unit]
Description=flame hub, where machines meet

[Service]
ExecStart=%s
Environment=%s
Restart=on-failure
RestartSec=2
TimeoutStopSec=30

[Install]
WantedBy=default.target
`, strings.Join(quoted, " "), unitWord("PATH="+path))
}

// unitWord quotes a word as systemd reads it.
func unitWord(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, "\n", `\n`).Replace(word) + `"`
}
