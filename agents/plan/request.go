package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/samber/lo"

	"flame/agents/definition"
	"flame/agents/record"
	"flame/config/env"
	"flame/core"
	"flame/core/op"
	"flame/hosts"
	"flame/local/safefile"
)

// A Request asks for an agent.
type Request struct {
	Type         string          // name of a definition
	Inline       json.RawMessage // a definition in the call itself, instead of Type
	Prompt       string          // the task
	Description  string          // the task in a few words
	Mode         hosts.Mode      // empty: the mode of definition and parent
	Tools        *[]string
	Model        string
	Timeout      time.Duration // 0: from the definition or the settings
	Unlimited    bool          // no time limit, whatever those say
	Frame        string        // parent of its frame; empty: the caller's current frame
	Cwd          string
	Isolation    definition.Isolation // empty: from the definition
	On           string               // queue of workers on other machines; empty: this machine
	Retries      int                  // how often another worker may restart it if its worker is lost; with On
	Bare         bool                 // without the context of its frame
	Key          string               // a second call with the same key returns the first agent
	BudgetTokens int64
	BudgetUSD    float64
	Call         string // the host's id of the tool call; empty if unknown

	session string // session of the host in which it continues; empty for a new session
}

// ValidQueue reports whether a name is valid for a queue of workers.
func ValidQueue(name string) bool { return queues().MatchString(name) }

var queues = core.Pattern(`^[A-Za-z0-9_-]{1,63}\z`)

// MaxRetries is how often other workers may restart a lost agent at most.
const MaxRetries = 10

// checkElsewhere refuses options that do not fit the place where the agent runs.
func (r Request) checkElsewhere() error {
	switch {
	case r.On == "" && r.Retries != 0:
		return core.Invalidf("retries are only for agents on other machines").WithHint("name the queue of a worker with on")
	case r.On == "":
		return nil
	case !ValidQueue(r.On):
		return core.Invalidf("there is no queue %q", core.OneLine(r.On, 80)).
			WithHint("a queue is named with letters, digits, - and _, as `flame worker --queue` names it")
	case r.Isolation == definition.NoIsolation:
		return core.Invalidf("an agent on another machine always has its own worktree").WithHint("leave isolation out")
	case r.Retries < 0 || r.Retries > MaxRetries:
		return core.Invalidf("an agent cannot be restarted %d times", r.Retries).WithHint("0 to %d", MaxRetries)
	}
	return nil
}

// likeness returns the same text for texts that differ only in case, blanks and numbers, such
// as "attempt 1" and "attempt 2"; it is empty for an empty text.
func likeness(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsDigit(r) })
	if len(words) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(words, " ")))
	return hex.EncodeToString(sum[:])
}

// maxPrompt is the size limit of a task, in bytes.
const maxPrompt = 200_000

