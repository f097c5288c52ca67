package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/local/git"
	"flame/tests/effort"
)

// A trap is a way in which a repository makes git run a command.
type trap struct {
	set     func(r *repo)
	springs []string // arguments with which plain git runs it
	also    []string // arguments with which flame runs git in addition
	fails   bool     // the repository lacks an object that flame needs
	newer   bool     // only newer versions of git know it
	screen  bool     // git runs it only at a terminal
}

var (
	status      = []string{"status", "--porcelain", "--ignored"}
	diff        = []string{"diff", "HEAD"}
	addWorktree = []string{"worktree", "add", "--detach", "../control", "HEAD"}
	signatures  = []string{"log", "--max-count=1", "--format=%G?"}
	signed      = []string{"rev-list", "--max-count=1", "--format=%G?", "HEAD"}
	alternate   = []string{"rev-list", "--max-count=1", "--alternate-refs", "HEAD"}
	threeWay    = []string{"apply", "--3way", "../conflict.patch"}
)

// traps are the traps, one in each row.
var traps = map[string]trap{
	"the hook post-checkout":         {set: hooks(".git/hooks", "post-checkout"), springs: addWorktree},
	"the hook reference-transaction": {set: hooks(".git/hooks", "reference-transaction"), springs: addWorktree},
	"the hook post-index-change":     {set: hooks(".git/hooks", "post-index-change"), springs: []string{"add", "--all"}},
	"every hook":                     {set: hooks(".git/hooks", everyHook...), springs: addWorktree},
	"every hook in a folder of the project": {
		set:     set(hooks("evil", everyHook...), config("core.hooksPath", "evil")),
		springs: addWorktree,
	},
	"a hook by configuration": {
		set:     set(config("hook.x.event", "post-checkout", "hook.x.command", "TRAP"), config("hook.x.event", "post-index-change")),
		springs: addWorktree, newer: true,
	},

	"fsmonitor":               {set: config("core.fsmonitor", "TRAP"), springs: status},
	"fsmonitor by an include": {set: set(file("evil", "[core]\nfsmonitor = TRAP\n"), config("include.path", "../evil")), springs: status},

	"a filter's clean":                   {set: filter("x", "clean"), springs: status},
	"a filter's clean at diff":           {set: filter("x", "clean"), springs: diff},
	"a filter's clean at add":            {set: filter("x", "clean"), springs: []string{"add", "--all"}},
	"a filter's smudge":                  {set: filter("x", "smudge"), springs: addWorktree},
	"a filter's process":                 {set: filter("x", "process"), springs: addWorktree},
	"a required filter's clean":          {set: set(filter("x", "clean"), config("filter.x.required", "true")), springs: status},
	"a required filter's process":        {set: set(filter("x", "process"), config("filter.x.required", "true")), springs: status},
	"a filter with dots in its name":     {set: filter("a.b.clean", "clean"), springs: status},
	"a filter with an equals sign in it": {set: filter("a=b", "smudge"), springs: addWorktree},
	"a filter without a name":            {set: filter("", "process"), springs: status},
	"a filter of odd signs":              {set: filter(`-"\%$'é`+"\xff", "clean"), springs: status},
	"a filter of large letters":          {set: filter("LFS", "clean"), springs: status},
	"a filter among thousands":           {set: set(manyFilters(2000), attributes("filter=f1234")), springs: status},
	"a filter by the project's attributes": {
		set:     set(file(".gitattributes", "* filter=x\n"), recommit, config("filter.x.smudge", "TRAP; cat")),
		springs: addWorktree,
	},
	"a filter by attributes elsewhere": {
		set:     set(file(".git/evil", "* filter=x\n"), config("core.attributesFile", ".git/evil", "filter.x.clean", "TRAP; cat")),
		springs: status,
	},
	"a filter by an include": {
		set:     set(attributes("filter=x"), file("evil", "[filter \"x\"]\nclean = TRAP\n"), config("include.path", "../evil")),
		springs: status,
	},
	"a filter by an include for worktrees alone": {
		set: set(attributes("filter=x"), file("evil", "[filter \"x\"]\nsmudge = TRAP\n"),
			config("includeIf.gitdir:**/worktrees/**.path", "../evil")),
		springs: addWorktree,
	},
	"a filter by a worktree's configuration": {
		set: set(attributes("filter=x"), config("extensions.worktreeConfig", "true"),
			file(".git/config.worktree", "[filter \"x\"]\nclean = TRAP\n")),
		springs: status,
	},

	"textconv":                {set: set(attributes("diff=x"), config("diff.x.textconv", "TRAP")), springs: diff},
	"a diff driver's command": {set: set(attributes("diff=x"), config("diff.x.command", "TRAP")), springs: diff},
	"an external diff":        {set: config("diff.external", "TRAP"), springs: diff},
	"a merge driver": {
		set:     set(conflict, attributes("merge=x"), config("merge.x.driver", "TRAP")),
		springs: threeWay, also: threeWay, fails: true,
	},
	"a pager":   {set: config("core.pager", "TRAP", "pager.status", "TRAP"), springs: status, screen: true},
	"an editor": {set: config("core.editor", "TRAP"), springs: []string{"commit", "--amend"}},
	"a program for signatures": {
		set:     set(signature("PGP SIGNATURE"), config("gpg.program", "TRAP")),
		springs: signatures, also: signed,
	},
	"one for OpenPGP": {
		set:     set(signature("PGP SIGNATURE"), config("gpg.openpgp.program", "TRAP")),
		springs: signatures, also: signed,
	},
	"one for X.509": {
		set:     set(signature("SIGNED MESSAGE"), config("gpg.x509.program", "TRAP")),
		springs: signatures, also: signed,
	},
	"one for SSH": {
		set:     set(signature("SSH SIGNATURE"), config("gpg.ssh.program", "TRAP", "gpg.ssh.allowedSignersFile", "TRAP")),
		springs: signatures, also: signed,
	},
	"signatures shown by the log": {
		set:     set(signature("PGP SIGNATURE"), config("gpg.program", "TRAP", "log.showSignature", "true")),
		springs: []string{"log"}, also: signed,
	},
	"a command for alternates": {
		set:     set(alternates, config("core.alternateRefsCommand", "TRAP")),
		springs: alternate, also: alternate,
	},

	"a missing object of ext::": {set: missing("remote.x.url", "ext::TRAP"), springs: addWorktree, fails: true},
	"a missing object over ssh": {
		set:     missing("remote.x.url", "ssh://localhost/x", "core.sshCommand", "TRAP"),
		springs: addWorktree, fails: true,
	},
	"a missing object by a proxy": {
		set:     missing("remote.x.url", "git://localhost:1/x", "core.gitProxy", "TRAP"),
		springs: addWorktree, fails: true,
	},
	"a missing object of a folder": {
		set:     missing("remote.x.url", "..", "remote.x.uploadpack", "TRAP"),
		springs: addWorktree, fails: true,
	},
	"a missing object by a helper": {set: missing("remote.x.url", "TRAP", "remote.x.vcs", "ext"), springs: addWorktree, fails: true},
	"a missing object of an instead": {
		set:     missing("remote.x.url", "https://x", "url.ext::TRAP.insteadOf", "https://x"),
		springs: addWorktree, fails: true,
	},

	"a submodule's filter at status": {set: submodule("filter.x.clean"), springs: status},
	"a submodule's filter at diff":   {set: submodule("filter.x.clean"), springs: diff},
	"a submodule's filter at add":    {set: submodule("filter.x.clean"), springs: []string{"add", "--all", "--intent-to-add"}},
	"a submodule's fsmonitor":        {set: submodule("core.fsmonitor"), springs: status},
	"a submodule shown as a diff":    {set: set(submodule("diff.external"), ahead, config("diff.submodule", "diff")), springs: diff},
	"a submodule that must be heeded": {
		set:     set(submodule("filter.x.clean"), config("submodule.mod.ignore", "none", "diff.ignoreSubmodules", "none")),
		springs: status,
	},
	"a submodule at recursive changes": {
		set:     set(submodule("core.fsmonitor"), config("submodule.recurse", "true", "status.submoduleSummary", "true")),
		springs: status,
	},
}

