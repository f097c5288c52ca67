// Package config reads every setting, once. Each is one field, with its
// environment variable, default and meaning in the field's tags;
// docs/reference.md's table and `flame config` are generated from them.
package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kelseyhightower/envconfig"
)

// Settings are all settings of flame.
type Settings struct {
	ProjectDir string `envconfig:"FLAME_PROJECT_DIR" desc:"the project's folder; without it, the nearest one of yours with .flame or .git, from the folder of the host's session or the working folder upwards"`
	Dir        string `envconfig:"FLAME_DIR" desc:"folder for the data of all projects, an absolute path outside of any checkout; without it, flame in XDG_DATA_HOME or ~/.local/share"`
	Off        bool   `envconfig:"FLAME_OFF" default:"false" desc:"true turns hooks and injection off for this process"`

	LogLevel   LogLevel `envconfig:"FLAME_LOG_LEVEL" default:"info" desc:"what the log file tells: debug, info, warn, error or off"`
	EventsDays Count    `envconfig:"FLAME_EVENTS_DAYS" default:"90" desc:"days that events are kept; 0 keeps them forever"`

	Tools     string `envconfig:"FLAME_TOOLS" default:"all" desc:"tools that the server offers: all; lean: the core tools, those that start agents or end frames, and flame_more for the others, which flame setup has hosts use that send all tools with each request, unless this is set; core; or a list of groups: frames, plan, context, summary, subagents, agents, autonomy, state"`
	Hooks     Hooks  `envconfig:"FLAME_HOOKS" default:"auto" desc:"auto or command: how a host that can call flame's running server reports events after flame setup: by such calls, where its version is known to load hooks that make them, or by a process for each"`
	HTTPToken string `envconfig:"FLAME_HTTP_TOKEN" secret:"true" desc:"bearer token that flame serve --http asks for, of 16 characters at least; without it, one that flame makes and keeps in the project's data folder, as http-token"`

	BudgetTotal     Count `envconfig:"FLAME_TOKEN_BUDGET_TOTAL" default:"4000" desc:"tokens of a whole context, a hard limit"`
	BudgetAncestors Count `envconfig:"FLAME_TOKEN_BUDGET_ANCESTORS" default:"1500" desc:"tokens for the frames above"`
	BudgetSiblings  Count `envconfig:"FLAME_TOKEN_BUDGET_SIBLINGS" default:"1500" desc:"tokens for finished children, siblings and uncles"`
	BudgetCurrent   Count `envconfig:"FLAME_TOKEN_BUDGET_CURRENT" default:"800" desc:"tokens for the current frame"`

	SubagentEnabled      bool  `envconfig:"FLAME_SUBAGENT_ENABLED" default:"true" desc:"whether native subagents get frames, by pattern and heuristics"`
	SubagentMinDuration  Count `envconfig:"FLAME_SUBAGENT_MIN_DURATION" default:"60000" desc:"ms a subagent whose title matches no pattern must live to get a frame"`
	SubagentMinMessages  Count `envconfig:"FLAME_SUBAGENT_MIN_MESSAGES" default:"3" desc:"messages it must have exchanged"`
	SubagentAutoComplete bool  `envconfig:"FLAME_SUBAGENT_AUTO_COMPLETE" default:"true" desc:"whether an idle subagent's frame is completed"`
	SubagentIdleDelay    Count `envconfig:"FLAME_SUBAGENT_IDLE_DELAY" default:"5000" desc:"ms it must stay idle before that"`
	SubagentPatterns     List  `envconfig:"FLAME_SUBAGENT_PATTERNS" default:"@.*subagent,subagent,\\[Task\\]" desc:"regular expressions, comma-separated; a session title that one matches is a subagent's"`

	AgentHost          string  `envconfig:"FLAME_AGENT_HOST" desc:"host that agents run in, by its name in flame setup; without it, that of the session which asks for them"`
	AgentMaxDepth      Count   `envconfig:"FLAME_AGENT_MAX_DEPTH" default:"3" desc:"levels of agents below a session"`
	AgentMaxTotal      Count   `envconfig:"FLAME_AGENT_MAX_TOTAL" default:"32" desc:"agents that may be started below a session in all"`
	AgentMaxConcurrent Count   `envconfig:"FLAME_AGENT_MAX_CONCURRENT" default:"4" desc:"agents that may run below a session at one time"`
	AgentTimeout       Count   `envconfig:"FLAME_AGENT_TIMEOUT" default:"300" desc:"seconds an agent may take; 0: no limit"`
	AgentIdle          Count   `envconfig:"FLAME_AGENT_IDLE" default:"600" desc:"seconds an agent may print nothing; 0: no limit"`
	AgentStart         Count   `envconfig:"FLAME_AGENT_START" default:"60" desc:"seconds an agent may take to its first line; 0: no limit"`
	AgentBudgetTokens  Count   `envconfig:"FLAME_AGENT_BUDGET_TOKENS" default:"0" desc:"tokens that all agents below a session may use, cached ones too; 0: no limit"`
	AgentBudgetUSD     Dollars `envconfig:"FLAME_AGENT_BUDGET_USD" default:"0" desc:"US dollars that they may cost; 0: no limit"`
	AgentOnSessionEnd  Fate    `envconfig:"FLAME_AGENT_ON_SESSION_END" default:"cancel" desc:"cancel or keep: what becomes of running agents when the session that asked for them ends"`

	Notify string `envconfig:"FLAME_NOTIFY" desc:"program to run when an agent ends, a conflict waits for you or a limit is reached, by an absolute path or by its name on PATH; it gets three arguments: agent-ended, conflict or limit, a short sentence, and an id; not used where the project's own settings set it"`

	Share Shared `envconfig:"FLAME_SHARE" default:"none" desc:"what of ended agents the project's other machines may see beside the tree, where the project has joined a hub: none, or some of prompts, patches and logs, comma-separated; not used where the project's own settings set it"`

	Fold        Switch  `envconfig:"FLAME_FOLD" default:"on" desc:"on or off: leave what was done in finished frames out of requests to the model, in hosts that let flame"`
	Trim        Trim    `envconfig:"FLAME_TRIM" default:"off" desc:"off, superseded or old: also leave out, in open frames, outputs of tools that a later call of the same has anew, or these and those older than a few rounds; flame_recall shows them again"`
	GatewayFold Folding `envconfig:"FLAME_GATEWAY_FOLD" default:"on" desc:"on, edit or off: what flame's gateway does to requests: leave out what was done in finished frames (as FLAME_FOLD and FLAME_TRIM say), have the model's API clear old results of tools instead, or only count what they use"`

	AutonomyLevel     Level    `envconfig:"FLAME_AUTONOMY_LEVEL" default:"suggest" desc:"manual, suggest or auto"`
	PushThreshold     Percent  `envconfig:"FLAME_PUSH_THRESHOLD" default:"70" desc:"confidence, 0 to 100, from which a push is recommended"`
	PopThreshold      Percent  `envconfig:"FLAME_POP_THRESHOLD" default:"80" desc:"confidence, 0 to 100, from which a pop is recommended"`
	SuggestInContext  bool     `envconfig:"FLAME_SUGGEST_IN_CONTEXT" default:"true" desc:"whether contexts carry suggestions"`
	EnabledHeuristics Names    `envconfig:"FLAME_ENABLED_HEURISTICS" default:"failure_boundary,context_switch,complexity,duration,goal_completion,stagnation,context_overflow" desc:"heuristics in use, comma-separated"`
	AutonomyStrategy  Strategy `envconfig:"FLAME_AUTONOMY_STRATEGY" default:"evidence" desc:"how flame judges that a push or a pop is due: evidence weighs what was said and done; noisy-or and mean combine the scores of the heuristics, mean as in the original plugin"`
	Learn             Learning `envconfig:"FLAME_LEARN" default:"suggest" desc:"suggest, on or off: what became of suggestions and of subagents' frames is counted, and what follows for thresholds and title patterns is proposed by flame learned, or applies too, or nothing is counted and nothing applies"`
	LearnBounds       Percent  `envconfig:"FLAME_LEARN_BOUNDS" default:"10" desc:"points, 0 to 100, that a learned threshold may be above or below the one that is set"`
}

