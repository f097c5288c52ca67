package codex

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"flame/core"
	"flame/hosts"
)

const (
	marketplaceName = "flame-setup"
	pluginName      = "flame@" + marketplaceName
)

// A listedPlugin is a plugin of `codex plugin list --json`.
type listedPlugin struct {
	ID      string `json:"pluginId"`
	Version string `json:"version"`
	Enabled bool   `json:"enabled"`
	Source  struct {
		Path string `json:"path"`
	} `json:"source"`
}

// A listedServer is a server of `codex mcp list --json`, those of plugins included.
type listedServer struct {
	Name      string `json:"name"`
	Enabled   bool   `json:"enabled"`
	Transport struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	} `json:"transport"`
}

// Install plans the marketplace folder, its registration and the plugin. A plugin that is outdated
// or switched off is restored.
func (h Client) Install(ctx context.Context, scope hosts.Scope) ([]hosts.SetupStep, error) {
	codex, err := facts().On(h.Machine)
	switch {
	case err != nil:
		return nil, err
	case scope == hosts.ScopeProject:
		// It is not found, so that other hosts are set up.
		return nil, core.NotFoundf("Codex CLI keeps its plugins for all projects of the user, so flame cannot be set up for one project").
			WithHint("run `flame setup codex`; `flame off` silences flame in a project")
	}
	files, version := h.offered()
	known, err := h.registered(ctx, codex)
	if err != nil {
		return nil, err
	}
	ours, err := h.installed(ctx, codex)
	if err != nil {
		return nil, err
	}
	steps := hosts.WriteFolder(h.folder(), files)
	if known != h.folder() {
		if known != "" {
			steps = append(steps, codex.Step("plugin", "marketplace", "remove", marketplaceName))
		}
		steps = append(steps, codex.Step("plugin", "marketplace", "add", h.folder()))
	}
	if ours.ID == "" || !ours.Enabled || ours.Version != version {
		steps = append(steps, codex.Step("plugin", "add", pluginName))
	}
	return steps, nil
}

// Remove plans to remove the plugin, its marketplace, the user's review of its hooks and the folder. If
// Codex itself is gone, only the folder is left to delete.
func (h Client) Remove(ctx context.Context, scope hosts.Scope) (steps []hosts.SetupStep, err error) {
	if scope == hosts.ScopeProject {
		return nil, nil // nothing is ever installed there
	}
	if codex, err := facts().On(h.Machine); err == nil {
		ours, err := h.installed(ctx, codex)
		if err != nil {
			return nil, err
		}
		if ours.ID != "" {
			steps = append(steps, codex.Step("plugin", "remove", pluginName))
		}
		known, err := h.registered(ctx, codex)
		if err != nil {
			return nil, err
		}
		if known != "" {
			steps = append(steps, codex.Step("plugin", "marketplace", "remove", marketplaceName))
		}
		steps = append(steps, h.forgetReview(ctx, codex)...)
	}
	return append(steps, h.Machine.Files(hosts.ScopeUser).Remove(h.folder(), h.Machine.DataHome())...), nil
}

// forgetReview plans to remove what Codex's configuration says of our hooks, as far as its app server tells that.
func (h Client) forgetReview(ctx context.Context, codex hosts.Program) []hosts.SetupStep {
	var answer struct {
		Config struct {
			Hooks struct {
				State map[string]any `json:"state"`
			} `json:"hooks"`
		} `json:"config"`
	}
	_ = h.ask(ctx, codex, nil, question{"config/read", map[string]any{}, &answer}) // empty says nothing
	var edits []any
	for _, key := range slices.Sorted(maps.Keys(answer.Config.Hooks.State)) {
		if strings.HasPrefix(key, pluginName+":") {
			edits = append(edits, map[string]any{"keyPath": "hooks.state." + strconv.Quote(key), "mergeStrategy": "replace", "value": nil})
		}
	}
	if edits == nil {
		return nil
	}
	return []hosts.SetupStep{{Description: "forget your review of flame's hooks, in Codex's configuration", Do: func(ctx context.Context) error {
		var written struct {
			Status string `json:"status"`
		}
		err := h.ask(ctx, codex, nil, question{"config/batchWrite", map[string]any{"edits": edits}, &written})
		if err == nil && written.Status != "ok" {
			err = errors.New("its app server did not write it")
		}
		return err
	}}}
}

// Status asks Codex for its plugins, its servers and the user's trust in our hooks.
func (h Client) Status(ctx context.Context) (status hosts.Status, err error) {
	codex, err := facts().On(h.Machine)
	if err != nil {
		return status, nil // not installed, which an empty Program says
	}
	status.Program, status.Version = codex.Path, h.Machine.Version(ctx, codex.Path)
	files, version := h.offered()
	status.AvailableVersion, status.Tools = version, hosts.LeanTools
	ours, err := h.installed(ctx, codex)
	if err != nil {
		return status, err
	}
	if status.ByHand, err = h.byHand(ctx, codex); err != nil {
		return status, err
	}
	if ours.ID == "" {
		return status, nil
	}
	current := ours.Version == version && len(hosts.WriteFolder(h.folder(), files)) == 0
	status.Installed = []hosts.Installation{{Scope: hosts.ScopeUser, Where: h.folder(), Current: current, Off: !ours.Enabled}}
	if ours.Enabled {
		status.Consent = h.consent(ctx, codex)
	}
	return status, nil
}