// armed returns a repository with the trap set.
func armed(t *testing.T, tt trap) *repo {
	t.Helper()
	r := newRepo(t)
	tt.set(r)
	require.NoError(t, os.RemoveAll(r.mark))
	return r
}

// everything makes all calls of flame in a repository: in a checkout, and in a worktree that it
// makes.
func everything(r *repo) error {
	r.t.Helper()
	var errs []error
	run := func(dir string, args ...string) string {
		out, err := git.Run(r.t.Context(), dir, args...)
		errs = append(errs, err)
		return out
	}
	run(r.dir, "rev-parse", "--verify", "--quiet", "HEAD")
	run(r.dir, "rev-parse", "--show-prefix")
	_, err := git.FirstCommit(r.t.Context(), r.dir)
	worktree := filepath.Join(filepath.Dir(r.dir), "worktree")
	errs = append(errs, err, git.AddWorktree(r.t.Context(), r.dir, worktree, "HEAD"))
	dirs := []string{r.dir}
	if _, err := os.Stat(worktree); err == nil {
		r.disturb(worktree)
		dirs = append(dirs, worktree)
	}
	for _, dir := range dirs {
		run(dir, "rev-list", "--max-count=9", "HEAD", "--")
		run(dir, "status")
		run(dir, status...)
		errs = append(errs, git.AddIntent(r.t.Context(), dir))
		run(dir, "diff", "--name-status", "-z", "HEAD", "--")
		patch := run(dir, "diff", "--binary", "HEAD", "--")
		r.write("../patch", patch)
		run(dir, "apply", "--reverse", "--check", "--", filepath.Join(filepath.Dir(r.dir), "patch"))
		run(dir, "reset", "--hard", "--quiet")
		run(dir, "apply", "--whitespace=nowarn", "--", filepath.Join(filepath.Dir(r.dir), "patch"))
	}
	if len(dirs) > 1 {
		run(r.dir, "worktree", "remove", "--force", "--", worktree)
	}
	run(r.dir, "worktree", "list", "--porcelain")
	run(r.dir, "worktree", "prune")
	return errors.Join(errs...)
}

