package gemini

import (
	"cmp"
	"path/filepath"
	"strings"

	"flame/core"
	"flame/hosts"
)

// settings are a settings file, as far as flame reads it.
type settings struct {
	Servers map[string]struct {
		Command string `json:"command"`
	} `json:"mcpServers"`
	Hooks struct {
		Enabled  *bool    `json:"enabled"`
		Disabled []string `json:"disabled"`
	} `json:"hooksConfig"`
	Security struct {
		FolderTrust struct {
			Enabled *bool `json:"enabled"`
		} `json:"folderTrust"`
		Auth struct {
			Type string `json:"selectedType"`
		} `json:"auth"`
	} `json:"security"`
	Tools struct {
		Sandbox any `json:"sandbox"` // true, or what kind
	} `json:"tools"`
}

func (h Client) settings() (s settings) {
	h.read(&s, "settings.json")
	return s
}

// byHand returns the servers of flame's in the user's settings. One of the same name takes the place
// of our extension's.
func (h Client) byHand(gemini hosts.Program) (found []hosts.Registration, err error) {
	file := filepath.Join(ownFolder(h.Machine), "settings.json")
	for name, server := range h.settings().Servers {
		if hosts.IsFlame(name, server.Command) {
			found = append(found, hosts.Registration{Name: name, File: file, Undo: gemini.Line("mcp", "remove", "--scope", "user", name)})
		}
	}
	return found, nil
}

// The kinds of trust in a folder, as Gemini CLI writes them.
const (
	trustFolder = "TRUST_FOLDER"
	trustParent = "TRUST_PARENT"
	noTrust     = "DO_NOT_TRUST"
)

// consent returns what the user must still allow before all of the extension works in the project.
func (h Client) consent() core.Finding {
	s := h.settings()
	if s.Hooks.Enabled != nil && !*s.Hooks.Enabled {
		return core.Finding{What: "hooks are turned off in Gemini CLI, so flame hears nothing of its sessions", Broken: true,
			Hint: "turn them on under /settings (\"Enable Hooks\"), or with /hooks enable-all"}
	}
	if s.Security.FolderTrust.Enabled != nil && !*s.Security.FolderTrust.Enabled {
		return core.Finding{}
	}
	switch h.trust() {
	case trustFolder:
		return core.Finding{}
	case noTrust:
		return core.Finding{
			What: "Gemini CLI starts no servers and reads no commands in this project: you said that you do not trust the folder", Broken: true,
			Hint: "start `gemini` in it, type /permissions and choose \"Trust folder\", if you have changed your mind",
		}
	}
	return core.Finding{
		What: "Gemini CLI starts no servers and reads no commands in this project: you have not said that you trust the folder", Todo: true,
		Hint: "start `gemini` in it and choose \"Trust folder\" where it asks \"Do you trust the files in this folder?\"; later, /permissions asks again",
	}
}

// trust returns what the user said about the project's folder, or one above it; empty if nothing.
func (h Client) trust() (said string) {
	folders := map[string]string{}
	if path := h.Machine.Getenv("GEMINI_CLI_TRUSTED_FOLDERS_PATH"); path != "" {
		h.readFile(&folders, path)
	} else {
		h.read(&folders, "trustedFolders.json")
	}
	longest := -1
	for folder, kind := range folders {
		if kind == trustParent {
			folder, kind = filepath.Dir(folder), trustFolder
		}
		rel, err := filepath.Rel(cmp.Or(folder, "."), h.Machine.ProjectDir)
		if err != nil || rel == ".." || strings.HasPrefix(rel, "../") || len(folder) <= longest {
			continue
		}
		longest, said = len(folder), kind
	}
	return said
}
