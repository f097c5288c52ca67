// Package config reads all settings, once. Each setting is a field, whose tags have its environment
// variable, default and meaning. The table in docs/reference.md and `flame config` come from
// these.
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

	"github.com/agnivade/levenshtein"
	"github.com/kelseyhightower/envconfig"
	"github.com/samber/lo"

	"flame/config/env"
)

// Settings are all settings of flame.
type Settings struct {
	ProjectDir string `envconfig:"FLAME_PROJECT_DIR" desc:"the project's folder; default: the nearest folder of yours with .flame or .git, from the folder of the host's session or the working folder upwards"`
	Dir        string `envconfig:"FLAME_DIR" desc:"folder for the data of all projects, an absolute path outside of any checkout; default: flame in XDG_DATA_HOME or ~/.local/share"`
	Off        bool   `envconfig:"FLAME_OFF" default:"false" desc:"true turns hooks and injection off for this process"`

	LogLevel   string `envconfig:"FLAME_LOG_LEVEL" oneof:"debug,info,warn,error,off" default:"info" desc:"lowest level of messages in the log file: debug, info, warn, error or off"`
	EventsDays Count  `envconfig:"FLAME_EVENTS_DAYS" default:"90" desc:"days that events are kept; 0 keeps them forever"`

	Tools     string `envconfig:"FLAME_TOOLS" default:"all" desc:"tools that the server offers: all; lean: flame_push, flame_pop, spawn_agent, and flame_more for the others, without resources (unless this is set, flame setup chooses lean, and six more for a host in which a tool costs only its name); core: those of daily use; or a list of tools and groups: frames, plan, context, summary, subagents, agents, autonomy, state"`
	Hooks     string `envconfig:"FLAME_HOOKS" oneof:"auto,command" default:"auto" desc:"how hosts report events after flame setup: auto, by calling flame's running server if flame knows that the version of the host supports it, else by a process for each event; command, always by a process for each event"`
	HTTPToken string `envconfig:"FLAME_HTTP_TOKEN" secret:"true" desc:"bearer token of flame serve --http, at least 16 characters; default: flame makes one and keeps it in the project's data folder, as http-token"`

	BudgetTotal     Count `envconfig:"FLAME_TOKEN_BUDGET_TOTAL" default:"4000" desc:"tokens for a whole context, a hard limit"`
	BudgetAncestors Count `envconfig:"FLAME_TOKEN_BUDGET_ANCESTORS" default:"1500" desc:"tokens for the frames above the current one"`
	BudgetSiblings  Count `envconfig:"FLAME_TOKEN_BUDGET_SIBLINGS" default:"1500" desc:"tokens for finished children, siblings and uncles"`
	BudgetCurrent   Count `envconfig:"FLAME_TOKEN_BUDGET_CURRENT" default:"800" desc:"tokens for the current frame"`

	SubagentEnabled      bool     `envconfig:"FLAME_SUBAGENT_ENABLED" default:"true" desc:"whether flame creates frames for native subagents, by title patterns and heuristics"`
	SubagentMinDuration  Count    `envconfig:"FLAME_SUBAGENT_MIN_DURATION" default:"60000" desc:"ms that a subagent must live to get a frame, if its title matches no pattern"`
	SubagentMinMessages  Count    `envconfig:"FLAME_SUBAGENT_MIN_MESSAGES" default:"3" desc:"messages that such a subagent must have exchanged"`
	SubagentAutoComplete bool     `envconfig:"FLAME_SUBAGENT_AUTO_COMPLETE" default:"true" desc:"whether flame completes the frame of an idle subagent"`
	SubagentIdleDelay    Count    `envconfig:"FLAME_SUBAGENT_IDLE_DELAY" default:"5000" desc:"ms that a subagent must be idle before flame completes its frame"`
	SubagentPatterns     Patterns `envconfig:"FLAME_SUBAGENT_PATTERNS" default:"@.*subagent,subagent,\\[Task\\]" desc:"regular expressions, comma-separated; a session whose title matches one is a subagent's"`

	AgentHost          string  `envconfig:"FLAME_AGENT_HOST" desc:"host to run agents in, by its name in flame setup; default: the host of the session that starts them"`
	AgentMaxDepth      Count   `envconfig:"FLAME_AGENT_MAX_DEPTH" default:"3" desc:"levels of agents below a session"`
	AgentMaxTotal      Count   `envconfig:"FLAME_AGENT_MAX_TOTAL" default:"32" desc:"total number of agents that may be started below a session"`
	AgentMaxConcurrent Count   `envconfig:"FLAME_AGENT_MAX_CONCURRENT" default:"4" desc:"agents that may run below a session at the same time"`
	AgentTimeout       Count   `envconfig:"FLAME_AGENT_TIMEOUT" default:"300" desc:"seconds that an agent may run; 0: no limit"`
	AgentIdle          Count   `envconfig:"FLAME_AGENT_IDLE" default:"600" desc:"seconds that an agent may be silent; 0: no limit"`
	AgentBudgetTokens  Count   `envconfig:"FLAME_AGENT_BUDGET_TOKENS" default:"0" desc:"tokens that all agents below a session may use together, including cached tokens; 0: no limit"`
	AgentBudgetUSD     Dollars `envconfig:"FLAME_AGENT_BUDGET_USD" default:"0" desc:"US dollars that all agents below a session may cost together; 0: no limit"`
	AgentOnSessionEnd  string  `envconfig:"FLAME_AGENT_ON_SESSION_END" oneof:"cancel,keep" default:"cancel" desc:"cancel or keep: what flame does with running agents when the session that started them ends"`

	Fold        string `envconfig:"FLAME_FOLD" oneof:"on,off" default:"on" desc:"on or off: leave the work of finished frames out of requests to the model, in hosts that support it"`
	Trim        string `envconfig:"FLAME_TRIM" oneof:"off,superseded,old" default:"off" desc:"which tool outputs of open frames flame also leaves out of requests: off, none; superseded, outputs that a later call repeats; old, these and outputs older than a few rounds; flame_recall shows them again"`
	Plans       string `envconfig:"FLAME_PLANS" oneof:"on,tree,off" default:"on" desc:"what becomes of the items of the host's own to-do list: on, they are frames, whose work requests leave out one item later; tree, they are frames; off, nothing"`
	Turns       string `envconfig:"FLAME_TURNS" oneof:"on,tree,off" default:"on" desc:"what becomes of the user's prompts that lead to work: on, they are frames, whose work requests leave out one turn later; tree, they are frames; off, nothing"`
	GatewayFold string `envconfig:"FLAME_GATEWAY_FOLD" oneof:"auto,on,edit,off" default:"auto" desc:"what flame's gateway does to requests: auto, the same as on in a host whose model's API documents what a changed past means, else the same as off; on, leave out the work of finished frames (as FLAME_FOLD and FLAME_TRIM say); edit, have the model's API clear old tool results instead; off, only count usage"`

	AutonomyLevel     string     `envconfig:"FLAME_AUTONOMY_LEVEL" oneof:"manual,suggest,auto" default:"suggest" desc:"manual, suggest or auto"`
	PushThreshold     Percent    `envconfig:"FLAME_PUSH_THRESHOLD" default:"70" desc:"lowest confidence, 0 to 100, at which flame recommends a push"`
	PopThreshold      Percent    `envconfig:"FLAME_POP_THRESHOLD" default:"80" desc:"lowest confidence, 0 to 100, at which flame recommends a pop"`
	SuggestInContext  bool       `envconfig:"FLAME_SUGGEST_IN_CONTEXT" default:"true" desc:"whether contexts contain suggestions"`
	EnabledHeuristics StringList `envconfig:"FLAME_ENABLED_HEURISTICS" oneof:"failure_boundary,context_switch,complexity,duration,goal_completion,stagnation,context_overflow" default:"failure_boundary,context_switch,complexity,duration,goal_completion,stagnation,context_overflow" desc:"heuristics in use, comma-separated"`
}