func TestARepositoryCannotMakeGitRunPrograms(t *testing.T) {
	t.Parallel()
	effort.Heavy(t)
	for name, tt := range traps {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			control := armed(t, tt)
			out, _ := control.sprung(tt)
			if _, err := os.Stat(control.mark); err != nil && tt.newer {
				t.Skip("this git knows no such trap")
			}
			require.FileExists(t, control.mark, "the trap is broken: plain git says %s", out)

			r := armed(t, tt)
			err := everything(r)
			if tt.also != nil {
				_, alsoErr := git.Run(t.Context(), r.dir, tt.also...)
				err = errors.Join(err, alsoErr)
			}
			if !tt.fails {
				require.NoError(t, err)
			}
			if told, err := os.ReadFile(r.mark); err == nil {
				assert.Fail(t, "the trap sprang", string(told))
			}
		})
	}
}

// sprung runs plain git, which runs the trap.
func (r *repo) sprung(tt trap) (string, error) {
	r.t.Helper()
	if !tt.screen {
		return r.try("git", tt.springs...)
	}
	if runtime.GOOS != "linux" {
		r.t.Skip("script(1) is another program there")
	}
	return r.try("script", "--quiet", "--return", "--command", "git "+strings.Join(tt.springs, " "), os.DevNull)
}
