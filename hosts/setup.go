package hosts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"flame/core"
	"flame/local/safefile"
)

// A Setup connects flame to a host. Install and Remove only return a plan; Apply carries it
// out. A plan is empty if there is nothing left to do.
type Setup interface {
	// Install plans what is missing for flame to work in the host. If the host
	// is not on PATH, or has no such scope, it returns a Problem of kind
	// core.ErrNotFound, with ByHand or what to do instead as hint.
	Install(ctx context.Context, scope Scope) ([]SetupStep, error)
	// Remove plans how to undo Install for one scope.
	Remove(ctx context.Context, scope Scope) ([]SetupStep, error)
	// Status returns the current state. It does not start flame.
	Status(ctx context.Context) (Status, error)
}

// A Scope says which projects a host is set up for.
type Scope string

// The scopes, named as Claude Code names them.
const (
	ScopeUser    Scope = "user"    // all projects of this user
	ScopeProject Scope = "project" // one project, by files that may be committed with it
)

// A SetupStep is one change to the machine.
type SetupStep struct {
	Description string // its description, which begins with a verb: "write …"
	Do          func(context.Context) error
}

// Apply carries out the steps in order until one fails, and calls done after each successful
// step.
func Apply(ctx context.Context, steps []SetupStep, done func(SetupStep)) error {
	for _, step := range steps {
		if err := step.Do(ctx); err != nil {
			return core.Unavailablef(err, "could not %s: %v", step.Description, err).
				WithHint("fix that and run the same command again: it continues where it stopped")
		}
		done(step)
	}
	return nil
}

// LeanTools is the profile of tools (FLAME_TOOLS) for hosts that send all tools with each request.
const LeanTools = "lean"

// ServesLean returns the arguments with which such a host starts flame's server: the profile applies
// unless the user chose another.
func ServesLean() []string { return []string{"serve", "--tools", LeanTools} }

// A Status says how flame is set up in one host.
type Status struct {
	Program          string         // path of the host's program; empty, like Version, if it is not on PATH
	Version          string         // as the host itself prints it
	Installed        []Installation // by setup
	ByHand           []Registration // by anyone else
	AvailableVersion string         // version of the plugin that setup would install
	Tools            string         // value of FLAME_TOOLS that the installed server gets unless the user chose one; empty: none
	Refused          string         // why the host does not load the installation; empty: it does, as far as flame knows
	Consent          core.Finding   // what the user must still allow in the host before all of the installation works; zero: nothing
	ManualWins       bool           // with both kinds, the host starts only the registration by hand
}

// RegisteredTwice reports whether flame is registered both by setup and by hand. The
// host then starts it twice, unless ManualWins.
func (s Status) RegisteredTwice() bool { return len(s.Installed) > 0 && len(s.ByHand) > 0 }

// An Installation is an installation of flame in a host by setup.
type Installation struct {
	Scope   Scope
	Where   string // the file or folder that holds it
	Current bool   // this flame would install the same
	Off     bool   // the user has turned it off in the host
}

// A Registration is an entry for flame that no setup made.
type Registration struct {
	Name   string // the entry's name in the host
	File   string // the file that holds it
	Undo   string // what removes it: a command, or what to delete
	Plugin bool   // it is a plugin with hooks, as setup installs one, from a marketplace or from npm
}

// IsFlame reports whether a server is flame's, according to the host's name for it or the
// program that the host starts.
func IsFlame(name, command string) bool {
	return name == "flame" || filepath.Base(command) == "flame"
}

// Binary returns the path at which flame is installed for its hosts, which then find it
// regardless of their PATH.
func (m Machine) Binary() string {
	return filepath.Join(m.Home, ".local", "bin", "flame")
}

// hubBinary returns the path of flame-hub, which flame finds beside itself.
func (m Machine) hubBinary() string { return m.Binary() + "-hub" }