// installed returns our plugin; zero if it is not installed.
func (h Client) installed(ctx context.Context, codex hosts.Program) (listedPlugin, error) {
	var list struct {
		Installed []listedPlugin `json:"installed"`
	}
	err := codex.RunJSON(ctx, &list, "plugin", "list", "--json")
	i := slices.IndexFunc(list.Installed, func(p listedPlugin) bool { return p.ID == pluginName })
	if err != nil || i < 0 {
		return listedPlugin{}, err
	}
	return list.Installed[i], nil
}

// registered returns the folder that Codex knows as our marketplace; empty if it knows none.
func (h Client) registered(ctx context.Context, codex hosts.Program) (string, error) {
	var list struct {
		Marketplaces []struct {
			Name string `json:"name"`
			Root string `json:"root"`
		} `json:"marketplaces"`
	}
	err := codex.RunJSON(ctx, &list, "plugin", "marketplace", "list", "--json")
	for _, m := range list.Marketplaces {
		if m.Name == marketplaceName {
			return m.Root, err
		}
	}
	return "", err
}

// byHand returns the servers of flame's that are not our plugin's: a server of a plugin has the
// plugin's own arguments, and one by hand of the same name takes its place.
func (h Client) byHand(ctx context.Context, codex hosts.Program) (found []hosts.Registration, err error) {
	var list []listedServer
	if err := codex.RunJSON(ctx, &list, "mcp", "list", "--json"); err != nil {
		return nil, err
	}
	for _, s := range list {
		ours := s.Name == "flame" && s.Transport.Command == h.Machine.Binary() && len(s.Transport.Args) > 0 && s.Transport.Args[0] == hosts.ServesLean()[0]
		if !ours && s.Enabled && hosts.IsFlame(s.Name, s.Transport.Command) {
			found = append(found, hosts.Registration{Name: s.Name, File: "Codex's configuration", Undo: codex.Line("mcp", "remove", s.Name)})
		}
	}
	return found, nil
}

// unreviewed returns the finding for hooks that Codex does not run.
func unreviewed(what string) core.Finding {
	return core.Finding{What: what, Todo: true, Hint: "start `codex` and choose \"Trust all and continue\" where it says \"Hooks need review\""}
}

func unknown() core.Finding {
	return core.Finding{
		What: "flame cannot find out whether you have reviewed its hooks",
		Hint: "start `codex`; if it says \"Hooks need review\", choose \"Trust all and continue\"",
	}
}

// A hookList is what Codex's app server says of hooks.
type hookList struct {
	Data []struct {
		Hooks []struct {
			Plugin  string `json:"pluginId"`
			Trust   string `json:"trustStatus"`
			Enabled bool   `json:"enabled"`
		} `json:"hooks"`
	} `json:"data"`
}

// consent returns what the user must still do before our hooks run. Only Codex's app server tells:
// the configuration has hashes that flame cannot check.
func (h Client) consent(ctx context.Context, codex hosts.Program) core.Finding {
	var answer hookList
	_ = h.ask(ctx, codex, nil, question{"hooks/list", map[string]any{"cwds": []string{h.Machine.ProjectDir}}, &answer}) // empty says nothing
	return answer.consent()
}

func (l hookList) consent() core.Finding {
	says := unknown()
	for _, folder := range l.Data {
		for _, hook := range folder.Hooks {
			switch {
			case hook.Plugin != pluginName:
			case hook.Trust == "untrusted":
				return unreviewed("Codex runs flame's hooks only after you have reviewed them")
			case hook.Trust == "modified":
				return unreviewed("flame's plugin has changed since you reviewed its hooks, so Codex does not run them")
			case !hook.Enabled:
				return core.Finding{What: "some of flame's hooks are turned off in Codex", Hint: "start `codex` and turn them on under /hooks"}
			default:
				says = core.Finding{}
			}
		}
	}
	return says
}

// A question is a request to Codex's app server, which says more than its commands.
type question struct {
	method string
	params any
	answer any // decoded from the result; unchanged if the server sends no result
}

// ask has an app server, started with options, answer questions.
func (h Client) ask(ctx context.Context, codex hosts.Program, options []string, questions ...question) error {
	if h.Machine.Converse == nil {
		return errors.New("no program can be asked")
	}
	lines := []string{
		`{"id":0,"method":"initialize","params":{"clientInfo":{"name":"flame","title":"flame","version":"1"}}}`, `{"method":"initialized"}`,
	}
	for i, q := range questions {
		line, err := json.Marshal(map[string]any{"id": i + 1, "method": q.method, "params": q.params})
		if err != nil {
			return err
		}
		lines = append(lines, string(line))
	}
	left := len(questions)
	isLast := func(line string) bool {
		var said struct {
			ID     *int            `json:"id"`
			Result json.RawMessage `json:"result"`
		}
		if json.Unmarshal([]byte(line), &said) != nil || said.ID == nil || *said.ID < 1 || *said.ID > len(questions) {
			return false
		}
		q := questions[*said.ID-1]
		if len(said.Result) > 0 && json.Unmarshal(said.Result, q.answer) != nil {
			return false
		}
		left--
		return left == 0
	}
	return h.Machine.Converse(ctx, h.Machine.ProjectDir, strings.Join(lines, "\n")+"\n", isLast, codex.Path, append([]string{"app-server"}, options...)...)
}