// A Warning reports a variable with a value that flame cannot use, or such an item of a list.
type Warning struct {
	Variable, Value, Default string
	Others                   string // of a list, the items that apply; empty: none
	Err                      error
}

// String names the variable, the reason, and the value that applies instead.
func (w Warning) String() string {
	if w.Others != "" {
		return fmt.Sprintf("%q in %s is not used: %v; %s still applies", w.Value, w.Variable, w.Err, w.Others)
	}
	return fmt.Sprintf("%s=%q is not used: %v; the default %s applies", w.Variable, w.Value, w.Err, w.Default)
}

// Load reads the environment, and takes the secrets out of it (env.TakeSecret). A value that cannot be
// used gives a warning, and the default applies; an empty one counts as not set.
func Load() (settings Settings, warnings []Warning) {
	hidden := map[string]string{}
	hide := func(name string) (value string) {
		value = os.Getenv(name)
		hidden[name] = value
		os.Unsetenv(name)
		return value
	}
	defer func() {
		for name, value := range hidden {
			os.Setenv(name, value)
		}
		for _, row := range settings.List() {
			if row.secret {
				env.TakeSecret(row.Name)
			}
		}
	}()
	for _, row := range (Settings{}).List() {
		if value, set := os.LookupEnv(row.Name); set && value == "" {
			hide(row.Name) // envconfig takes an empty variable for a value
		}
	}
	for {
		settings = Settings{}
		err := envconfig.Process("", &settings)
		if err == nil {
			return settings, append(warnings, settings.check()...)
		}
		var parse *envconfig.ParseError
		if !errors.As(err, &parse) {
			panic(err) // a tag above is wrong
		}
		w := Warning{Variable: parse.KeyName, Value: hide(parse.KeyName), Err: reason(parse.Err)}
		row, _ := lo.Find(Settings{}.List(), func(row Setting) bool { return row.Name == w.Variable })
		w.Default = row.Default
		warnings = append(warnings, w)
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

// check replaces words that a setting does not know by its default, and drops patterns
// that do not compile.
func (s *Settings) check() (warnings []Warning) {
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		w := Warning{Variable: tag.Get("envconfig"), Value: fmt.Sprint(v.Field(i).Interface()), Default: tag.Get("default")}
		known := strings.Split(tag.Get("oneof"), ",")
		switch field := v.Field(i).Addr().Interface().(type) {
		case *string:
			if known[0] == "" {
				continue
			}
			if *field, w.Err = oneOf(*field, known); w.Err != nil {
				*field, warnings = w.Default, append(warnings, w)
			}
		case *StringList:
			for i, word := range *field {
				if (*field)[i], w.Err = oneOf(word, known); w.Err != nil {
					_ = field.Decode(w.Default) // it never fails
					warnings = append(warnings, w)
					break
				}
			}
		case *Patterns:
			warnings = append(warnings, field.check(w)...)
		}
	}
	return warnings
}

// oneOf returns the known word that equals value in any case.
func oneOf(value string, known []string) (string, error) {
	if value = strings.ToLower(strings.TrimSpace(value)); slices.Contains(known, value) {
		return value, nil
	}
	return "", fmt.Errorf("it must be one of %s", strings.Join(known, ", "))
}

// A Setting is one row of the table of settings.
type Setting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default string `json:"default"`
	Source  string `json:"source"` // environment or default
	Meaning string `json:"meaning"`

	// Free is set if the value can be any text, such as a path, and may tell something of its user.
	Free bool `json:"-"`

	secret bool
}

