package git

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"flame/core"
)

const (
	// transportPatience bounds one call that speaks to a remote.
	transportPatience = 10 * time.Minute
	// transportMemory bounds what each of its processes may allocate, in bytes.
	transportMemory = 4 << 30
)

// An Update is what is to become of a ref of a remote.
type Update struct {
	Ref    string
	Commit string // empty: there is to be no such ref
}

// Fetch fetches what one ref of a remote has into dir's repository, and returns its
// id. No ref of the repository changes.
func Fetch(ctx context.Context, dir string, from Remote, ref string) (id string, err error) {
	if err := checkRef(ref); err != nil {
		return "", err
	}
	err = carry(ctx, dir, func(c carrier) error {
		options := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"}
		if _, err := c.speak(ctx, from, options, "--upload-pack", "+"+ref+":"+ref); err != nil {
			return err
		}
		id, err = c.run(ctx, "rev-parse", "--verify", "--quiet", ref)
		return err
	})
	return strings.TrimSpace(id), err
}

// Push changes refs of a remote to commits of dir's repository, whatever they were.
func Push(ctx context.Context, dir string, to Remote, updates ...Update) error {
	specs := []string{}
	for _, u := range updates {
		if err := errors.Join(checkRef(u.Ref), checkID(cmp.Or(u.Commit, strings.Repeat("0", 40)))); err != nil {
			return err
		}
		specs = append(specs, "+"+u.Commit+":"+u.Ref)
		if u.Commit == "" {
			specs[len(specs)-1] = ":" + u.Ref
		}
	}
	return carry(ctx, dir, func(c carrier) error {
		options := []string{"push", "--quiet", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no"}
		_, err := c.speak(ctx, to, options, "--receive-pack", specs...)
		return err
	})
}

// Refs returns the refs of a remote whose names begin so.
func Refs(ctx context.Context, dir string, of Remote, prefix string) (refs []string, err error) {
	if err := checkRef(prefix); err != nil {
		return nil, err
	}
	err = carry(ctx, dir, func(c carrier) error {
		list, err := c.speak(ctx, of, []string{"ls-remote", "--quiet", "--refs"}, "--upload-pack", prefix+"*")
		for line := range strings.Lines(list) {
			if _, ref, _ := strings.Cut(strings.TrimSpace(line), "\t"); strings.HasPrefix(ref, prefix) {
				refs = append(refs, ref)
			}
		}
		return err
	})
	return refs, err
}

// Bundle writes a commit of dir's repository with its whole history as a bundle, in
// which it is at a ref. More than max bytes are an error with the cause ErrTooMuch.
func Bundle(ctx context.Context, dir, commit, ref string, to io.Writer, limit int64) error {
	if err := errors.Join(checkID(commit), checkRef(ref)); err != nil {
		return err
	}
	return carry(ctx, dir, func(c carrier) error {
		if _, err := c.run(ctx, "update-ref", ref, commit); err != nil {
			return err
		}
		bundle := c.call("bundle", "create", "--quiet", "-", ref)
		bundle.output = &bounded{to: to, max: limit}
		_, err := bundle.run(ctx)
		return err
	})
}

// Unbundle takes what a bundle has at a ref into dir's repository, and returns its
// id. No ref of the repository changes.
func Unbundle(ctx context.Context, dir, file, ref string) (id string, err error) {
	if err := checkRef(ref); err != nil {
		return "", err
	}
	err = carry(ctx, dir, func(c carrier) error {
		list, err := c.run(ctx, "bundle", "unbundle", file, ref)
		id, _, _ = strings.Cut(list, " ")
		return err
	})
	return id, err
}

// refs matches the names of refs that are safe in any place.
var refs = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^refs(/[A-Za-z0-9][A-Za-z0-9_-]*)+/?$`) })

func checkRef(ref string) error {
	if len(ref) > 300 || !refs().MatchString(ref) {
		return core.Invalidf("%q is no name of a ref", core.OneLine(ref, 80))
	}
	return nil
}

// ids matches ids of objects.
var ids = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`) })

func checkID(id string) error {
	if !isID(id) {
		return core.Invalidf("%q is no id of a commit", core.OneLine(id, 80))
	}
	return nil
}

func isID(id string) bool { return ids().MatchString(id) }

// A carrier is an empty repository of flame's own, with the objects of another. Git
// speaks to remotes and packs objects there, so that the other's configuration, which
// is not trusted, has no say, and the user's has: credentials, proxies, ssh.
type carrier struct {
	dir, objects string
}

