// Package tests looks at the whole program from outside.
package tests

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// layers says which of flame's packages each may import; test files are free.
// A package that is missing here fails: changing the picture is a visible act.
var layers = map[string][]string{
	"core":                 {},
	"core/closing":         {"core"},
	"core/compaction":      {"core"},
	"core/fold":            {"core"},
	"core/judge":           {"core"},
	"core/learn":           {"core"},
	"core/merge":           {"core"},
	"core/models":          {},
	"core/op":              {},
	"core/outcome":         {"core"},
	"core/outline":         {"core"},
	"config":               {},
	"whole":                {"core"},
	"config/env":           {},
	"confine":              {},
	"git":                  {"core"},
	"notify":               {"core", "hosts", "project/place"},
	"project":              {"core"},
	"project/autonomy":     {"core", "project", "project/learned"},
	"project/learned":      {"core", "project"},
	"project/shared":       {"core", "project", "project/files"},
	"hub":                  {"core", "project", "project/place", "store/disk", "whole"},
	"hub/queue":            {"core", "hub"},
	"hub/server":           {"core", "hub", "project/place", "store/disk", "whole"},
	"project/files":        {"core", "project"},
	"project/usage":        {"core", "project", "project/autonomy", "project/files"},
	"project/stack":        {"core", "project", "whole", "project/autonomy", "project/files", "project/usage"},
	"project/view":         {"core", "project", "project/conversation", "project/files", "project/usage"},
	"project/briefing":     {"core", "project", "project/autonomy", "project/stack"},
	"project/conversation": {"core", "project"},
	"project/children": {
		"core", "project", "project/autonomy", "project/briefing", "project/conversation", "project/learned", "project/stack", "project/usage",
	},
	"project/sweep": {"core", "project", "project/autonomy", "project/children", "project/files", "project/stack", "project/usage"},
	"project/turns": {
		"core", "core/judge", "project", "project/autonomy", "project/briefing", "project/children", "project/conversation", "project/stack", "project/sweep",
		"project/usage",
	},
	"project/place":       {"core"},
	"project/projecttest": {"core", "project", "store", "store/storetest", "hosts/hoststest"},
	"project/transfer":    {"core", "project", "whole", "project/conversation", "project/usage", "project/view"},
	"store":               {"core", "project", "project/place", "store/disk", "store/form", "store/health", "store/schema", "store/trouble"},
	"store/disk":          {"project/place"},
	"store/form":          {"core"},
	"store/health":        {"core", "store/disk", "store/schema", "store/trouble"},
	"store/schema":        {"store/disk"},
	"store/storetest":     {"core", "project", "tests/effort"},
	"store/trouble":       {"core", "project/place", "store/disk", "store/schema"},
	"transcripts":         {"core"},
	"agents/converge/claims": {
		"agents/converge/notation",
	},
	"agents/converge/notation": {
		// it stands alone
	},
	"agents": {
		"core", "confine", "git", "project", "transcripts", "hosts", "agents/changes", "agents/definition", "agents/permission", "agents/plan",
		"agents/record", "agents/supervise", "agents/away", "agents/carry", "whole", "agents/converge", "agents/graph", "agents/handoff",
		"agents/result", "agents/convergence", "agents/abroad",
	},
	"agents/abroad": {"core", "core/merge", "project", "agents/away", "agents/record"},
	"agents/away": {
		"core", "hosts", "agents/carry", "agents/changes", "agents/definition", "agents/permission", "agents/record", "agents/supervise",
	},
	"agents/carry":       {"core", "git", "agents/changes"},
	"agents/changes":     {"core", "confine", "git", "hosts", "transcripts"},
	"agents/definition":  {"core", "confine", "hosts"},
	"agents/handoff":     {"core", "project", "agents/record", "agents/supervise"},
	"agents/permission":  {"core", "project", "hosts", "agents/definition"},
	"agents/plan":        {"core", "confine", "project", "hosts", "agents/changes", "agents/definition", "agents/permission", "agents/record", "agents/supervise"},
	"agents/record":      {"core", "project", "hosts", "agents/carry", "agents/changes", "agents/definition", "agents/permission", "agents/supervise"},
	"agents/result":      {"core", "project", "transcripts", "hosts", "agents/changes", "agents/handoff", "agents/record", "agents/supervise"},
	"agents/supervise":   {"core"},
	"agents/converge":    {"core", "agents/converge/claims", "agents/converge/notation"},
	"agents/convergence": {"core", "project", "hosts", "transcripts", "agents/converge", "agents/record", "agents/result", "agents/supervise"},
	"agents/line":        {"core"},
	"agents/glance":      {"core", "project", "agents/convergence", "agents/record", "agents/supervise"},
	"agents/graph":       {"core"},
	"agents/trail":       {"core", "project/transfer", "transcripts", "agents/graph"},
	"hosts":              {"core", "confine", "project", "transcripts"},
	"hosts/claudecode":   {"core", "confine", "project", "hosts", "transcripts"},
	"hosts/opencode":     {"core", "confine", "project", "hosts", "transcripts"},
	"hosts/hoststest":    {"hosts", "hosts/claudecode", "hosts/opencode"},
	"gateway":            {"core", "project", "project/conversation", "hosts", "guard", "gateway/messages", "gateway/upstream"},
	"worker": {
		"core", "git", "project", "hosts", "hub", "hub/queue", "agents", "agents/away", "agents/carry", "agents/changes", "agents/record", "agents/supervise",
	},
	"gateway/upstream": {},
	"gateway/front":    {},
	"gateway/messages": {"core", "hosts"},
	"intake/inbox":     {"core", "project/place", "store/disk"},
	"intake":           {"core", "hosts", "intake/inbox", "project"},
	"render": {
		"agents/abroad", "core", "project", "agents", "agents/changes", "agents/permission", "agents/record", "agents/supervise", "agents/converge",
		"agents/definition", "hosts", "agents/result", "agents/convergence", "agents/glance",
	},
	"board":      {"core", "project", "agents/abroad", "agents/convergence", "agents/converge", "agents/record"},
	"board/feed": {"board", "core", "agents", "render"},
	"web": {
		"board", "board/feed", "core", "guard", "project", "agents", "agents/converge", "render", "whole",
	},
	"tools": {
		"core", "project", "agents", "hosts", "render", "tools/transport", "agents/definition", "agents/permission", "agents/plan", "agents/record",
		"agents/supervise", "agents/converge", "agents/line", "project/transfer", "agents/handoff", "agents/result",
	},
	"cli": {
		"intake", "board/feed",
		"cli/agentcmd", "cli/app", "cli/demo", "cli/doctor", "cli/flags", "cli/gatewaycmd", "cli/hubcmd", "cli/printer", "cli/top",
		"gateway/front", "core", "config", "project", "project/place", "transcripts",
		"agents", "agents/glance", "agents/supervise", "agents/trail", "hosts", "render", "tools", "tools/transport", "guard", "project/transfer",
		"web", "whole", "notify",
	},
	"cli/agentcmd": {
		"agents/abroad", "cli/app", "cli/flags", "core", "project", "agents", "agents/converge", "agents/convergence", "agents/definition", "agents/graph",
		"agents/handoff", "agents/permission", "agents/plan", "agents/record", "agents/result", "agents/supervise", "hosts", "render",
	},
	"cli/app": {
		"intake/inbox", "intake", "tools",
		"cli/doctor", "cli/flags", "cli/printer", "core", "config", "project", "project/place", "agents", "agents/definition", "hosts", "render",
	},
	"cli/gatewaycmd": {"cli/app", "cli/flags", "core", "gateway", "gateway/front", "hosts", "project", "project/place"},
	"cli/hubcmd": {
		"cli/app", "cli/flags", "core", "hub", "hub/server", "project", "project/place", "project/shared", "project/sweep", "render",
		"agents", "agents/plan", "hosts", "worker",
	},
	"cli/client":      {},
	"cli/demo":        {"cli/client"},
	"cli/doctor":      {"notify", "intake/inbox", "cli/client", "core", "config", "project", "project/place", "agents", "agents/definition", "hosts", "render"},
	"cli/flags":       {"core"},
	"cli/printer":     {"core", "project", "agents/glance", "render"},
	"cli/top":         {"agents", "board", "board/feed", "cli/printer", "core", "project", "render"},
	"guard":           {},
	"tools/transport": {"core", "guard"},
	"": {
		"core", "config", "git", "project", "project/place", "store", "store/disk", "store/schema", "transcripts", "agents",
		"agents/abroad", "agents/definition", "agents/plan", "agents/record", "agents/supervise", "gateway", "gateway/front", "hosts", "hosts/claudecode",
		"hosts/opencode", "hub", "notify", "tools", "cli", "cli/app", "worker",
	},
}