// Names returns the names of all settings.
func (s Settings) Names() []string {
	return lo.Map(s.List(), func(row Setting, _ int) string { return row.Name })
}

// List returns all settings with their values and the sources of these. It hides secrets.
func (s Settings) List() []Setting {
	v := reflect.ValueOf(s)
	settings := make([]Setting, 0, v.NumField())
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		row := Setting{
			Name: tag.Get("envconfig"), Default: tag.Get("default"), Meaning: tag.Get("desc"),
			Value: fmt.Sprint(v.Field(i).Interface()), Source: "default",
		}
		switch v.Field(i).Interface().(type) {
		case string, Patterns:
			row.Free = tag.Get("oneof") == ""
		}
		row.secret = tag.Get("secret") != ""
		if (row.secret || os.Getenv(row.Name) != "") && row.Value != row.Default { // Load took a secret out of the environment
			row.Source = "environment"
		}
		if row.secret && row.Value != "" {
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

// Percent is a number from 0 to 100. Decode clamps other numbers (the first description).
type Percent int

// Decode parses a percentage.
func (p *Percent) Decode(value string) error {
	n, err := strconv.Atoi(value)
	*p = Percent(min(max(n, 0), 100))
	return err
}

// StringList is a comma-separated list of words.
type StringList []string

// Decode splits the words. It drops empty words and repetitions.
func (l *StringList) Decode(value string) error {
	words := lo.Map(strings.Split(value, ","), func(word string, _ int) string { return strings.TrimSpace(word) })
	*l = lo.Uniq(lo.Compact(words))
	return nil
}

// String returns the list in the form of the environment.
func (l StringList) String() string { return strings.Join(l, ",") }

// Patterns is a comma-separated list of regular expressions.
type Patterns []string

// Decode splits the expressions, as Words.Decode does.
func (l *Patterns) Decode(value string) error { return (*StringList)(l).Decode(value) }

// String returns the list in the form of the environment.
func (l Patterns) String() string { return StringList(l).String() }

// check drops the expressions that do not compile. If none is left, the default applies. w is the
// warning about a list without an expression.
func (l *Patterns) check(w Warning) (warnings []Warning) {
	w.Err = errors.New("it has no pattern")
	for _, item := range slices.Clone(*l) {
		_, err := regexp.Compile(item)
		if err == nil {
			continue
		}
		*l = slices.DeleteFunc(*l, func(other string) bool { return other == item })
		w.Value, w.Others, w.Err = item, l.String(), err
		warnings = append(warnings, w)
	}
	if len(*l) > 0 {
		return warnings
	}
	_ = l.Decode(w.Default) // it never fails
	if warnings == nil {
		warnings = []Warning{w}
	}
	return warnings
}

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

// Gone says what took the place of settings that flame no longer has.
var Gone = map[string]string{
	"FLAME_AGENT_START":       "an agent must print its first line within a minute",
	"FLAME_AUTONOMY_STRATEGY": "flame combines the scores by noisy-or, and shows their mean beside it",
	"FLAME_LEARN":             "`flame agents doctor` proposes patterns for the titles of subagents",
	"FLAME_LEARN_BOUNDS":      "thresholds stay as they are set",
	"FLAME_NOTIFY":            "the hosts notify you, and `flame status --line` shows what waits for you",
	"FLAME_SHARE":             "machines share the tree, jobs and their results",
}

// A UnknownVariable is an environment variable that only looks like a setting.
type UnknownVariable struct {
	Name string
	Near string // the setting with a similar name, if any
}

// farthest is how many letters a misspelling may have wrong.
const farthest = 3

// UnknownVariables returns the unknown variables of an environment, sorted. It also knows the variables in
// others.
func UnknownVariables(environ []string, others ...string) (unknown []UnknownVariable) {
	known := slices.Concat(others, Settings{}.Names())
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(strings.ToUpper(name), "FLAME") || value == "" || slices.Contains(known, name) {
			continue
		}
		found, least := UnknownVariable{Name: name}, farthest+1
		for _, other := range known {
			if d := levenshtein.ComputeDistance(strings.ToUpper(name), other); d < least {
				found.Near, least = other, d
			}
		}
		unknown = append(unknown, found)
	}
	slices.SortFunc(unknown, func(a, b UnknownVariable) int { return strings.Compare(a.Name, b.Name) })
	return unknown
}
