package tests

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/config/env"
	"flame/tests/clients"
	"flame/tests/effort"
	"flame/tests/model"
)

// released are the files of a release of the commit that is checked out, for this system, made
// once for all tests.
var released struct {
	once sync.Once
	dir  string
	err  error
}

// releaseFiles returns the folder with these files: FLAME_TEST_RELEASE, which has packages of
// systems, too, else a new one without.
func releaseFiles(t *testing.T) string {
	effort.Heavy(t)
	if dir := os.Getenv("FLAME_TEST_RELEASE"); dir != "" {
		return dir
	}
	released.once.Do(func() {
		if released.dir, released.err = os.MkdirTemp("", "flame-release-"); released.err == nil {
			released.err = makeRelease(filepath.Join(released.dir, "dist"))
		}
	})
	require.NoError(t, released.err)
	return filepath.Join(released.dir, "dist")
}

func makeRelease(out string) error {
	cmd := exec.Command("go", "run", "./tests/release", "-out", out, "-system", runtime.GOOS+"_"+runtime.GOARCH)
	cmd.Dir = ".."
	if said, err := cmd.CombinedOutput(); err != nil {
		return errors.Join(err, errors.New(string(said)))
	}
	return nil
}

// fileOf returns the only file of a release that a pattern matches.
func fileOf(t *testing.T, dist, pattern string) string {
	found, err := filepath.Glob(filepath.Join(dist, pattern))
	require.NoError(t, err)
	require.Len(t, found, 1, pattern)
	return found[0]
}

func TestTwoReleasesOfACommitAreTheSame(t *testing.T) {
	t.Parallel()
	dist, again := releaseFiles(t), filepath.Join(t.TempDir(), "elsewhere")
	require.NoError(t, makeRelease(again))
	entries, err := os.ReadDir(again)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(entries), 6)
	for _, entry := range entries {
		if entry.Name() == "SHA256SUMS" {
			continue // the other may have more files
		}
		first, err := os.ReadFile(filepath.Join(dist, entry.Name()))
		require.NoError(t, err)
		second, err := os.ReadFile(filepath.Join(again, entry.Name()))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(first, second), entry.Name())
	}
	check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = dist
	said, err := check.CombinedOutput()
	assert.NoError(t, err, string(said))
}

// installs are the ways to install flame from the files of a release, without Go and without a
// network. Each returns the program, and how to remove it.
var installs = map[string]func(u *user, dist string) (program string, remove func()){
	"archive": func(u *user, dist string) (string, func()) {
		u.tool("tar", "-xzf", fileOf(u.t, dist, "flame_*.tar.gz"), "-C", u.home)
		program := fileOf(u.t, u.home, "flame_*/flame")
		return program, func() { require.NoError(u.t, os.RemoveAll(filepath.Dir(program))) }
	},
	"npm": func(u *user, dist string) (string, func()) {
		to := filepath.Join(u.home, "npm")
		u.tool("npm", "install", "--global", "--offline", "--no-audit", "--no-fund", "--prefix", to,
			fileOf(u.t, dist, env.NPM+"-[0-9]*.tgz"), fileOf(u.t, dist, env.NPM+"-"+runtime.GOOS+"-*.tgz"))
		return filepath.Join(to, "bin", "flame"), func() {
			u.tool("npm", "uninstall", "--global", "--offline", "--prefix", to, env.NPM, env.NPM+"-linux-x64")
			assert.NoFileExists(u.t, filepath.Join(to, "bin", "flame"))
			require.NoError(u.t, os.RemoveAll(to))
		}
	},
	"deb": func(u *user, dist string) (string, func()) {
		if found, err := filepath.Glob(filepath.Join(dist, "*.deb")); err != nil || len(found) == 0 {
			u.t.Skip("the release has no packages: go run ./tests/release -packages")
		}
		root := filepath.Join(filepath.Dir(u.home), "root") // dpkg's options cannot quote the home
		require.NoError(u.t, os.MkdirAll(filepath.Join(root, "var/lib/dpkg/updates"), 0o755))
		require.NoError(u.t, os.Mkdir(filepath.Join(root, "var/lib/dpkg/info"), 0o755))
		require.NoError(u.t, os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644))
		u.path += ":/usr/sbin:/sbin"
		u.tool("dpkg", "--root="+root, "--force-not-root", "--force-depends", "--log=/dev/null", "-i", fileOf(u.t, dist, "*.deb"))
		return filepath.Join(root, "usr/bin/flame"), func() {
			u.tool("dpkg", "--root="+root, "--force-not-root", "--log=/dev/null", "-r", "flame")
			assert.NoDirExists(u.t, filepath.Join(root, "usr"), "dpkg removes folders that are empty")
		}
	},
}

