package notation

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// readVersion reads a version at the start of s: it has a prefix or three parts.
func readVersion(s string) (Value, int, bool) {
	n := 0
	for _, prefix := range []string{"v", "V", "go", "r"} {
		if strings.HasPrefix(s, prefix) && len(s) > len(prefix) && IsDigit(s[len(prefix)]) {
			n = len(prefix)
		}
	}
	from, dots := n, 0
	for n < len(s) && (IsDigit(s[n]) || s[n] == '.' && n+1 < len(s) && (IsDigit(s[n+1]) || s[n+1] == 'x')) {
		if s[n] == '.' {
			dots++
		}
		n++
	}
	if n == from || from == 0 && dots < 2 || dots == 0 && from == 1 && s[0] == 'r' {
		return Value{}, 0, false
	}
	core := s[from:n]
	if strings.HasPrefix(s[n:], "-") || strings.HasPrefix(s[n:], "+") {
		end := n + 1
		for end < len(s) && (IsDigit(s[end]) || unicode.IsLetter(rune(s[end])) || s[end] == '.' && end+1 < len(s) && IsDigit(s[end+1])) {
			end++
		}
		if end > n+1 && unicode.IsLetter(rune(s[n+1])) {
			core += strings.ToLower(s[n:end])
			n = end
		}
	}
	v := versionOf(core)
	return Value{Kind: Version, Text: s[:n], version: [2]string{v, v}}, n, true
}

// versionOf writes a version without its prefix and without zeros at the end.
func versionOf(core string) string {
	core, pre, _ := strings.Cut(core, "-")
	parts := strings.Split(core, ".")
	for i, part := range parts {
		parts[i] = strings.TrimLeft(part, "0")
	}
	for len(parts) > 1 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	if pre != "" {
		pre = "-" + pre
	}
	return strings.Join(parts, ".") + pre
}

// versionKeys are words of a key whose numbers are versions: 1.10 is not 1.1 there.
var versionKeys = StemsOf("version release php python node go java ruby rust since compiler toolchain runtime newest latest have installed " +
	"required minor major tag")

// parseVersion reads a version, or a range of them, that is the whole value.
func parseVersion(text string, key []string) (Value, bool) {
	text, how := cutRough(text)
	versioned := slices.ContainsFunc(key, func(word string) bool { return versionKeys.Has(word) })
	read := func(s string) (string, int, bool) {
		if v, n, ok := readVersion(s); ok {
			return v.version[0], n, true
		}
		n := 0
		for n < len(s) && (IsDigit(s[n]) || s[n] == '.' && n+1 < len(s) && IsDigit(s[n+1])) {
			n++
		}
		return versionOf(s[:n]), n, versioned && n > 0
	}
	from, n, ok := read(text)
	if !ok {
		return Value{}, false
	}
	v := Value{Kind: Version, Text: text, version: [2]string{from, from}, least: how == "least"}
	rest := text[n:]
	for _, sign := range []string{" - ", "-", " to ", " until ", ".."} {
		if end, ok := strings.CutPrefix(rest, sign); ok {
			if to, m, ok := read(end); ok {
				v.version[1], rest = to, end[m:]
				break
			}
		}
	}
	rest = strings.TrimSpace(rest)
	switch {
	case rest == "+" || strings.HasPrefix(rest, "or ") || strings.HasPrefix(rest, "and "):
		v.least = true
	case rest != "" && rest[0] != '(' && rest[0] != ',':
		return Value{}, false
	}
	return v, true
}

// compareVersions orders two versions as versionOf writes them.
func compareVersions(x, y string) int {
	x, preX, _ := strings.Cut(x, "-")
	y, preY, _ := strings.Cut(y, "-")
	xs, ys := strings.Split(x, "."), strings.Split(y, ".")
	for i := range max(len(xs), len(ys)) {
		a, b := 0, 0
		if i < len(xs) {
			a, _ = strconv.Atoi(xs[i])
		}
		if i < len(ys) {
			b, _ = strconv.Atoi(ys[i])
		}
		if a != b {
			return a - b
		}
	}
	switch {
	case preX == preY:
		return 0
	case preX == "":
		return 1
	case preY == "":
		return -1
	}
	return strings.Compare(preX, preY)
}

func (v Value) compareVersion(w Value) Verdict {
	if v.least != w.least {
		if w.least {
			v, w = w, v
		}
		return verdictOf(compareVersions(w.version[1], v.version[0]) >= 0)
	}
	inside := func(a, b Value) bool {
		return compareVersions(a.version[0], b.version[0]) >= 0 && compareVersions(a.version[1], b.version[1]) <= 0
	}
	if inside(v, w) || inside(w, v) {
		return Same
	}
	if compareVersions(v.version[0], w.version[1]) <= 0 && compareVersions(w.version[0], v.version[1]) <= 0 {
		return Unknown
	}
	return Different
}
