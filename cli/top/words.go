package top

import (
	"fmt"
	"strings"

	"flame/core"
	"flame/render"
)

// amount tells a number in three digits.
func amount(n int64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if x := float64(n) / unit.size; x >= 0.9995 {
			digits := 2
			if x >= 99.95 {
				digits = 0
			} else if x >= 9.995 {
				digits = 1
			}
			return fmt.Sprintf("%.*f%s", digits, x, unit.name)
		}
	}
	return fmt.Sprint(n)
}

// money tells US dollars in few characters; it is empty for none.
func money(usd float64) string {
	switch {
	case usd == 0:
		return ""
	case usd < 0.01:
		return "<$0.01"
	case usd >= 1000:
		return fmt.Sprintf("$%.0f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// tokens tells how many tokens were used; it is empty for none.
func tokens(u core.Usage) string {
	if n := u.Tokens(); n > 0 {
		return amount(n)
	}
	return ""
}

// lasted returns the time between two points, as people read it.
func lasted(from, until core.Millis) string { return render.Duration(int64(max(0, until-from))) }

// status returns a status in words.
func status(s core.Status) string { return strings.ReplaceAll(string(s), "_", " ") }