// A Warning reports a variable whose value could not be used, or an item of a list.
type Warning struct {
	Variable, Value, Default string
	Others                   string // of a list: the items that apply; empty: none does
	Err                      error
}

// String says which variable is wrong, and what applies instead.
func (w Warning) String() string {
	if w.Others != "" {
		return fmt.Sprintf("%q in %s is not used: %v; %s still applies", w.Value, w.Variable, w.Err, w.Others)
	}
	return fmt.Sprintf("%s=%q is not used: %v; the default %s applies", w.Variable, w.Value, w.Err, w.Default)
}

// Load reads the environment. A value that does not parse gives a warning, and
// the default applies; an empty one counts as not set.
func Load() (Settings, []Warning) {
	var settings Settings
	var warnings []Warning
	hidden := map[string]string{}
	defer func() {
		for name, value := range hidden {
			os.Setenv(name, value)
		}
	}()
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Settings]()) {
		// envconfig takes an empty variable for a value, so it is hidden during
		// the read; so is, below, each one that does not parse.
		name := field.Tag.Get("envconfig")
		if value, set := os.LookupEnv(name); set && value == "" {
			hidden[name] = value
			os.Unsetenv(name)
		}
	}
	for {
		settings = Settings{}
		err := envconfig.Process("", &settings)
		if err == nil {
			return settings, warnings
		}
		var parse *envconfig.ParseError
		if !errors.As(err, &parse) {
			panic(err) // a tag above is wrong
		}
		value := os.Getenv(parse.KeyName)
		if _, known := hidden[parse.KeyName]; !known {
			hidden[parse.KeyName] = value
		}
		var bad badItem
		if errors.As(parse.Err, &bad) && bad.others != "" {
			os.Setenv(parse.KeyName, bad.others)
			warnings = append(warnings, Warning{Variable: parse.KeyName, Value: bad.item, Others: bad.others, Err: bad.error})
			continue
		}
		os.Unsetenv(parse.KeyName)
		warnings = append(warnings, Warning{Variable: parse.KeyName, Value: value, Default: defaultOf(parse.KeyName), Err: reason(parse.Err)})
	}
}