// coreParts are parts of core: who may import core may import them too.
var coreParts = []string{
	"core/closing", "core/compaction", "core/fold", "core/judge", "core/learn", "core/merge", "core/models", "core/outcome", "core/outline",
}

// chapters are the operations of a project: who may import that may import them too.
var chapters = []string{
	"project/autonomy", "project/briefing", "project/children", "project/files", "project/learned", "project/shared",
	"project/stack", "project/sweep", "project/turns", "project/usage", "project/view",
}

func TestImportsPointInward(t *testing.T) {
	found := imports(t)
	for pkg, imported := range found {
		allowed, known := layers[pkg]
		if !known {
			if !strings.HasPrefix(pkg, "tests") {
				assert.Failf(t, "unknown package", "package %q is missing from the map of layers", pkg)
			}
			continue
		}
		for _, other := range imported {
			if other == "core/op" || other == "config/env" {
				continue // names alone, for the texts of every package
			}
			if slices.Contains(coreParts, other) {
				other = "core"
			}
			if slices.Contains(chapters, other) && (!strings.HasPrefix(pkg, "project/") || pkg == "project/projecttest") && slices.Contains(allowed, "project") {
				continue
			}
			assert.Contains(t, allowed, other, "package %q imports %q", pkg, other)
		}
	}
	for pkg := range layers {
		assert.Contains(t, found, pkg, "the map of layers names a package that is not there")
	}
}

// imports returns each package of the repository, by folder, with those of flame
// that its non-test files import.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	found := map[string][]string{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "third_party") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		pkg, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg = strings.TrimPrefix(filepath.ToSlash(pkg), ".")
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		if _, ok := found[pkg]; !ok {
			found[pkg] = nil
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if own, ok := strings.CutPrefix(imported, "flame/"); ok {
				found[pkg] = append(found[pkg], own)
			}
		}
		return nil
	})
	require.NoError(t, err)
	return found
}
