package claudecode

import (
	"encoding/json"
	"path/filepath"

	"flame/hosts"
)

// shown reads what the client tells the command of its status line.
func shown(document []byte) (hosts.LinePlace, bool) {
	var told struct {
		Session   string `json:"session_id"`
		Cwd       string `json:"cwd"`
		Workspace struct {
			Project string `json:"project_dir"`
		} `json:"workspace"`
	}
	if json.Unmarshal(document, &told) != nil || told.Session == "" {
		return hosts.LinePlace{}, false
	}
	s := hosts.LinePlace{Session: told.Session}
	for _, dir := range []string{told.Workspace.Project, told.Cwd} {
		if s.Folder == "" && filepath.IsAbs(dir) {
			s.Folder = dir
		}
	}
	return s, true
}
