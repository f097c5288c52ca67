package changes

import "flame/local/git"

// Matches reports whether patterns cover a remote.
func Matches(remote string, patterns []string) bool {
	r, err := git.ParseRemote(remote)
	return err == nil && covered(r, patterns)
}
