package op

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"flame/core"
)

// An AgentAnswer is what the first lines of a tool's answer say about an agent.
// Hosts keep such answers in their logs, from which they are read again.
type AgentAnswer struct {
	ID, Type, Description string
	State                 string // in a word; in answers that were read, a core.AgentState
	Frame                 string
	Depth                 int
	Host, Session         string // empty if the answer does not name it
}

// The format of these lines, for writing and reading. The rest of the first line
// describes the agent's progress.
const (
	answerHead    = `%v (%v) %v: "%v"`
	answerFrame   = "Frame: %v"
	answerPlace   = ", depth %v, in %v"
	answerSession = "\nSession: %v"
)

// Head returns the beginning of the first line.
func (a AgentAnswer) Head() string {
	return fmt.Sprintf(answerHead, a.ID, a.State, a.Type, a.Description)
}

// Place returns the lines after the first.
func (a AgentAnswer) Place() string {
	text := fmt.Sprintf(answerFrame, a.Frame)
	if a.Host != "" {
		text += fmt.Sprintf(answerPlace, a.Depth, a.Host)
	}
	if a.Session != "" {
		text += fmt.Sprintf(answerSession, a.Session)
	}
	return text + "\n"
}

// answerLines match what Head and Place write.
var answerLines = sync.OnceValue(func() *regexp.Regexp {
	pattern := func(format string, values ...any) string { return fmt.Sprintf(regexp.QuoteMeta(format), values...) }
	state := `(` + strings.Join(core.Words(core.AgentStates...), "|") + `)`
	return regexp.MustCompile(`^` + pattern(answerHead, `(agent-[a-z0-9]+)`, state, `(.+?)`, `(.*)`) + `: \d.*\n` +
		pattern(answerFrame, `([a-z]+-[a-z0-9]+)`) +
		`(?:` + pattern(answerPlace, `\d+`, `([a-z-]+)`) + `)?(?:` + pattern(answerSession, `([\w-]+)`) + `\n)?`)
})

// ParseAgentAnswer reads the first lines of an answer; ok is false for a text
// that does not name an agent with its frame. Anyone can have written the text.
func ParseAgentAnswer(text string) (a AgentAnswer, ok bool) {
	found := answerLines().FindStringSubmatch(text)
	if found == nil {
		return a, false
	}
	return AgentAnswer{
		ID: found[1], State: found[2], Type: found[3], Description: found[4], Frame: found[5], Host: found[6], Session: found[7],
	}, true
}
