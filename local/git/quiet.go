package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"flame/core"
)

// quiet is a configuration with which git starts no program by itself.
const quiet = `[core]
	hooksPath = /dev/null
	fsmonitor = false
	sshCommand = false
	alternateRefsCommand = false
	# git does not read larger files into memory if it need not
	bigFileThreshold = 64m
[gpg]
	program = false
[gpg "openpgp"]
	program = false
[gpg "x509"]
	program = false
[gpg "ssh"]
	program = false
	defaultKeyCommand = false
[log]
	showSignature = false
[diff]
	orderFile = /dev/null
[status]
	submoduleSummary = false
[submodule]
	recurse = false
[safe]
	bareRepository = explicit
`

// harmless are harmless values for the settings <section>.<name>.<key> that make git run a
// command. The configuration chooses the names. A filter without commands does not change
// content, unless it is required. Newer versions of git also have hooks in the
// configuration.
var harmless = map[string]map[string]string{
	"filter": {"clean": "", "smudge": "", "process": "", "required": "false"},
	"hook":   {"command": "true", "event": ""},
	"merge":  {"driver": "false"},
}

// quietFor writes a settings file with which git starts no program in the folder of a call.
// `git -c include.path` gives it priority over all other configuration, and git passes that
// on to the git processes that it starts. A file can have any number of names; a command
// line is limited, and thousands of variables cost git seconds. quietFor does not see a
// change of the configuration between its call and the run.
func quietFor(ctx context.Context, c call) (path string, err error) {
	file, err := os.CreateTemp("", "flame-git-")
	if err == nil {
		defer file.Close()
		path, err = filepath.Abs(file.Name())
	}
	if err == nil {
		_, err = file.WriteString(quiet)
	}
	if err != nil {
		return path, core.Unavailablef(err, "flame cannot write the file that keeps git quiet: %v", err).WithHint("TMPDIR names its folder")
	}
	list, err := execute(ctx, call{dir: c.dir, env: c.env, args: []string{"config", "--list", "--name-only", "-z"}}, path)
	if err == nil {
		_, err = file.WriteString(switchedOff(list))
	}
	return path, err
}

// switchedOff returns settings that make the settings of a list harmless. The list has their
// names as git prints them.
func switchedOff(list string) string {
	names := strings.Split(list, "\x00")
	slices.Sort(names)
	var b strings.Builder
	for _, name := range slices.Compact(names) {
		section, rest, _ := strings.Cut(name, ".")
		dot := strings.LastIndexByte(rest, '.')
		if value, runs := harmless[section][rest[dot+1:]]; runs && dot >= 0 {
			fmt.Fprintf(&b, "[%s \"%s\"]\n\t%s = %s\n", section, escaped.Replace(rest[:dot]), rest[dot+1:], value)
		}
	}
	return b.String()
}

// escaped writes a name as in a configuration. A name has no line ends (git-config(1),
// "Syntax").
var escaped = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// where are the variables of git that environ keeps: the places of git and of the user's
// configuration. It removes all others, because a hook of git may have started flame.
var where = []string{"GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES"}

// environ returns an environment in which git asks no person, fetches nothing (no protocol
// has the name "none") and prints English texts.
func environ() []string {
	env := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return strings.HasPrefix(name, "GIT_") && !slices.Contains(where, name)
	})
	return append(env,
		"GIT_ALLOW_PROTOCOL=none",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_OPTIONAL_LOCKS=0", // reading does not change the user's index
		"GIT_TERMINAL_PROMPT=0",
		"GIT_ASKPASS=",
		"GIT_SSH_COMMAND=false",
		"GIT_EDITOR=:",
		"GIT_SEQUENCE_EDITOR=:",
		"GIT_PAGER=cat",
		"LC_ALL=C",
	)
}