// reason puts an error of strconv into words; the warning already has the
// value.
func reason(err error) error {
	var number *strconv.NumError
	switch {
	case !errors.As(err, &number):
		return err
	case !errors.Is(err, strconv.ErrSyntax):
		return number.Err
	case number.Func == "ParseBool":
		return errors.New("it must be true or false")
	}
	return errors.New("it is not a number")
}

func defaultOf(name string) string {
	for _, s := range list(Settings{}) {
		if s.Name == name {
			return s.Default
		}
	}
	return ""
}

// A Setting is one row of the table of settings.
type Setting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default string `json:"default"`
	Source  string `json:"source"` // environment or default
	Meaning string `json:"meaning"`
}

// List returns every setting with its value and where that comes from. It hides
// secrets.
func (s Settings) List() []Setting { return list(s) }

func list(s Settings) []Setting {
	v := reflect.ValueOf(s)
	settings := make([]Setting, 0, v.NumField())
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		row := Setting{
			Name: tag.Get("envconfig"), Default: tag.Get("default"), Meaning: tag.Get("desc"),
			Value: fmt.Sprint(v.Field(i).Interface()), Source: "default",
		}
		if os.Getenv(row.Name) != "" && row.Value != row.Default {
			row.Source = "environment"
		}
		if tag.Get("secret") != "" && row.Value != "" {
			row.Value = "(set)"
		}
		settings = append(settings, row)
	}
	return settings
}

// Count is a number of something, 0 or more.
type Count int

// Decode parses a count.
func (c *Count) Decode(value string) error {
	n, err := strconv.Atoi(value)
	if err == nil && n < 0 {
		err = errors.New("it is negative")
	}
	*c = Count(n)
	return err
}

// Percent is a number from 0 to 100; values outside are clamped (seeds, phase
// 1.7).
type Percent int

// Decode parses a percentage.
func (p *Percent) Decode(value string) error {
	n, err := strconv.Atoi(value)
	*p = Percent(min(max(n, 0), 100))
	return err
}

// List is a comma-separated list of regular expressions.
type List []string

// A badItem is an item of a list that cannot be used.
type badItem struct {
	error
	item, others string
}

// Decode splits and checks the expressions; empty items are dropped.
func (l *List) Decode(value string) error {
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			*l = append(*l, item)
		}
	}
	for i, item := range *l {
		if _, err := regexp.Compile(item); err != nil {
			return badItem{err, item, slices.Delete(slices.Clone(*l), i, i+1).String()}
		}
	}
	if len(*l) == 0 {
		return errors.New("it has no pattern")
	}
	return nil
}

