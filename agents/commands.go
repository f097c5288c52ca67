package agents

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"flame/agents/converge"
	"flame/agents/line"
	"flame/core"
)

// slash matches the name of a command that a host left in its line.
var slash = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*/(?:flame[:_-])?(?:delegate|handoff|converge)\b\s*`)
})

// A spoken is a line after a slash command, with its options read by kind.
type spoken struct {
	line.Line
	err error // the first that could not be read
}

func speak(text string, options ...line.Option) (*spoken, error) {
	l, err := line.Parse(unwrap(slash().ReplaceAllString(text, "")), options)
	return &spoken{Line: l}, err
}

// wrapped matches a line that stands in one pair of quotes, options and all, as
// `opencode run --command` passes it on (ran).
var wrapped = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*"((?:[^"\\]|\\.)*\s--\w(?:[^"\\]|\\.)*)"\s*$`) })

func unwrap(text string) string {
	found := wrapped().FindStringSubmatch(text)
	if found == nil {
		return text
	}
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(found[1])
}

func (s *spoken) number(name string) (n float64) {
	value, given := s.Values[name]
	if !given {
		return 0
	}
	n, err := strconv.ParseFloat(value, 64)
	if (err != nil || !(n >= 0)) && s.err == nil {
		s.err = core.Invalidf("--%s is %q, not a number", name, value).WithHint("give a number from 0 up")
	}
	return n
}

func (s *spoken) seconds(name string) time.Duration {
	return time.Duration(s.number(name) * float64(time.Second))
}

// on is the value of a switch, or what holds without it.
func (s *spoken) on(name string, otherwise bool) bool {
	value, given := s.Values[name]
	if !given {
		return otherwise
	}
	return value == "true"
}

// ParseDelegate reads what follows /delegate: the task, and options (seed 004;
// spec: agents §4). The task may stand in quotes.
func ParseDelegate(text string) (r Request, background bool, err error) {
	s, err := speak(text,
		line.Option{Name: "agent-type"}, line.Option{Name: "inherit-context", Switch: true}, line.Option{Name: "permission-mode"},
		line.Option{Name: "timeout"}, line.Option{Name: "tools"}, line.Option{Name: "model"}, line.Option{Name: "isolation"},
		line.Option{Name: "description"}, line.Option{Name: "background", Switch: true}, line.Option{Name: "cwd"},
		line.Option{Name: "budget-tokens"}, line.Option{Name: "budget-usd"})
	if err != nil {
		return r, false, err
	}
	r = Request{
		Type: s.Values["agent-type"], Prompt: unquote(s.Rest), Description: s.Values["description"], Mode: Mode(s.Values["permission-mode"]),
		Model: s.Values["model"], Isolation: s.Values["isolation"], Cwd: s.Values["cwd"], Bare: !s.on("inherit-context", true),
		Timeout: s.seconds("timeout"), BudgetTokens: int64(s.number("budget-tokens")), BudgetUSD: s.number("budget-usd"),
	}
	if list, given := s.Values["tools"]; given {
		tools := splitNames(list)
		r.Tools = &tools
	}
	if r.Type == "" && s.err == nil {
		s.err = core.Invalidf("--agent-type is missing").WithHint("add --agent-type builder, tester, analyzer, retriever or another definition's name; `flame agents list` shows all")
	}
	return r, s.on("background", true), s.err
}

// unquote takes the quotes off a text that stands in one pair of them.
func unquote(text string) string {
	if n := len(text); n > 1 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] && !strings.ContainsRune(text[1:n-1], rune(text[0])) {
		return text[1 : n-1]
	}
	return text
}

// words parts a list at commas.
func words(list string) []string {
	all := []string{}
	for word := range strings.SplitSeq(list, ",") {
		if word = strings.TrimSpace(word); word != "" {
			all = append(all, word)
		}
	}
	return all
}

// ParseHandoff reads what follows /handoff: a subagent_id, and options.
func ParseHandoff(text string) (h HandoffRequest, err error) {
	s, err := speak(text, line.Option{Name: "transfer-control", Switch: true}, line.Option{Name: "timeout"}, line.Option{Name: "on-failure"})
	if err != nil {
		return h, err
	}
	if len(s.Words) != 1 {
		return h, core.Invalidf("/handoff takes one subagent_id, not %d words", len(s.Words)).WithHint("flame_agent_list shows the agents there are")
	}
	h = HandoffRequest{ID: s.Words[0], Transfer: s.on("transfer-control", false), Timeout: s.seconds("timeout"), OnFailure: OnFailure(s.Values["on-failure"])}
	return h, s.err
}

// ParseConverge reads what follows /converge: two or more subagent_ids, and
// options.
func ParseConverge(text string) (ids []string, o converge.Options, err error) {
	s, err := speak(text,
		line.Option{Name: "strategy"}, line.Option{Name: "conflict-resolution"}, line.Option{Name: "output-format"}, line.Option{Name: "tolerance"})
	if err != nil {
		return nil, o, err
	}
	for _, word := range s.Words {
		ids = append(ids, words(word)...)
	}
	o = converge.Options{
		Strategy: converge.Strategy(s.Values["strategy"]), Resolution: converge.Resolution(s.Values["conflict-resolution"]),
		Format: converge.Format(s.Values["output-format"]), Tolerance: s.number("tolerance"),
	}
	return ids, o, s.err
}
