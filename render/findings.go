package render

import (
	"fmt"
	"strings"

	"flame/core"
)

// Findings returns the findings of doctor, for people.
func Findings(findings []core.Finding) string {
	var b strings.Builder
	for _, f := range findings {
		sign := "ok    "
		switch {
		case f.Broken:
			sign = "BROKEN"
		case f.Todo:
			sign = "todo  "
		case f.Hint != "":
			sign = "note  "
		}
		fmt.Fprintf(&b, "%s %s\n", sign, f.What)
		if f.Hint != "" {
			fmt.Fprintf(&b, "       -> %s\n", strings.ReplaceAll(f.Hint, "\n", "\n          "))
		}
	}
	return b.String()
}