// InstallBinary plans to copy the program at source (a path, as from os.Executable) to Binary, and
// the flame-hub beside it, if there is one.
func (m Machine) InstallBinary(source string) (steps []SetupStep, err error) {
	if SameFolder(source, m.Binary()) {
		return nil, nil
	}
	for _, to := range []string{m.Binary(), m.hubBinary()} {
		program, err := os.ReadFile(source)
		if to == m.hubBinary() && errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read this program: %w", err)
		}
		one, err := m.Files(ScopeUser).Write(to, program, 0o755)
		if err != nil {
			return nil, err
		}
		steps, source = append(steps, one...), filepath.Join(filepath.Dir(source), filepath.Base(m.hubBinary()))
	}
	return steps, nil
}

// RemoveBinary plans to delete both programs after flame was removed from the last host.
func (m Machine) RemoveBinary() []SetupStep {
	stop := filepath.Dir(m.Binary())
	return append(m.Files(ScopeUser).Remove(m.Binary(), stop), m.Files(ScopeUser).Remove(m.hubBinary(), stop)...)
}

// Greatest sizes of settings files in bytes: of a project's, and of the user's own, in which
// hosts also keep their histories.
const (
	maxProjects = 4 << 20
	maxOwn      = 64 << 20
)

// Files are the settings files of one scope. Links in the user's own files may lead anywhere.
// A project's files came with a repository, so flame neither reads nor writes through a link that
// leads out of the project's folder.
type Files struct {
	project string // its folder; empty for the user's own
}

// Files returns the files of a scope. A project that contains the user's home
// counts as the user's own.
func (m Machine) Files(scope Scope) Files {
	if home, err := filepath.Rel(m.ProjectDir, m.Home); scope == ScopeUser || err == nil && filepath.IsLocal(home) {
		return Files{}
	}
	return Files{m.ProjectDir}
}

// look calls look with the folder through which to reach a path, the name of the path there,
// and how many bytes may be read.
func (f Files) look(path string, look func(in safefile.Folder, name string, max int64) error) error {
	if f.project == "" {
		return told(path, look(safefile.Follow(""), path, maxOwn))
	}
	return f.inProject(path, func(root *safefile.Root, name string) error { return look(root.Folder, name, maxProjects) })
}

// inProject calls f with the project's folder, and a path's name in it.
func (f Files) inProject(path string, do func(root *safefile.Root, name string) error) error {
	name, err := filepath.Rel(f.project, path)
	if err != nil {
		return err
	}
	root, err := safefile.Open(f.project)
	if err != nil {
		return err
	}
	defer root.Close()
	return told(path, do(root, filepath.ToSlash(name)))
}

// told returns a refusal as a Problem with a hint, and adds the path to other errors.
func told(path string, err error) error {
	var refused safefile.Refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return core.Invalidf("%s %v", path, refused).
			WithHint("flame uses only plain files and follows no link out of a project: put such a file or folder in its place")
	}
	return fmt.Errorf("%s: %w", path, err)
}

// IsMissing reports whether an error says that there is no such file.
func IsMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Read returns the content of a settings file. If it is not a plain file, or
// leads out of the project, the error is a Problem.
func (f Files) Read(path string) (content []byte, err error) {
	err = f.look(path, func(in safefile.Folder, name string, max int64) (err error) {
		content, err = in.ReadFile(name, max)
		return err
	})
	return content, err
}

// Check returns a Problem if a path is something other than a plain file, or if
// a link leads out of the project.
func (f Files) Check(path string) error {
	if _, err := f.Read(path); err != nil && !IsMissing(err) {
		return err
	}
	return nil
}

// Write returns the step that gives path this content and mode atomically: a
// reader finds the old file or the new one. It returns no step if nothing would
// change.
func (f Files) Write(path string, content []byte, mode fs.FileMode) ([]SetupStep, error) {
	same := false
	err := f.look(path, func(in safefile.Folder, name string, _ int64) (err error) {
		same, err = isSo(in, name, content, mode)
		return err
	})
	if same || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return []SetupStep{{Description: "write " + path, Do: func(context.Context) error { return f.replace(path, content, mode) }}}, nil
}

