// Package models has what is known of models by their names.
package models

import (
	_ "embed"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

//go:embed windows.txt
var published string

// A size is what models take whose names begin so.
type size struct {
	name   string
	tokens int
}

// sizes are those of windows.txt, in its order.
var sizes = sync.OnceValue(func() (list []size) {
	for line := range strings.Lines(published) {
		fields := strings.Fields(line)
		if len(fields) != 2 || fields[0] == "#" {
			continue
		}
		if tokens, err := strconv.Atoi(fields[1]); err == nil {
			list = append(list, size{fields[0], tokens})
		}
	}
	return list
})

// LongWindow is the window of a model that is asked for with it, as by a name that ends with
// longMark.
const (
	LongWindow = 1_000_000
	longMark   = "[1m]"
)

// Window returns the size in tokens of a model's context window, and whether it is
// known. The name may have a provider before it, and a date and a version after it.
func Window(model string) (tokens int, known bool) {
	model = strings.ToLower(model)
	if strings.HasSuffix(model, longMark) {
		return LongWindow, true
	}
	model = Name(model)
	for _, w := range sizes() {
		rest, ok := strings.CutPrefix(model, w.name)
		if ok && (rest == "" || strings.ContainsAny(rest[:1], "-.:")) {
			return w.tokens, true
		}
	}
	return 0, false
}

// Name returns the name of a model without the provider's prefix and without date
// and version.
func Name(model string) string {
	model = model[strings.LastIndexByte(model, '/')+1:]
	model = model[len(makers().FindString(model)):]
	for _, mark := range []string{"@", "[", "-20", "-v", "-latest"} {
		model, _, _ = strings.Cut(model, mark)
	}
	return model
}

// makers matches the region and the maker that a cloud puts before the name of a model.
var makers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([a-z]+\.)+`) })
