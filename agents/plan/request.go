package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"flame/agents/definition"
	"flame/core"
	"flame/hosts"
	"flame/project/briefing"
)

// A Request asks for an agent.
type Request struct {
	Type         string          // name of a definition
	Inline       json.RawMessage // a definition in the call itself, instead
	Prompt       string          // the task
	Description  string          // it in a few words
	Mode         hosts.Mode      // empty: as definition and parent say
	Tools        *[]string
	Model        string
	Timeout      time.Duration // 0: as the definition says, or the settings
	Unlimited    bool          // no limit on its time, whatever those say
	Frame        string        // that its own goes below; empty: the caller's current one
	Cwd          string
	Isolation    definition.Isolation // empty: as the definition says
	On           string               // queue of workers on other machines; empty: this machine
	Retries      int                  // how often another worker may begin it anew when one is lost; with On
	Uncommitted  bool                 // what is not committed goes along; with On
	Bare         bool                 // without the context of its frame
	Key          string               // the same one again gives the agent that is there
	BudgetTokens int64
	BudgetUSD    float64
	Call         string // the host's id of the tool call that asks; empty where it tells none

	session string // of the host, that it goes on in; empty for a new one
}

// ValidQueue reports whether a queue of workers may have a name.
func ValidQueue(name string) bool {
	return name != "" && len(name) <= 63 && !strings.ContainsFunc(name, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_')
	})
}

// MaxRetries bounds how often a lost agent may be begun anew.
const MaxRetries = 10

// checkElsewhere returns the advice for what cannot be asked of another machine, or of
// this one.
func (r Request) checkElsewhere() error {
	switch {
	case r.On == "" && (r.Retries != 0 || r.Uncommitted):
		return core.Invalidf("retries and uncommitted are about agents on other machines").WithHint("name the queue of a worker with on")
	case r.On == "":
		return nil
	case !ValidQueue(r.On):
		return core.Invalidf("there is no queue %q", core.OneLine(r.On, 80)).
			WithHint("a queue is named with letters, digits, - and _, as `flame worker --queue` names it")
	case r.Isolation == definition.NoIsolation:
		return core.Invalidf("an agent on another machine always has a worktree of its own").WithHint("leave isolation out")
	case r.Retries < 0 || r.Retries > MaxRetries:
		return core.Invalidf("an agent cannot be begun anew %d times", r.Retries).WithHint("0 to %d", MaxRetries)
	}
	return nil
}

// attempt returns what the agent is to attempt.
func (r Request) attempt() briefing.Attempt {
	return briefing.Attempt{Task: likeness(r.Prompt), Name: likeness(r.Description)}
}

// likeness returns the same for texts that differ only in case, blanks and numbers, as
// "attempt 1" and "attempt 2" do; it is empty for an empty one.
func likeness(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsDigit(r) })
	if len(words) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(words, " ")))
	return hex.EncodeToString(sum[:])
}

// maxPrompt bounds a task, in bytes.
const maxPrompt = 200_000

// check refuses what cannot be right, whatever the tree is like.
func (r Request) check() error {
	switch {
	case strings.TrimSpace(r.Prompt) == "":
		return core.Invalidf("prompt is missing").WithHint("say what the agent is to do, and all that it must know: it does not see this conversation")
	case len(r.Prompt) > maxPrompt:
		return core.Invalidf("the prompt has %d bytes; at most %d are taken", len(r.Prompt), maxPrompt).WithHint("put what is long into a file and name that")
	case r.Type == "" && len(r.Inline) == 0:
		return core.Invalidf("subagent_type is missing").
			WithHint("name the kind of agent, for example builder, tester, analyzer or retriever; `flame agents list` shows all")
	case r.Timeout < 0 || r.BudgetTokens < 0 || r.BudgetUSD < 0:
		return core.Invalidf("timeout and budgets cannot be negative").WithHint("leave them out for the defaults")
	}
	if err := r.checkElsewhere(); err != nil {
		return err
	}
	if r.Isolation != "" {
		if err := core.OneOf("isolation", r.Isolation); err != nil {
			return err
		}
	}
	if strings.HasPrefix(r.Model, "-") {
		return core.Invalidf("there is no model %q", r.Model).WithHint("name it as the host does")
	}
	if r.Tools != nil {
		if len(*r.Tools) > definition.MaxTools {
			return core.Invalidf("%d tools are named; at most %d are taken", len(*r.Tools), definition.MaxTools).
				WithHint("name those that the task needs, or leave tools out")
		}
		for _, tool := range *r.Tools {
			if !hosts.ValidTool(tool) {
				return core.Invalidf("there is no tool %q", tool).WithHint("give names of tools, such as Read, or with a rule, such as Bash(go test *)")
			}
		}
	}
	if r.Mode != "" {
		if _, err := hosts.ParseMode(string(r.Mode)); err != nil {
			return err
		}
	}
	return nil
}
