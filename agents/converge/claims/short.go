package claims

import (
	"slices"
	"strings"
	"unicode"

	"flame/agents/converge/notation"
)

// A keyed is a key with its value, as a line or a part of one has them.
type keyed struct{ key, value string }

// plainly reports whether a value is of a kind that no words could be mistaken for.
func plainly(v notation.Value) bool {
	return v.Kind == notation.Nothing || v.Kind >= notation.Truth && v.Kind < notation.File
}

// dashed splits "key - value" and "key -> value", where the value is no words.
func dashed(line string) (keyed, bool) {
	line = strings.NewReplacer("**", "", "__", "", "`", "").Replace(line)
	for _, sign := range []string{" -> ", " - ", " = "} {
		key, value, ok := strings.Cut(line, sign)
		if !ok || strings.Contains(value, sign) {
			continue
		}
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		return keyed{key, value}, plainKey(key) && len(strings.Fields(key)) <= 4 && plainly(notation.Parse(value, nil)) && !numeric(key)
	}
	return keyed{}, false
}

// measured splits "key 81.2 %": a name and a quantity with a unit.
func measured(line string) (keyed, bool) {
	at := strings.IndexFunc(line, unicode.IsDigit)
	if at < 2 || line[at-1] != ' ' {
		return keyed{}, false
	}
	key, value := strings.Trim(strings.TrimSpace(line[:at]), "`*"), strings.TrimSpace(line[at:])
	fields := strings.Fields(key)
	if len(fields) == 0 || len(fields) > 2 || !plainKey(key) || labels.Has(strings.ToLower(key)) || notation.Fillers.Has(strings.ToLower(fields[len(fields)-1])) ||
		notation.Roughly()[strings.ToLower(fields[len(fields)-1])] != "" || len(strings.Fields(value)) > 2 || slices.ContainsFunc(fields, func(f string) bool {
		return verbs.Has(strings.ToLower(f))
	}) {
		return keyed{}, false
	}
	v := notation.Parse(value, nil)
	return keyed{key, value}, v.Kind == notation.Number && v.Quantity.Dimension != ""
}

// noted splits "name (value)" where the value is a number.
func noted(part string) (keyed, bool) {
	key, value, ok := strings.Cut(strings.TrimSuffix(part, ")"), " (")
	if !ok || !strings.HasSuffix(part, ")") || len(strings.Fields(key)) > 2 || !plainKey(key) {
		return keyed{}, false
	}
	return keyed{strings.Trim(key, "`*"), value}, notation.Parse(value, nil).Kind == notation.Number
}

// stated splits "X is VALUE".
func stated(part string) (keyed, bool) {
	key, value, ok := strings.Cut(part, " is ")
	key = strings.Trim(strings.TrimPrefix(strings.TrimPrefix(key, "the "), "The "), "`* ")
	return keyed{key, value}, ok && plainKey(key) && len(strings.Fields(key)) <= 3 && plainly(notation.Parse(value, nil))
}

// several splits a line that has several keys with their values, one after the other.
func several(line string) (list []keyed) {
	line = strings.TrimRight(line, ". ")
	for _, sign := range []string{"; ", ", "} {
		parts := strings.Split(strings.ReplaceAll(line, " and `", sign+"`"), sign)
		list = nil
		for _, part := range parts {
			one, ok := pairIn(strings.TrimPrefix(strings.TrimSpace(part), "and "))
			if !ok || strings.Contains(one.value, ": ") {
				break
			}
			list = append(list, one)
		}
		if len(list) == len(parts) && len(list) > 1 {
			return list
		}
	}
	return nil
}

// pairIn splits a part of a line into a key and its value.
func pairIn(part string) (keyed, bool) {
	if key, value, ok := keyValue(part); ok && len(strings.Fields(key)) <= 4 && len(strings.Fields(value)) <= 4 {
		return keyed{key, value}, true
	}
	for _, split := range []func(string) (keyed, bool){noted, stated, measured} {
		if one, ok := split(part); ok {
			return one, true
		}
	}
	return keyed{}, false
}

// pairsIn returns the keys with their values that a line consists of; none if it is
// something else.
func pairsIn(line string) []keyed {
	if list := several(line); list != nil {
		return list
	}
	for _, split := range []func(string) (keyed, bool){dashed, measured, moved} {
		if one, ok := split(line); ok {
			return []keyed{one}
		}
	}
	return nil
}

// arrived returns what a value has become: the end of "100 -> 200".
func arrived(value string) string {
	at := strings.LastIndex(value, " -> ")
	if at < 0 {
		return value
	}
	from, to := notation.Parse(value[:at], nil), notation.Parse(value[at+4:], nil)
	if from.Kind == to.Kind && plainly(to) || from.Kind == notation.Nothing {
		return value[at+4:]
	}
	return value
}

// moved reads "X changed from A to B".
func moved(s string) (keyed, bool) {
	before, after, ok := strings.Cut(s, " from ")
	_, to, isTo := strings.Cut(after, " to ")
	fields := strings.Fields(before)
	if !ok || !isTo || len(fields) < 2 || len(fields) > 6 {
		return keyed{}, false
	}
	if !movers.Has(strings.ToLower(fields[len(fields)-1])) {
		return keyed{}, false
	}
	fields = slices.DeleteFunc(fields[:len(fields)-1], func(word string) bool { return notation.Fillers.Has(strings.ToLower(word)) })
	key := strings.Trim(strings.Join(fields, " "), "`")
	return keyed{key, to}, plainKey(key) && plainly(notation.Parse(to, nil))
}

// movers stand before what something was and what it became.
var movers = notation.SetOf("changed raised lowered reduced increased decreased went moved bumped grew shrank cut set doubled dropped fell rose")
