package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/samber/lo"

	"flame/config/env"
	"flame/hosts/opencode"
	"flame/hub"
	"flame/tools"
)

// starter is what the package for all systems has in it, apart from the plugin.
//
//go:embed npm
var starter embed.FS

// cpus are Node's names of processors.
var cpus = map[string]string{"amd64": "x64", "arm64": "arm64"}

// part is the name of the npm package with the program of a system.
func (s system) part() string { return env.NPM + "-" + s.os + "-" + cpus[s.arch] }

// A packageJSON describes a package to npm.
type packageJSON struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	Licence     string            `json:"license"`
	Author      string            `json:"author"`
	MCPName     string            `json:"mcpName,omitempty"`
	Type        string            `json:"type,omitempty"`
	Main        string            `json:"main,omitempty"`
	Bin         map[string]string `json:"bin,omitempty"`
	Engines     map[string]string `json:"engines,omitempty"`
	OS          []string          `json:"os,omitempty"`
	CPU         []string          `json:"cpu,omitempty"`
	Parts       map[string]string `json:"optionalDependencies,omitempty"`
}

// npmPart packs the program of the system that was built last for npm.
func (r *releaser) npmPart(s system) {
	content := files(r.root, "flame", hub.Program, "LICENSE", "NOTICES")
	content["README.md"] = fmt.Appendf(nil, "The programs of %s for %s on %s.\n", env.NPM, s.os, cpus[s.arch])
	r.npmPack(packageJSON{
		Name: s.part(), Description: "The program of " + env.NPM + " for one system", OS: []string{s.os}, CPU: []string{cpus[s.arch]},
	}, content, "flame", hub.Program)
}

// npm packs the package that starts the program of the machine's system, and is a plugin for
// OpenCode.
func (r *releaser) npm() {
	content := files(r.source, "LICENSE")
	content["opencode.js"] = opencode.Package(tools.Names, env.NPM)
	for _, name := range []string{"flame.js", "README.md"} {
		raw := lo.Must(starter.ReadFile("npm/" + name))
		content[name] = []byte(strings.ReplaceAll(string(raw), "PACKAGE", env.NPM))
	}
	parts := map[string]string{}
	for _, s := range systems {
		parts[s.part()] = r.version
	}
	r.npmPack(packageJSON{
		Name: env.NPM, Description: env.Summary, MCPName: env.MCPName, Type: "module", Main: "opencode.js",
		Bin: map[string]string{"flame": "flame.js"}, Engines: map[string]string{"node": ">=18"}, Parts: parts,
	}, content, "flame.js")
}

// npmPack writes a package as `npm pack` names it.
func (r *releaser) npmPack(about packageJSON, content map[string][]byte, programs ...string) {
	about.Version, about.Licence, about.Author = r.version, "MIT", env.Maintainer
	content["package.json"] = encode(about)
	folder := filepath.Join(filepath.Dir(r.source), "npm-"+about.Name)
	fill(folder, content, programs...)
	archive(filepath.Join(r.dist, about.Name+"-"+r.version+".tgz"), folder, "package", r.made)
}

// encode returns a document for people to read, too.
func encode(document any) []byte {
	return append(lo.Must(json.MarshalIndent(document, "", "  ")), '\n')
}

// serverSchema is the version of server.json, and bundleVersion that of a bundle's manifest.
const (
	serverSchema  = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
	bundleVersion = "0.3"
)

// bundle packs the program of the system that was built last as a bundle (MCPB), which desktop
// clients install.
func (r *releaser) bundle(s system) {
	folder := filepath.Join(filepath.Dir(r.source), "mcpb-"+s.String())
	manifest := encode(map[string]any{
		"manifest_version": bundleVersion, "name": "flame", "display_name": "Flame", "version": r.version, "license": "MIT",
		"description": env.Summary, "author": map[string]string{"name": "The maintainers of flame"},
		"server": map[string]any{
			"type": "binary", "entry_point": "flame",
			"mcp_config": map[string]any{
				"command": "${__dirname}/flame", "args": []string{"serve"},
				"env": map[string]string{env.ProjectDir: "${user_config.project}"},
			},
		},
		"tools_generated": true, "prompts_generated": true,
		"compatibility": map[string]any{"platforms": []string{s.os}},
		"user_config": map[string]any{"project": map[string]any{
			"type": "directory", "title": "Project", "description": "The folder of the project whose frames this client works with", "required": true,
		}},
	})
	content := files(r.root, "flame", hub.Program, "LICENSE", "NOTICES")
	content["manifest.json"] = manifest
	fill(folder, content, "flame", hub.Program)
	zipped(filepath.Join(r.dist, fmt.Sprintf("flame_%s_%s.mcpb", r.version, s)), folder, r.made)
}

// describe writes server.json, with which the registry of MCP servers lists flame.
func (r *releaser) describe() {
	document := encode(map[string]any{
		"$schema": serverSchema, "name": env.MCPName, "title": "Flame", "description": env.Summary, "version": r.version,
		"packages": []any{map[string]any{
			"registryType": "npm", "identifier": env.NPM, "version": r.version, "transport": map[string]string{"type": "stdio"},
			"packageArguments": []any{map[string]string{"type": "positional", "value": "serve"}},
		}},
	})
	write(filepath.Join(r.dist, "server.json"), document)
}
