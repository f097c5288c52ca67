package config

import (
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// An Unknown is an environment variable that looks like a setting and is none.
type Unknown struct {
	Name string
	Near string // the setting that it may be a misspelling of; empty without one
}

// farthest is how many letters a misspelling may have wrong.
const farthest = 3

// UnknownIn returns the unknown variables of an environment, sorted; others are known
// beside the settings.
func UnknownIn(environ []string, others ...string) (unknown []Unknown) {
	known := slices.Clone(others)
	for _, setting := range list(Settings{}) {
		known = append(known, setting.Name)
	}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(strings.ToUpper(name), "FLAME") || value == "" || slices.Contains(known, name) {
			continue
		}
		found, least := Unknown{Name: name}, farthest+1
		for _, other := range known {
			if d := levenshtein.ComputeDistance(strings.ToUpper(name), other); d < least {
				found.Near, least = other, d
			}
		}
		unknown = append(unknown, found)
	}
	slices.SortFunc(unknown, func(a, b Unknown) int { return strings.Compare(a.Name, b.Name) })
	return unknown
}
