package plan

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"syscall"

	"flame/confine"
	"flame/core"
)

// workIn returns the folder that an agent works in: the project's, or one inside of
// it. Settings of other folders could allow more than the project's do.
func (pl Planner) workIn(dir string) (string, error) {
	if dir == "" {
		return pl.Dir, nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(pl.Dir, dir)
	}
	root, err := confine.Open(pl.Dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	name, err := filepath.Rel(pl.Dir, dir)
	if err != nil {
		return "", err
	}
	inside, err := root.Inside(name)
	if errors.Is(err, confine.Outside) {
		return "", core.Invalidf("cwd %s is not in the project %s", dir, pl.Dir).
			WithHint("name a folder of the project: the settings of others could allow the agent more")
	}
	if info, statErr := root.Stat(inside); err != nil || statErr != nil || !info.IsDir() {
		return "", core.NotFoundf("cwd %s is not a folder", dir).WithHint("name a folder that exists, or leave cwd out for the project's")
	}
	for folder := inside; folder != "."; folder = path.Dir(folder) {
		if found := settingsIn(root, folder, pl.Hosts.Settings()); found != "" {
			return "", core.Invalidf("cwd %s has settings of its own (%s)", dir, found).
				WithHint("name another folder of the project: those settings could allow the agent more")
		}
	}
	return dir, nil
}

// settingsIn returns a host's settings that a folder has; empty without any. What
// flame may not look at counts: a host may.
func settingsIn(root *confine.Root, folder string, settings []string) string {
	for _, name := range settings {
		_, err := root.Stat(path.Join(folder, name))
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return path.Join(folder, name)
		}
	}
	return ""
}
