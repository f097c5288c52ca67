package place

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"flame/config/env"
	"flame/core"
)

// Surroundings are the parts of the environment that decide where data is.
type Surroundings struct {
	FlameDir string // FLAME_DIR; empty: not set
	DataHome string // XDG_DATA_HOME; empty: not set
	Home     string // the user's home folder; empty: not known
}

// base returns the folder for the data of all projects: FLAME_DIR, or else the folder
// flame in the user's data folder (XDG base directories). It is never in a checkout: a
// repository can make its host set variables.
func (s Surroundings) base() (string, error) {
	base, from := s.FlameDir, env.Dir
	switch {
	case base != "":
	case filepath.IsAbs(s.DataHome):
		base, from = filepath.Join(s.DataHome, "flame"), "XDG_DATA_HOME"
	case filepath.IsAbs(s.Home) && filepath.Clean(s.Home) != "/":
		base, from = filepath.Join(s.Home, ".local", "share", "flame"), "HOME"
	default:
		return "", core.Unavailablef(nil, "there is no place for data: HOME is %q, which is not a home folder", s.Home).
			WithHint("set " + env.Dir + " to a folder of your own, by an absolute path, outside of any checkout")
	}
	if !filepath.IsAbs(base) {
		return "", core.Invalidf("%s is %q, which is not an absolute path", from, base).
			WithHint("name a folder by its absolute path, outside of any checkout")
	}
	base = filepath.Clean(base)
	for dir := range upwards(base, s.Home) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return "", core.Invalidf("the data would lie in the checkout %s, by %s", dir, from).
				WithHint("set " + env.Dir + " to a folder outside of any checkout: what a repository holds is never taken for flame's data")
		}
	}
	return base, nil
}

// maxName limits the readable part of a data folder's name, in bytes.
const maxName = 40

// folderName returns the name of the data folder of the project at a real path. The first
// part is for people, the digits distinguish projects.
func folderName(path string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, filepath.Base(path))
	plain = strings.Trim(plain[:min(len(plain), maxName)], ".-")
	if plain == "" {
		plain = "project"
	}
	return fmt.Sprintf("%s-%x", plain, sha256.Sum256([]byte(path)))[:len(plain)+11]
}
