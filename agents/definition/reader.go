package definition

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"flame/core"
	"flame/hosts"
)

// A reader makes a definition out of fields and records what is wrong.
type reader struct {
	known    hosts.Registry
	file     string
	def      Definition
	limited  bool      // the key tools is there
	listed   *[]string // its list; "*" where it is a map
	switched []rule    // its map
	rules    []rule    // permission
	findings []Flaw
	more     int // number of findings that are not listed
}

// A setter puts the value of one key into the definition.
type setter func(r *reader, n *yaml.Node) error

// keep stores what is passed on to a host.
func (r *reader) keep(key string, n *yaml.Node) error {
	var value bytes.Buffer
	if err := toJSON(&value, n); err != nil {
		return errors.New("holds what JSON cannot")
	}
	if r.def.HostKeys == nil {
		r.def.HostKeys = map[string]json.RawMessage{}
	}
	r.def.HostKeys[key] = value.Bytes()
	return nil
}

// refuse gives up with one fatal finding.
func (r *reader) refuse(err error) (Definition, []Flaw) {
	var at lineError
	errors.As(err, &at)
	r.fail(at.line, "%v", err)
	return r.result()
}

func (r *reader) result() (Definition, []Flaw) {
	slices.SortStableFunc(r.findings, func(a, b Flaw) int { return cmp.Compare(a.Line, b.Line) })
	if r.more > 0 {
		r.findings = append(r.findings, Flaw{File: r.file, Reason: fmt.Sprintf("and %d more findings", r.more)})
	}
	for i := range r.findings {
		r.findings[i].Agent = core.OneLine(r.def.Name, maxName)
	}
	if slices.ContainsFunc(r.findings, isFatal) {
		return Definition{Name: r.def.Name, Tools: &[]string{}, Source: r.def.Source}, r.findings
	}
	return r.def, r.findings
}

// Limits on what is said about one file: a hostile one may contain thousands of
// mistakes, each with texts of any length.
const (
	mostFindings = 20
	maxReason    = 300 // characters
	maxName      = 200 // characters of an agent's name
)

func (r *reader) fail(line int, format string, args ...any) {
	r.find(Flaw{File: r.file, Line: line, Reason: fmt.Sprintf(format, args...), Fatal: true})
}

func (r *reader) warn(line int, format string, args ...any) {
	r.find(Flaw{File: r.file, Line: line, Reason: fmt.Sprintf(format, args...)})
}

// find records a finding. If there are too many, the first ones stay, and the
// first fatal one.
func (r *reader) find(f Flaw) {
	f.Reason = core.OneLine(f.Reason, maxReason)
	if len(r.findings) < mostFindings || f.Fatal && !slices.ContainsFunc(r.findings, isFatal) {
		r.findings = append(r.findings, f)
	} else {
		r.more++
	}
}

// brief cuts a wrong name for a message.
func brief(name string) string { return core.Cut(name, 60) }

func isFatal(f Flaw) bool { return f.Fatal }

// validName follows Wave's rule. A plugin's agents are plugin:name, those in
// subfolders of OpenCode's are folder/name.
func validName(name string) bool {
	if len(name) > maxName {
		return false
	}
	for _, part := range strings.Split(strings.ReplaceAll(name, ":", "/"), "/") {
		if part == "" || !isLetter(rune(part[0])) || strings.ContainsFunc(part, func(c rune) bool {
			return !isLetter(c) && !isDigit(c) && c != '-'
		}) {
			return false
		}
	}
	return true
}

func isLetter(c rune) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isDigit(c rune) bool  { return '0' <= c && c <= '9' }
