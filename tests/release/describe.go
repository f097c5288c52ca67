package main

import (
	"fmt"
	"path/filepath"

	"flame/config/env"
	"flame/hub"
)

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
