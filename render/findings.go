package render

import (
	"fmt"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// Verdict says in a line whether all is well, or how much there is to do.
func Verdict(findings []core.Finding) string {
	todo := lo.CountBy(findings, func(f core.Finding) bool { return f.Broken || f.Todo })
	if todo == 0 {
		return "all well\n"
	}
	return Count(todo, "thing") + " to do\n"
}

// Findings returns the findings of doctor, for people, with all details or without.
func Findings(findings []core.Finding, details bool) string {
	var b strings.Builder
	for _, f := range findings {
		sign := "ok    "
		switch {
		case f.Detail && !details:
			continue
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
