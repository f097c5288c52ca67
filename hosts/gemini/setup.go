package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"flame/core"
	"flame/hosts"
)

// Install plans the extension's folder, our rules for its tools and the link. An extension that is
// switched off is restored.
func (h Client) Install(_ context.Context, scope hosts.Scope) ([]hosts.SetupStep, error) {
	gemini, err := facts().On(h.Machine)
	switch {
	case err != nil:
		return nil, err
	case scope == hosts.ScopeProject:
		// It is not found, so that other hosts are set up.
		return nil, core.NotFoundf("Gemini CLI keeps its extensions for all projects of the user, so flame cannot be set up for one project").
			WithHint("run `flame setup gemini`; `gemini extensions disable flame --scope workspace` or `flame off` silences flame in a project")
	}
	files, _ := h.offered()
	steps := hosts.WriteFolder(h.folder(), files)
	rules, err := h.Machine.Files(hosts.ScopeUser).Write(h.policyFile(), []byte(h.policy()), 0o644)
	if err != nil {
		return nil, err
	}
	steps = append(steps, rules...)
	linked := h.linked()
	if linked != "" && linked != h.folder() {
		steps = append(steps, h.step(gemini, "extensions", "uninstall", extensionName))
	}
	if linked != h.folder() {
		return append(steps, h.step(gemini, "extensions", "link", h.folder(), "--consent")), nil
	}
	if !h.enabled() {
		steps = append(steps, h.step(gemini, "extensions", "enable", extensionName))
	}
	return steps, nil
}

// Remove plans to remove the link, the rules and the folder. If Gemini CLI itself is gone, the files
// are left to delete.
func (h Client) Remove(_ context.Context, scope hosts.Scope) (steps []hosts.SetupStep, err error) {
	if scope == hosts.ScopeProject {
		return nil, nil // nothing is ever installed there
	}
	if gemini, err := facts().On(h.Machine); err == nil && h.linked() != "" {
		steps = append(steps, h.step(gemini, "extensions", "uninstall", extensionName))
	}
	own := h.Machine.Files(hosts.ScopeUser)
	steps = append(steps, own.Remove(h.policyFile(), ownFolder(h.Machine))...)
	return append(steps, own.Remove(h.folder(), h.Machine.DataHome())...), nil
}

// Status returns what Gemini CLI has of flame's, by the files that its own command line writes.
func (h Client) Status(ctx context.Context) (status hosts.Status, err error) {
	gemini, err := facts().On(h.Machine)
	if err != nil {
		return status, nil // not installed, which an empty Program says
	}
	status.Program, status.Version = gemini.Path, h.Machine.Version(ctx, gemini.Path)
	files, version := h.offered()
	status.AvailableVersion, status.Tools = version, hosts.LeanTools
	if status.ByHand, err = h.byHand(gemini); err != nil {
		return status, err
	}
	status.ManualWins = !slices.ContainsFunc(status.ByHand, func(r hosts.Registration) bool { return r.Name != extensionName })
	linked := h.linked()
	if linked == "" {
		return status, nil
	}
	rules, err := h.Machine.Files(hosts.ScopeUser).Write(h.policyFile(), []byte(h.policy()), 0o644)
	if err != nil {
		return status, err
	}
	current := linked == h.folder() && len(hosts.WriteFolder(h.folder(), files)) == 0 && len(rules) == 0
	status.Installed = []hosts.Installation{{Scope: hosts.ScopeUser, Where: linked, Current: current, Off: !h.enabled()}}
	status.Consent = h.consent()
	return status, nil
}

// step returns the step that runs a command in our own data folder. There Gemini CLI reads no settings
// of a project. It would note its working folder as trusted with any other consent, unless the process
// trusts it already.
func (h Client) step(gemini hosts.Program, args ...string) hosts.SetupStep {
	return hosts.SetupStep{Description: "run " + gemini.Line(args...), Do: func(ctx context.Context) error {
		_, err := h.Machine.Run(ctx, filepath.Dir(h.folder()), "env", append([]string{"GEMINI_CLI_TRUST_WORKSPACE=true", gemini.Path}, args...)...)
		return err
	}}
}

// linked returns the folder that Gemini CLI links to as our extension; empty if it has none.
func (h Client) linked() string {
	var installed struct {
		Source string `json:"source"`
	}
	h.read(&installed, "extensions", extensionName, ".gemini-extension-install.json")
	return installed.Source
}

// read decodes a file of Gemini CLI's own folder; without such a file, into stays as it is.
func (h Client) read(into any, path ...string) {
	h.readFile(into, filepath.Join(append([]string{ownFolder(h.Machine)}, path...)...))
}

func (h Client) readFile(into any, path string) {
	readFile(h.Machine.Files(hosts.ScopeUser), into, path)
}

func readFile(files hosts.Files, into any, path string) {
	if content, err := files.Read(path); err == nil {
		_ = json.Unmarshal(hosts.PlainJSON(content), into) // what another version writes stays unknown
	}
}

// enabled reports whether the extension is on in the project. The last rule that fits decides.
func (h Client) enabled() bool {
	var all map[string]struct {
		Overrides []string `json:"overrides"`
	}
	h.read(&all, "extensions", "extension-enablement.json")
	on := true
	for _, rule := range all[extensionName].Overrides {
		folder, off := strings.CutPrefix(rule, "!")
		folder, below := strings.CutSuffix(folder, "*")
		here := filepath.ToSlash(h.Machine.ProjectDir) + "/"
		if here == folder || below && strings.HasPrefix(here, folder) {
			on = !off
		}
	}
	return on
}

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
