package core

import (
	_ "embed"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

//go:embed windows.txt
var publishedWindows string

// A modelSize is the window of all models whose names begin with name.
type modelSize struct {
	name   string
	tokens int
}

// modelSizes returns the lines of windows.txt, in their order.
var modelSizes = sync.OnceValue(func() (list []modelSize) {
	for line := range strings.Lines(publishedWindows) {
		fields := strings.Fields(line)
		if len(fields) != 2 || fields[0] == "#" {
			continue
		}
		if tokens, err := strconv.Atoi(fields[1]); err == nil {
			list = append(list, modelSize{fields[0], tokens})
		}
	}
	return list
})

// LongWindow is the window of a model whose name asks for it with longMark at the end.
const (
	LongWindow = 1_000_000
	longMark   = "[1m]"
)

// ModelWindow returns the size in tokens of a model's context window, and whether it is
// known. The name may have a provider before it, and a date and a version after it.
func ModelWindow(model string) (tokens int, known bool) {
	model = strings.ToLower(model)
	if strings.HasSuffix(model, longMark) {
		return LongWindow, true
	}
	model = ModelName(model)
	for _, w := range modelSizes() {
		rest, ok := strings.CutPrefix(model, w.name)
		if ok && (rest == "" || strings.ContainsAny(rest[:1], "-.:")) {
			return w.tokens, true
		}
	}
	return 0, false
}

// ModelName returns the name of a model without the provider's prefix and without date
// and version.
func ModelName(model string) string {
	model = model[strings.LastIndexByte(model, '/')+1:]
	model = model[len(modelMakers().FindString(model)):]
	for _, mark := range []string{"@", "[", "-20", "-v", "-latest"} {
		model, _, _ = strings.Cut(model, mark)
	}
	return model
}

// modelMakers matches the region and the maker that a cloud puts before the name of a model.
var modelMakers = Pattern(`^([a-z][a-z-]*\.)+`)

// Pattern returns a function that returns a regular expression, which it compiles at its first
// call: most processes of flame need few patterns, and hosts wait for each process to start.
func Pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
