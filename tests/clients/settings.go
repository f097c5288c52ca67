package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Place is where the clients of one user are: his home and project, the folder of his programs,
// and the address of the model.
type Place struct{ Home, Project, Bin, URL string }

// Link puts a client into the folder of programs, with the program that runs it.
func (p Place) Link(client string) error {
	file, err := Binary(client)
	if err != nil {
		return err
	}
	err = os.Symlink(file, filepath.Join(p.Bin, Programs[client].Name))
	if client != Gemini || err != nil {
		return err
	}
	return p.LinkNode()
}

// LinkNode puts the Node that runs Gemini CLI there.
func (p Place) LinkNode() error {
	node, err := File(Node)
	if err != nil {
		return err
	}
	return os.Symlink(node, filepath.Join(p.Bin, "node"))
}

// Settle has Codex or Gemini CLI ask the model, and returns the variables that it needs for that
// beyond those of Environment. more are lines for the settings of Codex.
func (p Place) Settle(client string, more ...string) (env []string, err error) {
	switch client {
	case Codex:
		text := fmt.Sprintf(codexConfig, strings.Join(more, "\n"), p.URL+"/v1")
		return []string{"OPENAI_API_KEY=dummy"}, p.write(".codex/config.toml", []byte(text))
	case Gemini:
		settings := map[string]any{
			"security": map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}},
			"privacy":  map[string]any{"usageStatisticsEnabled": false},
			"general":  map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
		}
		env := []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + p.URL, "GEMINI_CLI_NO_RELAUNCH=true"}
		return env, p.ofGemini("settings.json", settings)
	}
	return nil, errors.New(client + " has its settings in the project")
}

const codexConfig = `# mine
model = "scripted"
model_provider = "scripted"
approval_policy = "never"
%s
[model_providers.scripted]
name = "scripted"
base_url = %q
wire_api = "responses"
env_key = "OPENAI_API_KEY"
`

// ofGemini writes a file of Gemini CLI's own folder.
func (p Place) ofGemini(name string, document any) error {
	raw, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	return p.write(filepath.Join(".gemini", name), raw)
}

// TrustFolder does what "Trust folder" of Gemini CLI does.
func (p Place) TrustFolder() error {
	return p.ofGemini("trustedFolders.json", map[string]string{p.Project: "TRUST_FOLDER"})
}

// write writes a file of the home.
func (p Place) write(name string, text []byte) error {
	path := filepath.Join(p.Home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
