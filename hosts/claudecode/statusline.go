package claudecode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/hosts"
)

// lineMember is the member of a settings file that says what the client's status line
// shows; lineArgs is what flame is called with for one.
const (
	lineMember = "statusLine"
	lineArgs   = " status --line"
)

// A lineSetting is the value of lineMember.
type lineSetting struct {
	Type    string `json:"type"`
	Command string `json:"command"` // for a shell
	Padding int    `json:"padding"`
}

// statusLine is what flame knows of the client's status line.
func statusLine() *hosts.StatusLine {
	return &hosts.StatusLine{
		Shown: shown,
		Tie: func(m hosts.Machine) ([]hosts.Step, string, error) {
			return lineFile{m, managedFolder(runtime.GOOS)}.tie()
		},
		Untie: func(m hosts.Machine) ([]hosts.Step, error) { return lineFile{m, managedFolder(runtime.GOOS)}.untie() },
	}
}

// shown reads what the client tells the command of its status line.
func shown(document []byte) (hosts.Shown, bool) {
	var told struct {
		Session   string `json:"session_id"`
		Cwd       string `json:"cwd"`
		Workspace struct {
			Project string `json:"project_dir"`
		} `json:"workspace"`
	}
	if json.Unmarshal(document, &told) != nil || told.Session == "" {
		return hosts.Shown{}, false
	}
	s := hosts.Shown{Session: told.Session}
	for _, dir := range []string{told.Workspace.Project, told.Cwd} {
		if s.Folder == "" && filepath.IsAbs(dir) {
			s.Folder = dir
		}
	}
	return s, true
}

// A lineFile is the user's settings file, in which the status line is set. Settings of an
// administrator are in the folder managed.
type lineFile struct {
	machine hosts.Machine
	managed string
}

func (f lineFile) path() string { return filepath.Join(ownFolder(f.machine), "settings.json") }

// value is flame's status line.
func (f lineFile) value() lineSetting {
	program := f.machine.Binary()
	if strings.Trim(program, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") != "" {
		program = "'" + strings.ReplaceAll(program, "'", `'\''`) + "'"
	}
	return lineSetting{Type: "command", Command: program + lineArgs}
}

// tie plans to set the status line, where none is.
func (f lineFile) tie() (steps []hosts.Step, note string, err error) {
	for _, file := range administrators(f.managed, ownFolder(f.machine)) {
		if _, set := lineOf(f.machine.Files(hosts.User), file); set {
			return nil, file + " sets the status line, which only an administrator can change", nil
		}
	}
	_, before, err := f.read()
	if err != nil {
		return nil, "", err
	}
	if set, there := before.member(lineMember); there {
		if isFlames(set) {
			return nil, f.elsewhere(), nil
		}
		return nil, fmt.Sprintf("%s sets another status line, which stays; to have flame's instead, delete %q there and run this again; "+
			"to have both, let your command print what `flame%s` does with the same input", f.path(), lineMember, lineArgs), nil
	}
	value, err := f.text()
	if err != nil {
		return nil, "", err
	}
	return []hosts.Step{{
		Says: fmt.Sprintf("add %q to %s: %s", lineMember, f.path(), value),
		Do: func(context.Context) error {
			return f.edit(func(o object) []byte {
				if _, there := o.member(lineMember); there {
					return o.text // set since
				}
				return o.with(lineMember, value)
			})
		},
	}}, f.elsewhere(), nil
}

// untie plans to remove the status line that tie set.
func (f lineFile) untie() ([]hosts.Step, error) {
	own, err := f.text()
	if err != nil {
		return nil, err
	}
	_, before, err := f.read()
	if set, there := before.member(lineMember); err != nil || !there || !same(set, own) {
		return nil, nil // flame did not write an unreadable one
	}
	return []hosts.Step{{
		Says: fmt.Sprintf("delete %q from %s", lineMember, f.path()),
		Do: func(context.Context) error {
			return f.edit(func(o object) []byte {
				if set, there := o.member(lineMember); !there || !same(set, own) {
					return o.text // changed since
				}
				return o.without(lineMember)
			})
		},
	}}, nil
}

func (f lineFile) text() ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(f.value())
	return bytes.TrimSpace(text.Bytes()), err
}

// same reports whether a status line is the one that flame sets.
func same(set, own []byte) bool {
	var a, b lineSetting
	return json.Unmarshal(set, &a) == nil && json.Unmarshal(own, &b) == nil && a.Command == b.Command
}

// isFlames reports whether flame prints a status line, regardless of who set it.
func isFlames(set []byte) bool {
	var line lineSetting
	if json.Unmarshal(set, &line) != nil {
		return false
	}
	program, is := strings.CutSuffix(line.Command, lineArgs)
	return is && hosts.IsFlame("", strings.Trim(program, `'"`))
}

// elsewhere reports a status line that the project sets; the client shows it in the project.
func (f lineFile) elsewhere() string {
	for _, dir := range projectFolders(f.machine) {
		m := f.machine.At(dir)
		for _, file := range (Client{Machine: m}).projectSettings() {
			if line, set := lineOf(m.Files(hosts.Project), file); set && file != f.path() && !isFlames(line) {
				return file + " sets another status line, which is shown in this project"
			}
		}
	}
	return ""
}

