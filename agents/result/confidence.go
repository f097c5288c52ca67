package result

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// confident matches the line in which an agent says how sure it is.
var confident = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)^[\s*_>#-]*confidence[\s*_]*[:=][\s*_]*([01](?:\.\d+)?|\.\d+)[\s*_.]*$`)
})

// confidenceIn returns the confidence that an answer ends with; nil without one.
func confidenceIn(answer string) *float64 {
	found := confident().FindAllStringSubmatch(answer, -1)
	if len(found) == 0 {
		return nil
	}
	value, err := strconv.ParseFloat(found[len(found)-1][1], 64)
	if err != nil || value < 0 || value > 1 {
		return nil
	}
	return &value
}

// WithoutConfidence returns an answer without the lines that say how sure it is, so that
// equal answers are equal.
func WithoutConfidence(answer string) string {
	return strings.TrimSpace(confident().ReplaceAllString(answer, ""))
}
