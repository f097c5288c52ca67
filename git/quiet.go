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

// quiet is configuration under which git starts nothing on its own.
const quiet = `[core]
	hooksPath = /dev/null
	fsmonitor = false
	sshCommand = false
	alternateRefsCommand = false
	# larger files are not taken into memory where they need not be
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

// harmless holds harmless values for the settings <section>.<name>.<key> that
// make git run a command under a name chosen by the configuration. A filter
// whose commands are empty leaves content as it is, unless it is required.
// Newer versions of git also take hooks from the configuration.
var harmless = map[string]map[string]string{
	"filter": {"clean": "", "smudge": "", "process": "", "required": "false"},
	"hook":   {"command": "true", "event": ""},
	"merge":  {"driver": "false"},
}

// quietFor writes a settings file under which git, in a call's place, starts nothing. It
// is meant for `git -c include.path`: that precedes every other configuration,
// and git passes it on to what it runs. A file takes any number of names, while
// a command line is limited, and thousands of variables cost git seconds. A
// configuration that changes between this and the run is not seen.
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
		return path, core.Unavailablef(err, "git needs a file of flame's to be kept quiet: %v", err).WithHint("TMPDIR says where")
	}
	list, err := execute(ctx, call{dir: c.dir, env: c.env, args: []string{"config", "--list", "--name-only", "-z"}}, path)
	if err == nil {
		_, err = file.WriteString(switchedOff(list))
	}
	return path, err
}

// switchedOff returns the settings that make those in a list, in the form git
// prints their names, harmless.
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

// escaped writes a name as in a configuration. It cannot hold an end of line
// (git-config(1), "Syntax").
var escaped = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// where names the variables of git that are kept: where git and the user's
// configuration are. All others are removed, as flame may itself have been
// started by a hook of git.
var where = []string{"GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES"}

// environ returns the environment under which git asks nobody, fetches nothing
// (no protocol is called "none") and prints everything in English.
func environ() []string {
	env := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return strings.HasPrefix(name, "GIT_") && !slices.Contains(where, name)
	})
	return append(env,
		"GIT_ALLOW_PROTOCOL=none",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_OPTIONAL_LOCKS=0", // looking leaves the user's index as it is
		"GIT_TERMINAL_PROMPT=0",
		"GIT_ASKPASS=",
		"GIT_SSH_COMMAND=false",
		"GIT_EDITOR=:",
		"GIT_SEQUENCE_EDITOR=:",
		"GIT_PAGER=cat",
		"LC_ALL=C",
	)
}