// tool runs a program of this machine for the user.
func (u *user) tool(name string, args ...string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		effort.Lacks(u.t, err)
	}
	return u.must(path, args...)
}

// TestInstallUseAndRemove is a person's first day and last, without Go on PATH.
func TestInstallUseAndRemove(t *testing.T) {
	t.Parallel()
	dist := releaseFiles(t)
	for name, install := range installs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, claudeCode, openCode)
			u.path = u.bin + ":/usr/bin:/bin"
			program, remove := install(u, dist)
			u.flame = program
			assert.Regexp(t, `^flame v\d`, u.must(u.flame, "version"))
			assert.Contains(t, u.must(u.flame, "hub", "--help"), "--listen", "flame-hub is there, too")
			u.must(u.flame, "setup")
			for _, client := range []string{claudeCode, openCode} {
				if name != "npm" {
					break // the others differ in how the program comes there
				}
				u.model.Play(model.Script{asked("main", "INSTALLWORK", calls("flame_push", map[string]any{"goal": "pushed in " + client}), model.Turn{Text: "done"})})
				u.ask(client, "INSTALLWORK please")
				u.frame("pushed in " + client)
			}
			u.must(u.flame, "setup", "--remove")
			require.NoError(t, os.RemoveAll(filepath.Join(u.home, ".local/share/flame")), "as setup says")
			remove()
			u.nothingLeft()
		})
	}
}

// nothingLeft checks that no file of flame's is in the home, and that no client's settings name it,
// but for what the clients keep of anything that they had: copies of plugins, and logs.
func (u *user) nothingLeft() {
	require.NoError(u.t, filepath.WalkDir(u.home, func(path string, entry os.DirEntry, err error) error {
		require.NoError(u.t, err)
		if strings.HasSuffix(path, ".claude/plugins/cache") || strings.HasPrefix(entry.Name(), "mcp-logs-") {
			return filepath.SkipDir
		}
		assert.NotContains(u.t, entry.Name(), "flame", path)
		if entry.Name() == "settings.json" || entry.Name() == "installed_plugins.json" || entry.Name() == "known_marketplaces.json" {
			text, err := os.ReadFile(path)
			require.NoError(u.t, err)
			assert.NotContains(u.t, string(text), "flame", path)
		}
		return nil
	}))
}

// npmRegistry serves the npm packages of a release as the npm registry does, on loopback.
func npmRegistry(t *testing.T, dist string) (url string) {
	packed, err := filepath.Glob(filepath.Join(dist, "*.tgz"))
	require.NoError(t, err)
	about := map[string]map[string]any{}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	for _, file := range packed {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		var manifest map[string]any
		require.NoError(t, json.Unmarshal(inTarball(t, raw, "package/package.json"), &manifest))
		sum := sha512.Sum512(raw)
		at := "/tarballs/" + filepath.Base(file)
		manifest["dist"] = map[string]any{"tarball": server.URL + at, "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
		about[manifest["name"].(string)] = manifest
		mux.HandleFunc(at, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(raw) })
	}
	mux.HandleFunc("/-/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }) // no advisories
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		manifest, known := about[strings.TrimPrefix(r.URL.Path, "/")]
		if !known {
			http.Error(w, "{}", http.StatusNotFound)
			return
		}
		version := manifest["version"].(string)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"name": manifest["name"], "dist-tags": map[string]any{"latest": version}, "versions": map[string]any{version: manifest},
		})
	})
	return server.URL
}

// inTarball returns a file of an archive.
func inTarball(t *testing.T, packed []byte, name string) []byte {
	pressed, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	for files := tar.NewReader(pressed); ; {
		entry, err := files.Next()
		require.NoError(t, err, name)
		if entry.Name == name {
			content, err := io.ReadAll(files)
			require.NoError(t, err)
			return content
		}
	}
}

// The package that everybody names has no program: the starter runs that of the package for this
// system, as if it were the program itself.
func TestThePackageOfNPMIsTheProgram(t *testing.T) {
	t.Parallel()
	dist := releaseFiles(t)
	u := newUser(t)
	u.path = "/usr/bin:/bin"
	program, remove := installs["npm"](u, dist)
	runtimes := map[string]string{"the node on PATH": ""}
	if node, err := exec.LookPath("node"); err == nil {
		runtimes["the node on PATH"] = node
	}
	if os.Getenv("FLAME_TEST_HOSTS_DIR") != "" {
		runtimes["a newer node, which becomes the program"] = clientFile(t, clients.Node)
	}
	for name, node := range runtimes {
		t.Run(name, func(t *testing.T) {
			u.startsAsItself(node, program)
		})
	}
	t.Run("npx", func(t *testing.T) {
		u.env = append(u.env, "npm_config_registry="+npmRegistry(t, dist), "npm_config_offline=false")
		assert.Regexp(t, `^flame v\d`, u.tool("npx", "--yes", env.NPM, "version"))
	})
	remove()
}