// check refuses a request that no tree could allow.
func (r Request) check() error {
	switch {
	case strings.TrimSpace(r.Prompt) == "":
		return core.Invalidf("prompt is missing").WithHint("say what the agent is to do, and all that it must know: it does not see this conversation")
	case len(r.Prompt) > maxPrompt:
		return core.Invalidf("the prompt has %d bytes; the limit is %d", len(r.Prompt), maxPrompt).WithHint("put long parts into a file and name the file")
	case r.Type == "" && len(r.Inline) == 0:
		return core.Invalidf("subagent_type is missing").
			WithHint("name the kind of agent, for example builder, tester, analyzer or retriever; `flame agents show` shows all")
	case r.Timeout < 0 || r.BudgetTokens < 0 || r.BudgetUSD < 0:
		return core.Invalidf("timeout and budgets cannot be negative").WithHint("leave them out for the defaults")
	}
	if err := r.checkElsewhere(); err != nil {
		return err
	}
	if r.Isolation != "" {
		if err := core.CheckEnum("isolation", r.Isolation); err != nil {
			return err
		}
	}
	if strings.HasPrefix(r.Model, "-") {
		return core.Invalidf("there is no model %q", r.Model).WithHint("name it as the host does")
	}
	if r.Tools != nil {
		if len(*r.Tools) > definition.MaxTools {
			return core.Invalidf("%d tools are named; the limit is %d", len(*r.Tools), definition.MaxTools).
				WithHint("name the tools that the task needs, or leave tools out")
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

func (pl Planner) host(def definition.Definition, callers string) (hosts.Host, error) {
	order := []string{def.Host, pl.Host, callers}
	if def.FromRepo() { // FLAME_AGENT_HOST takes precedence over a shipped definition
		order[0], order[1] = pl.Host, def.Host
	}
	for _, name := range order {
		if host, known := pl.Hosts.Find(name); known {
			return host, nil
		}
		if name != "" && name != callers {
			return hosts.Host{}, core.Invalidf("agents cannot run in %q", name).
				WithHint("set host in the definition, or "+env.AgentHost+", to %s", strings.Join(pl.Hosts.Names(), " or "))
		}
	}
	if host, found := lo.Find(pl.Hosts, func(h hosts.Host) bool { return h.Installed(pl.Machine) }); found {
		return host, nil
	}
	return hosts.Host{}, core.NotFoundf("no host is installed that an agent could run in").WithHint("%s", pl.Hosts.HowToInstall())
}

// DefinitionOf returns the current definition of an agent, for the agent's host. It refuses
// another definition of the same name, and a definition that has changed since a person
// granted the agent its mode.
func (pl Planner) DefinitionOf(run record.Agent, told record.Assignment) (definition.Definition, error) {
	if told.Definition != nil {
		return told.Definition.TranslateFor(pl.Hosts, run.Host), nil
	}
	if run.Source.Kind == definition.Call {
		def := definition.Definition{Name: run.Type, Source: run.Source}
		if len(told.Inline) > 0 {
			var err error
			if def, err = definition.Inline(pl.Hosts, told.Inline); err != nil {
				return def, err
			}
		}
		return def.TranslateFor(pl.Hosts, run.Host), nil
	}
	def, err := pl.Catalog(run.Checkout).Find(run.Type)
	switch {
	case err != nil:
		return def, err
	case def.Source != run.Source:
		return def, core.Invalidf("%s was started from %s, which %s has replaced", run.ID, run.Source, def.Source).
			WithHint("start another agent with %s", op.Spawn)
	case run.Mode.Grant != "" && def.Digest() != run.Digest:
		return def, core.Invalidf("the definition %s of %s has changed since it was granted the mode %s", def.Source, run.ID, run.Mode.Effective).
			WithHint("grant it again, and start another agent")
	}
	return def.TranslateFor(pl.Hosts, run.Host), nil
}

// workIn returns the working folder of an agent: the project's folder or one inside of it.
// Settings of other folders could allow more than the project's settings.
func (pl Planner) workIn(dir string) (string, error) {
	if dir == "" {
		return pl.Dir, nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(pl.Dir, dir)
	}
	root, err := safefile.Open(pl.Dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	name, err := filepath.Rel(pl.Dir, dir)
	if err != nil {
		return "", err
	}
	inside, err := root.Inside(name)
	if errors.Is(err, safefile.Outside) {
		return "", core.Invalidf("cwd %s is not in the project %s", dir, pl.Dir).
			WithHint("name a folder of the project: the settings of others could allow the agent more")
	}
	if info, statErr := root.Stat(inside); err != nil || statErr != nil || !info.IsDir() {
		return "", core.NotFoundf("cwd %s is not a folder", dir).WithHint("name a folder that exists, or leave cwd out for the project's")
	}
	for folder := inside; folder != "."; folder = path.Dir(folder) {
		if found := settingsIn(root, folder, pl.Hosts.Each(func(h hosts.Host) []string { return h.Setup.Folders })); found != "" {
			return "", core.Invalidf("cwd %s has settings of its own (%s)", dir, found).
				WithHint("name another folder of the project: those settings could allow the agent more")
		}
	}
	return dir, nil
}

// settingsIn returns a host's settings file in a folder; empty if there is none. A file that
// flame may not read counts, since the host may read it.
func settingsIn(root *safefile.Root, folder string, settings []string) string {
	for _, name := range settings {
		_, err := root.Stat(path.Join(folder, name))
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return path.Join(folder, name)
		}
	}
	return ""
}
