package app

import (
	"cmp"
	"context"
	"os"

	"flame/agents/definition"
	"flame/cli/doctor"
	"flame/core"
	"flame/hosts"
	"flame/project/place"
)

// Place finds the project that the command works on, and where its data lies.
func (a *App) Place() (place.Place, error) {
	home, _ := os.UserHomeDir() // without one, the search goes up to the top
	at, err := a.locate(home)
	if err != nil {
		return at, err
	}
	return a.withData(at, home), nil
}

// PlaceOf returns the place of another project, by its folder.
func (a *App) PlaceOf(root string) place.Place {
	home, _ := os.UserHomeDir()
	return a.withData(place.At(root), home)
}

// WorktreeOf returns the root of the worktree that folder is in, if that is one of the
// project at a place, else the place's own.
func WorktreeOf(at place.Place, folder string) string {
	home, _ := os.UserHomeDir()
	if folder == "" {
		return at.Worktree
	}
	if around, err := place.Locate(folder, home); err == nil && around.Dir == at.Dir {
		return around.Worktree
	}
	return at.Worktree
}

// withData adds the data folder.
func (a *App) withData(at place.Place, home string) place.Place {
	around := place.Surroundings{FlameDir: a.Settings.Dir, DataHome: os.Getenv("XDG_DATA_HOME"), Home: home}
	at.Data = place.FolderOf(at, around, a.FirstCommit)
	return at
}

// locate finds the project: by FLAME_PROJECT_DIR, else around the folder of the
// host's session, else around the working folder.
func (a *App) locate(home string) (place.Place, error) {
	start, err := os.Getwd()
	if dir := a.Settings.ProjectDir; dir != "" {
		return place.Given(dir, start, home)
	}
	if dir := cmp.Or(a.Folder, a.Hosts.Folder(os.Getenv)); dir != "" {
		return place.Locate(dir, home)
	}
	if err != nil {
		return place.Place{}, core.NotFoundf("the working folder is gone").WithHint("change to a folder that exists")
	}
	return place.Locate(start, home)
}

// Machine returns this machine, seen from the project.
func (a *App) Machine() (hosts.Machine, error) {
	at, err := a.Place()
	if err != nil {
		return hosts.Machine{}, err
	}
	return hosts.ThisMachine(at.Worktree)
}

// Catalog reads the definitions that apply in this project.
func (a *App) Catalog() (definition.Catalog, error) {
	at, err := a.Place()
	if err != nil {
		return definition.Catalog{}, err
	}
	machine, _ := hosts.ThisMachine(at.Worktree) // without a home there are no definitions of the user's
	return definition.Load(a.Hosts, definition.Dirs(a.Hosts, machine)), nil
}

// Candidates returns data that may be this project's from before it was moved,
// as far as can be told.
func (a *App) Candidates(ctx context.Context, at place.Place) []place.Kept {
	found, err := at.Data.Candidates(ctx)
	if err != nil {
		return nil // reported by checkData, or unimportant
	}
	return found
}

// NoFrames says that there are no frames if none are shown, and names data that
// may belong to the project from before it was moved; otherwise it is empty.
func (a *App) NoFrames(ctx context.Context, shown int) string {
	at, err := a.Place()
	if err != nil || shown > 0 {
		return ""
	}
	text := "No frames yet in " + at.Dir + ". `flame push GOAL` starts one, `flame demo` shows how agents do it."
	for _, kept := range a.Candidates(ctx, at) {
		text += "\n" + doctor.MayBeOurs(kept) + "; `flame where --adopt " + kept.Name + "` takes it over"
	}
	return text
}