// carry runs f with a carrier for dir's repository.
func carry(ctx context.Context, dir string, f func(carrier) error) error {
	told, err := Run(ctx, dir, "rev-parse", "--show-object-format", "--path-format=absolute", "--git-path", "objects")
	if err != nil {
		return err
	}
	format, objects, _ := strings.Cut(strings.TrimSuffix(told, "\n"), "\n")
	known, err := Run(ctx, dir, "for-each-ref", "--format=%(objectname) %(refname)", "refs/flame")
	if err != nil {
		return err
	}
	temporary, err := os.MkdirTemp("", "flame-git-")
	if err == nil {
		defer os.RemoveAll(temporary)
		err = Skeleton(temporary, format, true)
	}
	if err == nil {
		// What is known already is not fetched again.
		err = os.WriteFile(filepath.Join(temporary, "packed-refs"), []byte(known), 0o600)
	}
	if err != nil {
		return core.Unavailablef(err, "git needs a folder of flame's: %v", err).WithHint("TMPDIR says where")
	}
	return f(carrier{dir: temporary, objects: objects})
}

// Skeleton makes an empty repository, without asking git, in dir, which exists: bare
// there, or else in its folder .git. The format of ids is sha1 or sha256.
func Skeleton(dir, format string, bare bool) error {
	settings := "[core]\n\trepositoryFormatVersion = 0\n\tbare = true\n"
	if !bare {
		settings, dir = "[core]\n\trepositoryFormatVersion = 0\n\tbare = false\n", filepath.Join(dir, ".git")
	}
	if format == "sha256" {
		settings = strings.Replace(settings, "Version = 0", "Version = 1", 1) + "[extensions]\n\tobjectFormat = sha256\n"
	}
	// Nothing is cleared away on the occasion: objects of a carrier are another's.
	settings += "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[push]\n\tgpgSign = false\n[credential]\n\tinteractive = false\n"
	return errors.Join(
		os.MkdirAll(filepath.Join(dir, "refs"), 0o700),
		os.MkdirAll(filepath.Join(dir, "objects"), 0o700),
		os.WriteFile(filepath.Join(dir, "config"), []byte(settings), 0o600),
		os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/none\n"), 0o600),
	)
}

// call returns a call in the carrier.
func (c carrier) call(args ...string) call {
	return call{
		dir: c.dir, args: args, env: []string{"GIT_DIR=" + c.dir, "GIT_OBJECT_DIRECTORY=" + c.objects},
		patience: transportPatience, memory: transportMemory,
	}
}

func (c carrier) run(ctx context.Context, args ...string) (string, error) {
	return c.call(args...).run(ctx)
}

// speak runs a command on a remote. The option names the program at the other end,
// which for a folder is another git on this machine.
func (c carrier) speak(ctx context.Context, r Remote, command []string, option string, args ...string) (string, error) {
	spoken := c.call()
	spoken.secret = r.secret()
	if r.IsFolder() {
		settings, err := quietFor(ctx, call{dir: r.path, env: []string{"GIT_DIR=" + gitDir(r.path)}})
		if settings != "" {
			defer os.Remove(settings)
		}
		if err != nil {
			return "", err
		}
		other := "git -c include.path='" + strings.ReplaceAll(settings, "'", `'\''`) + "' -c receive.autoGC=false " + strings.TrimPrefix(option, "--")
		command = append(command, option+"="+other)
		spoken.env = append(spoken.env, "GIT_ALLOW_PROTOCOL=file")
	} else {
		ssh, err := c.ssh(ctx)
		if err != nil {
			return "", err
		}
		spoken.env = append(spoken.env, "GIT_ALLOW_PROTOCOL=https:ssh", "GIT_SSH_COMMAND="+ssh,
			"SSH_ASKPASS=", "SSH_ASKPASS_REQUIRE=never", "GCM_INTERACTIVE=never")
	}
	spoken.args = append(append(command, "--", r.raw), args...)
	return spoken.run(ctx)
}

// gitDir returns the repository in a folder that is bare, or a checkout.
func gitDir(dir string) string {
	if info, err := os.Stat(filepath.Join(dir, ".git")); err == nil && info.IsDir() {
		return filepath.Join(dir, ".git")
	}
	return dir
}

// ssh returns the user's command for ssh, so that it asks nothing and leaves no
// process behind.
func (c carrier) ssh(ctx context.Context) (string, error) {
	values, err := c.run(ctx, "config", "--get-all", "-z", "core.sshCommand")
	if err != nil {
		return "", err
	}
	all := strings.Split(strings.TrimSuffix(values, "\x00"), "\x00")
	command := "ssh"
	if len(all) > 1 { // the last is ours
		command = all[len(all)-2]
	}
	if words := strings.Fields(command); len(words) == 0 || filepath.Base(words[0]) != "ssh" {
		return command, nil // of a program whose options are others
	}
	return command + " -oBatchMode=yes -oControlMaster=no", nil
}