// isSo reports whether a file has this content and mode.
func isSo(in safefile.Folder, name string, content []byte, mode fs.FileMode) (bool, error) {
	file, err := in.Open(name)
	if err != nil {
		return false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() != int64(len(content)) || info.Mode().Perm() != mode {
		return false, err
	}
	there, err := io.ReadAll(io.LimitReader(file, info.Size()))
	return bytes.Equal(there, content), err
}

func (f Files) replace(path string, content []byte, mode fs.FileMode) error {
	if f.project == "" {
		return replace(path, content, mode)
	}
	return f.inProject(path, func(root *safefile.Root, name string) error { return root.Replace(name, content, mode) })
}

// replace writes a new file and renames it to path. It follows links in the path's folder.
func replace(path string, content []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	dir, err := safefile.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Replace(filepath.Base(path), content, mode)
}

// Remove returns the step that deletes path and the folders above it that are
// then empty, up to but excluding stop, or the project's folder.
func (f Files) Remove(path, stop string) []SetupStep {
	if _, err := os.Lstat(path); err != nil {
		return nil
	}
	return []SetupStep{{Description: "delete " + path, Do: func(context.Context) error { return f.remove(path, stop) }}}
}

func (f Files) remove(path, stop string) error {
	if f.project != "" {
		return f.inProject(path, func(root *safefile.Root, name string) error { return root.Remove(name) })
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	for dir := filepath.Dir(path); dir != stop && len(dir) > len(stop); dir = filepath.Dir(dir) {
		if syscall.Rmdir(dir) != nil {
			break // the folder has other content, or it is a link of the user
		}
	}
	return nil
}

// WriteFolder returns the step after which dir has exactly these files, by their paths in it.
// The new folder is complete before it replaces the old one.
func WriteFolder(dir string, files map[string][]byte) []SetupStep {
	if holds(dir, files) {
		return nil
	}
	return []SetupStep{{Description: "write " + dir, Do: func(context.Context) error {
		return replaceFolder(dir, files)
	}}}
}

func replaceFolder(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	beside, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(beside)
	fresh := filepath.Join(beside, "new")
	for name, content := range files {
		if err := replace(filepath.Join(fresh, filepath.FromSlash(name)), content, 0o644); err != nil {
			return err
		}
	}
	if err := os.Rename(dir, filepath.Join(beside, "old")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(fresh, dir)
}

// errDiffers ends a comparison.
var errDiffers = errors.New("it differs")

// holds reports whether dir has these files and no others.
func holds(dir string, files map[string][]byte) bool {
	found := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		want, ours := files[filepath.ToSlash(name)]
		if there, err := safefile.ReadFile(path, int64(len(want))); !ours || err != nil || !bytes.Equal(there, want) {
			return errDiffers
		}
		found++
		return nil
	})
	return err == nil && found == len(files)
}

// comment matches a comment or a string: what looks like a comment in a string
// is text.
var comment = core.Pattern(`(?s)"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/`)

// trailing matches a comma before the end of a list or object, or a string.
var trailing = core.Pattern(`(?s)"(?:\\.|[^"\\])*"|,\s*[}\]]`)

// PlainJSON turns JSON with comments and trailing commas, as some hosts read it, into JSON.
func PlainJSON(jsonc []byte) []byte {
	plain := comment().ReplaceAllFunc(jsonc, func(found []byte) []byte {
		if found[0] == '/' {
			return []byte(" ")
		}
		return found
	})
	plain = trailing().ReplaceAllFunc(plain, func(found []byte) []byte {
		if found[0] == ',' {
			return found[1:]
		}
		return found
	})
	return bytes.TrimSpace(plain)
}
