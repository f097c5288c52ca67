package board

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/samber/lo"

	"flame/core"
)

// A Filter says which frames a person wants to see: words to search for, and terms such as
// status:failed. docs/web.md lists the terms. The field of the page takes the same ones
// (web/page/filter.js).
type Filter struct {
	Words string // to search for; empty: none
	terms []term
}

// A term reports whether it wants a frame, at a time.
type term func(r *Row, now core.Millis) bool

// Wants reports whether a frame matches all terms. It does not look for words.
func (f Filter) Wants(r *Row, now core.Millis) bool {
	return lo.EveryBy(f.terms, func(wants term) bool { return wants(r, now) })
}

// filterParts matches the parts of a filter: a term with its sign, key and values, or a word.
var filterParts = core.Pattern(`(-?)(\p{L}+):((?:"[^"]*"?|[^\s"])*)|-?(?:"[^"]*"?|[^\s"])+`)

// termValues matches the values of a term, between the commas outside of quotes.
var termValues = core.Pattern(`(?:"[^"]*"?|[^,"])+`)

// ParseFilter parses a filter. Its dates are in a time zone. Errors name the term that is wrong.
// A term without a value wants all frames.
func ParseFilter(text string, zone *time.Location) (Filter, error) {
	var f Filter
	var words []string
	for _, part := range filterParts().FindAllStringSubmatch(text, -1) {
		whole, not, key, values := part[0], part[1] != "", strings.ToLower(part[2]), part[3]
		if key == "" || strings.HasPrefix(values, "//") { // an address is a word
			words = append(words, unquoted(whole))
			continue
		}
		var wanted []term
		for _, value := range termValues().FindAllString(values, -1) {
			wants, err := termOf(key, unquoted(value), zone)
			if err != nil {
				return Filter{}, err
			}
			wanted = append(wanted, wants)
		}
		if len(wanted) > 0 {
			f.terms = append(f.terms, func(r *Row, now core.Millis) bool {
				return slices.ContainsFunc(wanted, func(wants term) bool { return wants(r, now) }) != not
			})
		}
	}
	f.Words = strings.TrimSpace(strings.Join(words, " "))
	return f, nil
}

func unquoted(text string) string { return strings.ReplaceAll(text, `"`, "") }

// termOf returns the term of a key and one of its values.
func termOf(key, value string, zone *time.Location) (term, error) {
	named := func(name func(r *Row) string) (term, error) {
		return func(r *Row, _ core.Millis) bool { return name(r) == value }, nil
	}
	switch key {
	case "status":
		if !core.Status(value).Valid() {
			return nil, core.Invalidf("there is no status %q", value).WithHint("one of %s", strings.Join(core.Words(core.Statuses...), ", "))
		}
		return named(func(r *Row) string { return string(r.Status) })
	case "agent":
		return named(func(r *Row) string { return r.Agent })
	case "host":
		return named(func(r *Row) string { return r.Host })
	case "machine":
		return named(func(r *Row) string { return r.Machine })
	case "since":
		return sinceTerm(value, zone)
	case "cost":
		return boundTerm(value, "cost:>0.50", func(u core.Usage) float64 { return u.CostUSD })
	case "tokens":
		return boundTerm(value, "tokens:>10k", func(u core.Usage) float64 { return float64(u.Tokens()) })
	}
	return nil, core.Invalidf("there is no term %q", key+":").
		WithHint("use status, agent, host, machine, since, cost or tokens; quotes search for the text itself")
}

var filterSpans = core.Pattern(`^(\d{1,6})([mhdw])$`)

// sinceTerm wants frames that are in progress, or ended since a date or a span before now.
func sinceTerm(value string, zone *time.Location) (term, error) {
	units := map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}
	var span, start core.Millis
	if m := filterSpans().FindStringSubmatch(value); m != nil {
		n, _ := strconv.ParseInt(m[1], 10, 64)
		span = core.Millis(n * units[m[2]].Milliseconds())
	} else if at, err := time.ParseInLocation(time.DateOnly, value, zone); err == nil {
		start = core.MillisOf(at)
	} else {
		return nil, core.Invalidf("%q is no time", value).WithHint("write since:15m, since:2h, since:7d or since:2026-01-31")
	}
	return func(r *Row, now core.Millis) bool {
		from := start
		if span > 0 {
			from = now - span
		}
		return r.Until == 0 || r.Until >= from
	}, nil
}

var filterBounds = core.Pattern(`^([<>])\$?(\d+(?:\.\d+)?)([kmgKMG]?)$`)

// boundTerm wants frames whose usage, with all frames below them, is above or below a number.
func boundTerm(value, example string, of func(u core.Usage) float64) (term, error) {
	m := filterBounds().FindStringSubmatch(value)
	if m == nil {
		return nil, core.Invalidf("%q is no bound", value).WithHint("write %s", example)
	}
	sizes := map[string]float64{"": 1, "k": 1e3, "m": 1e6, "g": 1e9}
	n, _ := strconv.ParseFloat(m[2], 64)
	bound := n * sizes[strings.ToLower(m[3])]
	if m[1] == ">" {
		return func(r *Row, _ core.Millis) bool { return of(r.Total) > bound }, nil
	}
	return func(r *Row, _ core.Millis) bool { return of(r.Total) < bound }, nil
}