// String returns the list as it is written in the environment.
func (l List) String() string { return strings.Join(l, ",") }

// LogLevel is debug, info, warn, error or off.
type LogLevel string

// Decode parses a log level, in any case.
func (l *LogLevel) Decode(value string) error {
	return oneOf(l, value, "debug", "info", "warn", "error", "off")
}

// Level is a level of autonomy.
type Level string

// Decode parses a level of autonomy, in any case.
func (l *Level) Decode(value string) error { return oneOf(l, value, "manual", "suggest", "auto") }

// Switch is on or off.
type Switch string

// Decode parses a switch, in any case.
func (s *Switch) Decode(value string) error { return oneOf(s, value, "on", "off") }

// Hooks is auto or command.
type Hooks string

// Decode parses a way to report events, in any case.
func (h *Hooks) Decode(value string) error { return oneOf(h, value, "auto", "command") }

// Learning is suggest, on or off.
type Learning string

// Decode parses a way to learn, in any case.
func (l *Learning) Decode(value string) error { return oneOf(l, value, "suggest", "on", "off") }

// Trim is off, superseded or old.
type Trim string

// Decode parses a trim, in any case.
func (t *Trim) Decode(value string) error { return oneOf(t, value, "off", "superseded", "old") }

// Folding is on, edit or off.
type Folding string

// Decode parses a folding, in any case.
func (f *Folding) Decode(value string) error { return oneOf(f, value, "on", "edit", "off") }

// Dollars is an amount of US dollars, 0 or more.
type Dollars float64

// Decode parses an amount.
func (d *Dollars) Decode(value string) error {
	amount, err := strconv.ParseFloat(value, 64)
	if err == nil && !(amount >= 0 && amount < 1e9) {
		err = errors.New("it is not an amount of money")
	}
	*d = Dollars(amount)
	return err
}

// Fate is cancel or keep.
type Fate string

// Decode parses a fate, in any case.
func (f *Fate) Decode(value string) error { return oneOf(f, value, "cancel", "keep") }

// Strategy is a way to make one confidence of several scores.
type Strategy string

// Decode parses a strategy, in any case.
func (s *Strategy) Decode(value string) error { return oneOf(s, value, "evidence", "noisy-or", "mean") }

// Names is a list of heuristics.
type Names []string

// Heuristics are the names that FLAME_ENABLED_HEURISTICS may hold (seeds, phase
// 1.7).
var Heuristics = []string{"failure_boundary", "context_switch", "complexity", "duration", "goal_completion", "stagnation", "context_overflow"}

// Decode splits and checks the names; empty items are dropped.
func (n *Names) Decode(value string) error {
	for item := range strings.SplitSeq(value, ",") {
		var name string
		if strings.TrimSpace(item) == "" {
			continue
		}
		if err := oneOf(&name, item, Heuristics...); err != nil {
			return err
		}
		*n = append(*n, name)
	}
	return nil
}

// String returns the list as it is written in the environment.
func (n Names) String() string { return strings.Join(n, ",") }

// Shared is a list of what is shared of agents, without an item for none.
type Shared []string

// Shareable are the names that FLAME_SHARE may hold beside none (DESIGN §13).
var Shareable = []string{"prompts", "patches", "logs"}

// Decode splits and checks the names; empty items are dropped.
func (s *Shared) Decode(value string) error {
	for item := range strings.SplitSeq(value, ",") {
		var name string
		if strings.TrimSpace(item) == "" {
			continue
		}
		if err := oneOf(&name, item, append(slices.Clone(Shareable), "none")...); err != nil {
			return err
		}
		if name != "none" && !slices.Contains(*s, name) {
			*s = append(*s, name)
		}
	}
	return nil
}

// String returns the list as it is written in the environment.
func (s Shared) String() string {
	if len(s) == 0 {
		return "none"
	}
	return strings.Join(s, ",")
}

func oneOf[T ~string](to *T, value string, allowed ...string) error {
	value = strings.ToLower(strings.TrimSpace(value))
	for _, a := range allowed {
		if value == a {
			*to = T(a)
			return nil
		}
	}
	return fmt.Errorf("it must be one of %s", strings.Join(allowed, ", "))
}
