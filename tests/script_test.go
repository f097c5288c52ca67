package tests

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/tidwall/gjson"
	_ "modernc.org/sqlite"

	"flame/local/place"
	"flame/tests/effort"
)

// TestScript runs testdata/script: the whole program as a person at a shell, or a host, uses it.
// Each script begins in the empty repository $WORK/project, with its own home and no hosts on
// PATH. The commands beyond testscript's are below.
func TestScript(t *testing.T) {
	t.Parallel()
	flame := flameBinary(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition: func(name string) (bool, error) {
			if name != "full" {
				return false, fmt.Errorf("there is no condition %q, only full", name)
			}
			return effort.Full(), nil
		},
		Setup: func(env *testscript.Env) error { return newProject(env, flame) },
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"flame":   runFlame,
			"exits":   exits,
			"fails":   fails,
			"ids":     ids,
			"json":    jsonHas,
			"waitfor": waitFor,
			"found":   found,
			"until":   until,
			"sqlite":  execSQL,
			"where":   where,
			"status":  status,
		},
	})
}

// headOfMain is the HEAD of a repository. Git takes no folder without a HEAD for a repository.
const headOfMain = "ref: refs/heads/main\n"

// newProject makes the folders that scripts begin with, isolated from the user's own.
func newProject(env *testscript.Env, flame string) error {
	fixtures, err := filepath.Abs("testdata")
	if err != nil {
		return err
	}
	home, project := filepath.Join(env.WorkDir, "home"), filepath.Join(env.WorkDir, "project")
	for _, dir := range []string{home, filepath.Join(project, ".git")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(project, ".git", "HEAD"), []byte(headOfMain), 0o644); err != nil {
		return err
	}
	env.Cd = project
	env.Setenv("HOME", home)
	env.Setenv("DATA", place.FolderOf(place.At(project), place.Env{Home: home}, nil).Path)
	env.Setenv("FIXTURES", fixtures)
	env.Setenv("PATH", filepath.Dir(flame)+":/usr/bin:/bin")
	env.Setenv("TERM", "xterm")
	env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	return nil
}

// runFlame is "flame ARG…": a run that succeeds, with an empty stderr.
func runFlame(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("use fails or exits")
	}
	if err := ts.Exec("flame", args...); err != nil {
		ts.Fatalf("flame %s: %v", strings.Join(args, " "), err)
	}
	if said := ts.ReadFile("stderr"); said != "" {
		ts.Fatalf("flame %s: stderr is not empty", strings.Join(args, " "))
	}
}

// where is "where NAME": it sets the variable NAME to the data folder of the current project.
func where(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: where NAME")
	}
	ts.Check(ts.Exec("flame", "where"))
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// exits is "exits STATUS PROGRAM ARG…": a run that ends with this status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS PROGRAM ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("status %d, not %d", got, want)
	}
}

// complaint matches the form of errors: a line, and perhaps a hint, of several lines if it is
// long.
var complaint = regexp.MustCompile(`^flame: [^\n]+\n(hint: [^\n]+(\n      [^\n]+)*\n)?$`)

// fails is exits for a command that only complains: stdout is empty, and stderr has a complaint.
func fails(ts *testscript.TestScript, neg bool, args []string) {
	exits(ts, neg, args)
	if ts.ReadFile("stdout") != "" {
		ts.Fatalf("stdout is not empty")
	}
	if !complaint.MatchString(ts.ReadFile("stderr")) {
		ts.Fatalf("stderr is not a line with a hint")
	}
}

var frameID = regexp.MustCompile(`(frame|plan)-[a-z0-9]{8}\b`)

// ids is "ids NAME…": it puts the frame ids of the last stdout, in the order of their first
// occurrence, into variables.
func ids(ts *testscript.TestScript, neg bool, names []string) {
	var found []string
	for _, id := range frameID.FindAllString(ts.ReadFile("stdout"), -1) {
		if !slices.Contains(found, id) {
			found = append(found, id)
		}
	}
	if neg || len(found) < len(names) {
		ts.Fatalf("%d ids, not %d", len(found), len(names))
	}
	for i, name := range names {
		ts.Setenv(name, found[i])
	}
}

// found is "found PATTERN NAME": it puts the first match in the last stdout into a variable.
func found(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: found PATTERN NAME")
	}
	text := regexp.MustCompile(args[0]).FindString(ts.ReadFile("stdout"))
	if text == "" {
		ts.Fatalf("nothing matches %q", args[0])
	}
	ts.Setenv(args[1], text)
}

// until is "until PATTERN ARG…": it runs flame with these arguments until the output matches.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN ARG…")
	}
	pattern := regexp.MustCompile(args[0])
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if err := ts.Exec("flame", args[1:]...); err == nil && pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("nothing matches %q after %v:\n%s", args[0], patience, ts.ReadFile("stdout"))
		}
	}
}

// patience bounds each wait for a program. On a busy machine a client may need more than a minute to start.
const patience = 5 * time.Minute

// waitFor is "waitfor FILE PATTERN": it waits until a program in the background has written a
// match into a file.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitfor FILE PATTERN")
	}
	file, pattern := ts.MkAbs(args[0]), regexp.MustCompile(args[1])
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		text, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			ts.Fatalf("%v", err)
		}
		if pattern.Match(text) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s has no %q after %v:\n%s", args[0], pattern, patience, text)
		}
	}
}

// execSQL is "sqlite FILE SQL": it changes a database without flame.
func execSQL(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sqlite FILE SQL")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = db.Exec(args[1])
	ts.Check(errors.Join(err, db.Close()))
}

// jsonHas is "[!] json [-lines] PATH [VALUE]": the last stdout is one JSON document (with -lines:
// one a line, taken as a list) without any null. At PATH, names and indexes with dots between them
// or "." for all, it has VALUE, or anything.
func jsonHas(ts *testscript.TestScript, neg bool, args []string) {
	text := strings.TrimSpace(ts.ReadFile("stdout"))
	if len(args) > 0 && args[0] == "-lines" {
		args, text = args[1:], "["+strings.ReplaceAll(text, "\n", ",")+"]"
	}
	if len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: [!] json [-lines] PATH [VALUE]")
	}
	document := gjson.Parse(text)
	if !gjson.Valid(text) || hasNull(document) {
		ts.Fatalf("it is no JSON, or has a null")
	}
	value := document
	if args[0] != "." {
		value = document.Get(args[0])
	}
	if matches := value.Exists() && (len(args) == 1 || value.String() == args[1]); matches == neg {
		ts.Fatalf("%s is %q", args[0], value.String())
	}
}

func hasNull(value gjson.Result) (has bool) {
	if value.IsObject() || value.IsArray() {
		value.ForEach(func(_, member gjson.Result) bool {
			has = hasNull(member)
			return !has
		})
	}
	return has || value.Type == gjson.Null
}

// status is "status CODE URL [TOKEN]": a server answers so.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE URL [TOKEN]")
	}
	request, err := http.NewRequest(http.MethodGet, args[1], nil)
	ts.Check(err)
	for _, token := range args[2:] {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := httpClient.Do(request)
	ts.Check(err)
	ts.Check(answer.Body.Close())
	if args[0] != strconv.Itoa(answer.StatusCode) {
		ts.Fatalf("status %d, not %s", answer.StatusCode, args[0])
	}
}
