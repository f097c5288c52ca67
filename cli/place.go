package cli

import (
	"os"

	"flame/core"
	"flame/project/place"
)

// place finds the project that the command works on, and where its data lies.
func (a *App) place() (place.Place, error) {
	home, _ := os.UserHomeDir() // without one, the search goes up to the top
	at, err := a.locate(home)
	if err != nil {
		return at, err
	}
	around := place.Surroundings{FlameDir: a.Settings.Dir, DataHome: os.Getenv("XDG_DATA_HOME"), Home: home}
	at.Data = place.FolderOf(at, around, a.FirstCommit)
	return at, nil
}

// locate finds the project by FLAME_PROJECT_DIR, else around the folder of the host's
// session, else around the working folder.
func (a *App) locate(home string) (place.Place, error) {
	start, err := os.Getwd()
	if dir := a.Settings.ProjectDir; dir != "" {
		return place.Given(dir, start, home)
	}
	if dir := a.Hosts.Folder(os.Getenv); dir != "" {
		return place.Locate(dir, home)
	}
	if err != nil {
		return place.Place{}, core.NotFoundf("the working folder is gone").WithHint("change to a folder that exists")
	}
	return place.Locate(start, home)
}
