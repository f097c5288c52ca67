package git

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"flame/core"
)

const (
	// transportPatience bounds one call that connects to a remote.
	transportPatience = 10 * time.Minute
	// transportMemory bounds the memory of each of its processes, in bytes.
	transportMemory = 4 << 30
)

// An Update is a change of a ref of a remote.
type Update struct {
	Ref    string
	Commit string // its new commit; empty: Push deletes the ref
}

// Fetch fetches the commit of one ref of a remote into dir's repository, and returns its id.
// It changes no ref of the repository.
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

// Push sets refs of a remote to commits of dir's repository, whatever their values.
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

// Refs returns the refs of a remote whose names begin with prefix.
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

// refs matches names of refs that are safe in all arguments.
var refs = core.Pattern(`^refs(/[A-Za-z0-9][A-Za-z0-9_-]*)+/?$`)

func checkRef(ref string) error {
	if len(ref) > 300 || !refs().MatchString(ref) {
		return core.Invalidf("%q is not the name of a ref", core.OneLine(ref, 80))
	}
	return nil
}

// ids matches ids of objects.
var ids = core.Pattern(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

func checkID(id string) error {
	if !ids().MatchString(id) {
		return core.Invalidf("%q is not the id of a commit", core.OneLine(id, 80))
	}
	return nil
}

// A carrier is an empty repository of flame's own with the objects of another repository. In
// it, git connects to remotes and packs objects without the configuration of the other
// repository, which flame does not trust, but with the user's: credentials, proxies, ssh.
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
		err = InitEmpty(temporary, format, true)
	}
	if err == nil {
		// Git does not fetch commits that it knows.
		err = os.WriteFile(filepath.Join(temporary, "packed-refs"), []byte(known), 0o600)
	}
	if err != nil {
		return core.Unavailablef(err, "flame cannot make a folder for git: %v", err).WithHint("TMPDIR names the folder above it")
	}
	return f(carrier{dir: temporary, objects: objects})
}

// InitEmpty makes an empty repository in the existing folder dir, without git: a bare one, or
// else in its folder .git. The format of ids is sha1 or sha256.
func InitEmpty(dir, format string, bare bool) error {
	settings := "[core]\n\trepositoryFormatVersion = 0\n\tbare = true\n"
	if !bare {
		settings, dir = "[core]\n\trepositoryFormatVersion = 0\n\tbare = false\n", filepath.Join(dir, ".git")
	}
	if format == "sha256" {
		settings = strings.Replace(settings, "Version = 0", "Version = 1", 1) + "[extensions]\n\tobjectFormat = sha256\n"
	}
	// Git must not clean up by itself: the objects of a carrier belong to another repository.
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

// speak runs a command on a remote. The option names the program at the other end. For a
// folder that is another git on this machine.
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

// ssh returns the user's command for ssh, with options so that it asks nothing and leaves no
// process running.
func (c carrier) ssh(ctx context.Context) (string, error) {
	values, err := c.run(ctx, "config", "--get-all", "-z", "core.sshCommand")
	if err != nil {
		return "", err
	}
	all := strings.Split(strings.TrimSuffix(values, "\x00"), "\x00")
	command := "ssh"
	if len(all) > 1 { // the last value is flame's
		command = all[len(all)-2]
	}
	if words := strings.Fields(command); len(words) == 0 || filepath.Base(words[0]) != "ssh" {
		return command, nil // another program, with other options
	}
	return command + " -oBatchMode=yes -oControlMaster=no", nil
}