// startsAsItself checks arguments, stdin, status and signals of a flame that a node starts.
func (u *user) startsAsItself(node, program string) {
	assert.Regexp(u.t, `^flame v\d`, u.must(node, program, "version"))
	u.must(node, program, "push", "a goal with 'quotes' and spaces")
	assert.Contains(u.t, u.must(node, program, "tree"), "a goal with 'quotes' and spaces")
	_, stderr, err := u.run(node, program, "nonsense")
	var ended *exec.ExitError
	require.ErrorAs(u.t, err, &ended)
	assert.Equal(u.t, 2, ended.ExitCode(), stderr)
	assert.NotContains(u.t, stderr, "ExperimentalWarning")

	cmd := u.command(u.t.Context(), node, program, "serve")
	in, err := cmd.StdinPipe()
	require.NoError(u.t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(u.t, err)
	require.NoError(u.t, cmd.Start())
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
	require.NoError(u.t, err)
	answer := make([]byte, 4)
	_, err = io.ReadFull(out, answer)
	require.NoError(u.t, err)
	require.NoError(u.t, cmd.Process.Signal(os.Interrupt), "a host ends a server so")
	rest, _ := io.ReadAll(out)
	_ = cmd.Wait()
	assert.Contains(u.t, string(answer)+string(rest), `"id":1`, "the pipe is closed, so no process is left")
}

func TestThePackageOfNPMSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	dist := releaseFiles(t)
	u := newUser(t)
	folder := filepath.Join(u.home, "node_modules", env.NPM)
	require.NoError(t, os.MkdirAll(folder, 0o755))
	u.tool("tar", "-xzf", fileOf(t, dist, env.NPM+"-[0-9]*.tgz"), "-C", folder, "--strip-components=1")
	starter := filepath.Join(folder, "flame.js")
	_, stderr, err := u.run("/usr/bin/node", starter, "version")
	require.Error(t, err)
	assert.Regexp(t, `^flame: `+env.NPM+`-linux-x64 is missing: .*\nhint: install `+env.NPM+` again`, stderr)

	other := "data:text/javascript,Object.defineProperty(process, 'arch', { value: 'riscv64' })"
	_, stderr, err = u.run("/usr/bin/node", "--import", other, starter, "version")
	require.Error(t, err)
	assert.Regexp(t, `^flame: there is no program for linux riscv64, only `+env.NPM, stderr)
}

// OpenCode installs a plugin that its configuration names, from the registry.
func TestOpenCodeInstallsThePackageOfNPM(t *testing.T) {
	t.Parallel()
	dist := releaseFiles(t)
	u := newUser(t, openCode)
	u.flame = filepath.Join(u.home, "no flame")
	u.env = append(u.env, "npm_config_registry="+npmRegistry(t, dist), "npm_config_offline=false")
	var config map[string]any
	require.NoError(t, json.Unmarshal([]byte(openCodeConfig(t, u.model.URL, nil)), &config))
	config["plugin"] = []string{env.NPM}
	raw, err := json.Marshal(config)
	require.NoError(t, err)
	u.write("opencode.json", string(raw))
	assert.Equal(t, []string{"flame_flame_push"}, u.offered(openCode))

	u.flame = flameBinary(t)
	assert.Contains(t, u.must(u.flame, "doctor", "-v"), `OpenCode: plugin "`+env.NPM+`" in `)
	u.must(u.flame, "setup", openCode)
	stdout, _, _ := u.run(u.flame, "doctor")
	assert.Contains(t, stdout, "the one that it loads last is in use")
	assert.Equal(t, []string{"flame_flame_push"}, u.offered(openCode), "flame is there once")
}

// published are names that must come from config/env. Texts for people may repeat them.
var published = regexp.MustCompile(regexp.QuoteMeta(env.NPM) + "|" + regexp.QuoteMeta(env.MCPName))

func TestNamesInPublicStandInOnePlace(t *testing.T) {
	t.Parallel()
	for _, l := range literals(t) {
		if !strings.HasPrefix(l.at, "config/env/") {
			assert.NotRegexp(t, published, l.text, l.at)
		}
	}
	assert.LessOrEqual(t, len(env.Summary), 100, "the registry of MCP servers takes no more")
}
