package carry

import (
	"path"
	"slices"
	"strings"

	"flame/git"
)

// Matches reports whether a pattern such as github.com/me/* covers a remote, however
// that is addressed. A * stands for one part of a path, ** at the end for all that
// follow. Folders of a machine are covered by patterns such as file:/path/* alone.
func Matches(remote string, patterns []string) bool {
	r, err := git.ParseRemote(remote)
	return err == nil && covered(r, patterns)
}

func covered(r git.Remote, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		pattern = plainPattern(pattern)
		return strings.HasPrefix(pattern, "file:") == r.IsFolder() && covers(pattern, r.Name())
	})
}

// plainPattern returns a pattern in the form of a remote's name.
func plainPattern(pattern string) string {
	if folder, isFile := strings.CutPrefix(pattern, "file:"); isFile {
		return "file:/" + strings.TrimSuffix(strings.Trim(folder, "/"), ".git")
	}
	_, rest, isURL := strings.Cut(pattern, "://")
	if !isURL {
		rest = pattern
	}
	host, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	if name, folder, found := strings.Cut(host, ":"); found && !isURL && strings.Trim(folder, "0123456789") != "" {
		host, path = name, strings.Trim(folder+"/"+path, "/") // host:path
	}
	whole := strings.ToLower(host) + "/" + path
	return strings.TrimSuffix(strings.TrimSuffix(whole, "/"), ".git")
}

// covers reports whether a pattern covers a name.
func covers(pattern, name string) bool {
	if pattern == "**" {
		return true
	}
	if above, deep := strings.CutSuffix(pattern, "/**"); deep {
		parts, n := strings.Split(name, "/"), strings.Count(above, "/")+1
		if len(parts) <= n {
			return false
		}
		pattern, name = above, strings.Join(parts[:n], "/")
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
