// Package hoststest gives tests the hosts that flame knows.
package hoststest

import (
	"os/exec"
	"slices"

	"flame/hosts"
	"flame/hosts/claudecode"
	"flame/hosts/codex"
	"flame/hosts/gemini"
	"flame/hosts/opencode"
)

// Known returns the hosts that the program knows.
func Known() hosts.Registry {
	none := func() []string { return nil }
	return hosts.Registry{claudecode.Host(), opencode.Host(none), codex.Host(none), gemini.Host(none)}
}

// Reached returns those hosts with the test's clients instead of real ones, by the names of the
// hosts.
func Reached(clients map[string]hosts.Client) hosts.Registry {
	known := Known()
	for i, h := range known {
		if client, given := clients[h.Name]; given {
			known[i].Client = func(hosts.Machine) hosts.Client { return client }
		}
	}
	return known
}

// With returns a machine that has these programs and nothing else.
func With(programs ...string) hosts.Machine {
	return hosts.Machine{
		Getenv: func(string) string { return "" },
		LookPath: func(name string) (string, error) {
			if slices.Contains(programs, name) {
				return "/opt/" + name, nil
			}
			return "", exec.ErrNotFound
		},
	}
}
