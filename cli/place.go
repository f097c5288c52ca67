package cli

import (
	"os"
	"path/filepath"

	"flame/core"
	"flame/project"
)

// place finds the project that the command works on. FLAME_DIR may be given
// relative to it, so that all its subfolders share the data.
func (a *App) place() (place project.Place, err error) {
	if dir := a.Settings.ProjectDir; dir != "" {
		place, err = placeGiven(dir)
	} else {
		place, err = placeAround()
	}
	if dir := a.Settings.Dir; dir != "" && err == nil {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(place.Dir, dir)
		}
		place.Data = dir
	}
	return place, err
}

// placeGiven is the place that FLAME_PROJECT_DIR names.
func placeGiven(dir string) (project.Place, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return project.Place{}, core.NotFoundf("FLAME_PROJECT_DIR is %s, which is not a folder", dir).WithHint("name a folder that exists, or leave it unset")
	}
	dir, err := filepath.Abs(dir)
	return project.At(dir), err
}

// placeAround is the place that the folder of Claude Code's session, else the
// working folder, lies in.
func placeAround() (place project.Place, err error) {
	start := os.Getenv("CLAUDE_PROJECT_DIR")
	if start == "" {
		if start, err = os.Getwd(); err != nil {
			return place, core.NotFoundf("the working folder is gone").WithHint("change to a folder that exists")
		}
	}
	home, _ := os.UserHomeDir() // without one, the search goes up to the top
	return project.Locate(start, home)
}
