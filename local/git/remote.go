package git

import (
	"context"
	"net/url"
	"path"
	"slices"
	"strings"

	"flame/core"
)

// A Remote is the address of another repository: by https, by ssh, or a folder.
type Remote struct {
	scheme string // https, ssh, scp (ssh as host:path), file
	user   string // with the password
	host   string // with the port; empty for a folder
	path   string // as in the URL
	raw    string // as the caller gave it
}

// addresses matches the valid forms of a remote: scheme, user, host, port, path.
var addresses = core.Pattern(`^(?:(https|ssh)://(?:([^/]*)@)?([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?/|` +
	`(?:([A-Za-z0-9_][A-Za-z0-9._-]*)@)?([A-Za-z0-9][A-Za-z0-9.-]*):)(.+)$`)

// ParseRemote parses the address of a remote: an https or ssh URL, host:path, an absolute
// path, or a file URL. It refuses all others, such as addresses that make git run a program
// (ext::), options, and addresses that two programs could read differently.
func ParseRemote(raw string) (Remote, error) {
	if dir, isURL := strings.CutPrefix(raw, "file://"); isURL || strings.HasPrefix(raw, "/") {
		if path.IsAbs(dir) && path.Clean(dir) == dir && !strings.ContainsFunc(dir, isOdd) {
			return Remote{scheme: "file", path: dir, raw: raw}, nil
		}
		return Remote{}, refusedRemote()
	}
	m := addresses().FindStringSubmatch(raw)
	if m == nil || strings.ContainsFunc(raw, isOdd) || strings.Contains(raw, " ") || !isPlainPath(strings.TrimPrefix(m[7], slashOf(m[1]))) {
		return Remote{}, refusedRemote()
	}
	r := Remote{scheme: m[1], user: m[2] + m[5], host: m[3] + m[4] + m[6], path: m[7], raw: raw}
	if r.scheme == "" {
		r.scheme = "scp"
	}
	if r.scheme == "ssh" && strings.HasPrefix(r.user, "-") {
		return Remote{}, refusedRemote()
	}
	return r, nil
}

// slashOf returns the slash with which a path may begin: the path in host:path may be
// absolute.
func slashOf(scheme string) string {
	if scheme == "" {
		return "/"
	}
	return ""
}

// refusedRemote returns the error for an address. It does not repeat the address, which may
// contain a password.
func refusedRemote() error {
	return core.Invalidf("flame does not use the address of the remote").
		WithHint("use an https or ssh URL, such as https://example.com/me/project.git")
}

func isOdd(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' || r == 0xfffd }

// isPlainPath reports whether all programs read a path of a URL in the same way.
func isPlainPath(p string) bool {
	plain, err := url.PathUnescape(p)
	if err != nil || strings.ContainsAny(p, "?#") || strings.ContainsFunc(plain, isOdd) {
		return false
	}
	plain = strings.TrimSuffix(plain, "/")
	return !slices.ContainsFunc(strings.Split(plain, "/"), func(part string) bool {
		return part == "" || part == "." || part == ".." || part[0] == '-' || part[0] == ':'
	})
}

// URL returns the address without user and password. It keeps the user "git", which all
// people share.
func (r Remote) URL() string {
	user := ""
	if r.user == "git" && r.scheme != "https" {
		user = "git@"
	}
	switch r.scheme {
	case "file":
		return "file://" + r.path
	case "scp":
		return user + r.host + ":" + r.path
	}
	return r.scheme + "://" + user + r.host + "/" + r.path
}

// Name returns the name of the remote, such as github.com/me/project, or file:/path for a
// folder. All addresses of a remote have the same name.
func (r Remote) Name() string {
	if r.IsFolder() {
		return "file:" + strings.TrimSuffix(r.path, ".git")
	}
	plain, err := url.PathUnescape(r.path)
	if err != nil {
		plain = r.path
	}
	host := strings.ToLower(r.host)
	host = strings.TrimSuffix(host, map[string]string{"https": ":443", "ssh": ":22"}[r.scheme])
	return host + "/" + strings.TrimSuffix(strings.Trim(plain, "/"), ".git")
}

// IsFolder reports whether the remote is a folder on this machine.
func (r Remote) IsFolder() bool { return r.scheme == "file" }

// secret returns the user and password in the address, if any.
func (r Remote) secret() string {
	if r.scheme == "https" || strings.Contains(r.user, ":") {
		return r.user
	}
	return ""
}

// Remotes returns the addresses from which dir's remote fetches and to which it pushes: of origin,
// or else of the remote that the current branch follows. Both are empty without a remote. It
// ignores the replacements that the repository configures (insteadOf).
func Remotes(ctx context.Context, dir string) (fetch, push string, err error) {
	followed, err := Run(ctx, dir, "for-each-ref", "--format=%(HEAD)%(upstream:remotename)", "refs/heads")
	if err != nil {
		return "", "", err
	}
	names := []string{"origin"}
	for line := range strings.Lines(followed) {
		if name, current := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "*"); current && name != "" {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if fetch, err = setting(ctx, dir, "remote."+name+".url"); err != nil || fetch == "" {
			continue
		}
		if push, err = setting(ctx, dir, "remote."+name+".pushurl"); push == "" {
			push = fetch
		}
		return fetch, push, err
	}
	return "", "", err
}

// setting returns the first value of a setting; empty if it has none.
func setting(ctx context.Context, dir, name string) (string, error) {
	values, err := call{dir: dir, args: []string{"config", "--get-all", "-z", name}}.run(ctx)
	if isNone(err) {
		return "", nil
	}
	value, _, _ := strings.Cut(values, "\x00")
	return value, err
}
