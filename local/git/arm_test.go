package git_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// everyHook names the hooks of githooks(5).
var everyHook = strings.Fields(`applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg
	post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update
	reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman p4-changelist
	p4-prepare-changelist p4-post-changelist p4-pre-submit post-index-change`)

func set(steps ...func(*repo)) func(*repo) {
	return func(r *repo) {
		for _, step := range steps {
			step(r)
		}
	}
}

// filled fills the paths of the trap and its mark into a text.
func (r *repo) filled(text string) string {
	return strings.NewReplacer("TRAP", r.trap, "MARK", r.mark).Replace(text)
}

func config(pairs ...string) func(*repo) {
	return func(r *repo) {
		for pair := range slices.Chunk(pairs, 2) {
			r.plain("config", "--add", r.filled(pair[0]), r.filled(pair[1]))
		}
	}
}

func file(path, text string) func(*repo) {
	return func(r *repo) { r.write(path, r.filled(text)) }
}

func attributes(text string) func(*repo) { return file(".git/info/attributes", "* "+text+"\n") }

func hooks(dir string, names ...string) func(*repo) {
	return func(r *repo) {
		for _, name := range names {
			r.write(filepath.Join(dir, name), "#!/bin/sh\n"+r.trap+"\n")
			require.NoError(r.t, os.Chmod(filepath.Join(r.dir, dir, name), 0o700))
		}
	}
}

func filter(name, key string) func(*repo) {
	return set(attributes("filter="+name), config("filter."+name+"."+key, "TRAP; cat"))
}

func manyFilters(n int) func(*repo) {
	return func(r *repo) {
		was, err := os.ReadFile(filepath.Join(r.dir, ".git", "config"))
		require.NoError(r.t, err)
		var all strings.Builder
		all.Write(was)
		for i := range n {
			fmt.Fprintf(&all, "[filter \"f%d\"]\nclean = %s\nsmudge = %s\n", i, r.trap, r.trap)
		}
		r.write(".git/config", all.String())
	}
}

// recommit commits all files, and disturbs the checkout.
func recommit(r *repo) {
	r.commit("all")
	r.disturb(r.dir)
}

// conflict leaves a patch that cannot be applied without a merge.
func conflict(r *repo) {
	r.plain("checkout", "--quiet", "changed")
	r.write("touched", "patch\n")
	r.write("../conflict.patch", r.plain("diff", "--full-index", "touched")+"\n")
	r.write("touched", "other\n")
	r.commit("other")
}

// signature makes HEAD a commit with a signature of this kind.
func signature(kind string) func(*repo) {
	return func(r *repo) {
		head, body, _ := strings.Cut(r.plain("cat-file", "commit", "HEAD"), "\n\n")
		r.write("../commit", head+"\ngpgsig -----BEGIN "+kind+"-----\n x\n -----END "+kind+"-----\n\n"+body+"\n")
		r.plain("update-ref", "HEAD", r.plain("hash-object", "-t", "commit", "-w", "../commit"))
	}
}

func alternates(r *repo) {
	r.plain("clone", "--quiet", ".", "../other")
	r.write(".git/objects/info/alternates", filepath.Join(r.dir, "..", "other", ".git", "objects")+"\n")
}

// missing makes the repository a partial clone that lacks a file. The settings name the remote
// that has it.
func missing(pairs ...string) func(*repo) {
	return func(r *repo) {
		hash := r.plain("rev-parse", "HEAD:folder/file")
		config("core.repositoryFormatVersion", "1", "extensions.partialClone", "x")(r)
		config(append(pairs, "remote.x.promisor", "true", "protocol.allow", "always")...)(r)
		require.NoError(r.t, os.Remove(filepath.Join(r.dir, ".git", "objects", hash[:2], hash[2:])))
	}
}

// submodule makes the folder mod a submodule with a trap in its own configuration.
func submodule(key string) func(*repo) {
	return func(r *repo) {
		mod := r.mod()
		mod.plain("init", "--quiet", ".")
		mod.write("file", "one\n")
		mod.commit("first")
		r.write(".gitmodules", "[submodule \"mod\"]\npath = mod\nurl = ./mod\nignore = none\n")
		recommit(r)
		mod.write("file", "two\n")
		mod.plain("config", key, r.trap)
		mod.write(".git/info/attributes", "* filter=x\n")
		later := time.Now().Add(time.Minute)
		require.NoError(r.t, os.Chtimes(filepath.Join(mod.dir, "file"), later, later))
	}
}

// mod is the submodule.
func (r *repo) mod() *repo {
	return &repo{t: r.t, dir: filepath.Join(r.dir, "mod")}
}

// ahead adds a commit to the submodule that the repository does not know.
func ahead(r *repo) {
	r.mod().write("file", "three\n")
	r.mod().commit("second")
}