// lineOf returns the status line that a settings file sets. An unreadable file sets none, as
// for the client.
func lineOf(files hosts.Files, file string) ([]byte, bool) {
	content, err := files.Read(file)
	if err != nil {
		return nil, false
	}
	settings, err := objectOf(content)
	if err != nil {
		return nil, false
	}
	return settings.member(lineMember)
}

// read returns the file and its content; a file that does not exist is empty.
func (f lineFile) read() (target string, content object, err error) {
	refuse := func(format string, args ...any) (string, object, error) {
		value, _ := f.text()
		return "", object{}, core.Invalidf("%s %s", f.path(), fmt.Sprintf(format, args...)).
			WithHint("add this there yourself, if you want the status line: %q: %s", lineMember, value)
	}
	target, err = filepath.EvalSymlinks(f.path())
	switch {
	case hosts.IsMissing(err):
		if _, err := os.Lstat(f.path()); err == nil {
			return refuse("is a link that leads nowhere")
		}
		empty, err := objectOf(nil)
		return f.path(), empty, err
	case err != nil:
		return "", object{}, err
	}
	raw, err := f.machine.Files(hosts.User).Read(target)
	if err != nil {
		return "", object{}, err
	}
	if content, err = objectOf(raw); err != nil {
		return refuse("is not an object in plain JSON, so it is left as it is: %v", err)
	}
	return target, content, nil
}

// edit changes the file: through a link its target, atomically, with the mode that it has.
func (f lineFile) edit(change func(object) []byte) error {
	target, before, err := f.read()
	if err != nil {
		return err
	}
	after := change(before)
	if bytes.Equal(before.text, after) {
		return nil
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(target); err == nil {
		if mode = info.Mode().Perm(); mode&0o200 == 0 {
			return core.Invalidf("flame does not write %s", target).WithHint("another program may generate it; if so, set the status line in that program's settings")
		}
	}
	files := f.machine.Files(hosts.User)
	if string(bytes.TrimSpace(after)) == "{}" && target == f.path() {
		return apply(files.Remove(target, filepath.Dir(target)))
	}
	steps, err := files.Write(target, after, mode)
	if err != nil {
		return err
	}
	return apply(steps)
}

func apply(steps []hosts.Step) error {
	for _, step := range steps {
		if err := step.Do(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

// An object is the text of a JSON object, to change single members of it: the rest keeps its form.
type object struct {
	text    []byte
	open    int // where its members may begin
	members []member
}

// A member is the place of one member in the text of an object.
type member struct {
	name             string
	begin, from, end int // start of its name, start of its value, end of its value
}

// errNoObject is returned for a text that is something else.
var errNoObject = errors.New("it is not an object")

// objectOf finds the members of an object; an empty text is an empty object.
func objectOf(text []byte) (o object, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	body := withoutMark(text)
	mark := len(text) - len(body)
	if err := json.Unmarshal(body, new(any)); err != nil {
		return o, err
	}
	whole := gjson.ParseBytes(body)
	if !whole.IsObject() {
		return o, errNoObject
	}
	o.text, o.open = text, mark+bytes.IndexByte(body, '{')+1
	whole.ForEach(func(name, value gjson.Result) bool {
		from := mark + value.Index
		o.members = append(o.members, member{name: name.Str, begin: mark + name.Index, from: from, end: from + len(value.Raw)})
		return true
	})
	return o, nil
}

// member returns the value of a member; the last one counts, as for those that read JSON.
func (o object) member(name string) (value []byte, there bool) {
	for _, m := range o.members {
		if m.name == name {
			value, there = o.text[m.from:m.end], true
		}
	}
	return value, there
}

// with returns the text with a member behind all others, set as the first of them is.
func (o object) with(name string, value []byte) []byte {
	comma, gap, end, at := "", "\n  ", "\n", o.open
	if n := len(o.members); n > 0 {
		comma, gap, end, at = ",", string(o.text[o.open:o.members[0].begin]), "", o.members[n-1].end
	} else {
		at += bytes.IndexByte(o.text[at:], '}') // only white space stands before it
	}
	key, _ := json.Marshal(name) // a text always has one
	added := bytes.NewBufferString(string(key) + ": ")
	if last := strings.LastIndexByte(gap, '\n'); last < 0 || json.Indent(added, value, gap[last+1:], "  ") != nil {
		added.Write(value)
	}
	lines := added.String()
	if strings.Contains(gap, "\r\n") {
		lines = strings.ReplaceAll(lines, "\n", "\r\n")
	}
	return bytes.Join([][]byte{o.text[:at], []byte(comma + gap + lines + end), o.text[at:]}, nil)
}

// without returns the text without a member, the last one of its name.
func (o object) without(name string) []byte {
	for i, m := range slices.Backward(o.members) {
		if m.name != name {
			continue
		}
		from, to := o.open, m.end
		switch {
		case i > 0:
			from = o.members[i-1].end
		case len(o.members) > 1:
			from, to = m.begin, o.members[1].begin
		default:
			to += bytes.IndexByte(o.text[to:], '}')
		}
		return bytes.Join([][]byte{o.text[:from], o.text[to:]}, nil)
	}
	return o.text
}
