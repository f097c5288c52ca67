package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"flame/cli/app"
	"flame/core"
	"flame/local/place"
	"flame/project"
	"flame/render"
)

// A Report is what a person may attach to an issue, after reading it: versions, settings, sizes
// and findings, without goals, paths, addresses and keys.
type Report struct {
	Build    app.Build           `json:"build"`
	Settings map[string]string   `json:"settings"` // of the environment; a value that can be any text is "set"
	Sizes    map[string]int64    `json:"sizes"`    // of all files in the data folder, in bytes, by the ends of their names
	Frames   map[core.Status]int `json:"frames"`
	Findings []core.Finding      `json:"findings"`
}

// ReportOf returns the report on the project at a place.
func ReportOf(ctx context.Context, a *app.App, at place.Place, findings []core.Finding) Report {
	r := Report{Build: a.Build, Settings: map[string]string{}, Sizes: sizesIn(at.Data.Path), Findings: make([]core.Finding, len(findings))}
	for _, s := range a.Settings.List() {
		switch {
		case s.Source != "environment":
		case s.Free:
			r.Settings[s.Name] = "set"
		default:
			r.Settings[s.Name] = s.Value
		}
	}
	p, closeProject := a.Open(at, false)
	defer closeProject()
	_ = p.Store.View(ctx, func(tx project.Tx) (err error) { // a store that flame cannot read is among the findings
		r.Frames, err = tx.CountFrames(project.FrameQuery{})
		return err
	})
	for i, f := range findings {
		r.Findings[i] = core.Finding{What: private(f.What), Hint: private(f.Hint), Broken: f.Broken, Todo: f.Todo}
	}
	return r
}

// maxFiles bounds how many files of the data folder the report looks at.
const maxFiles = 100_000

// sizesIn adds up the sizes of the files in a folder and below it, by the ends of their names.
func sizesIn(dir string) map[string]int64 {
	sizes, files := map[string]int64{}, 0
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if files++; files > maxFiles {
			return fs.SkipAll
		}
		if err != nil || !entry.Type().IsRegular() {
			return nil // a file that flame cannot read has no size
		}
		if info, err := entry.Info(); err == nil {
			sizes[core.Cut(filepath.Ext(entry.Name()), 20)] += info.Size()
		}
		return nil
	})
	return sizes
}

// private returns a text of flame's without quotations, addresses and paths.
func private(text string) string {
	if home, err := os.UserHomeDir(); err == nil && len(home) > 1 {
		text = strings.ReplaceAll(text, home, "~")
	}
	for _, rule := range secrets() {
		text = rule.finds.ReplaceAllString(text, rule.says)
	}
	return text
}

type secret struct {
	finds *regexp.Regexp
	says  string
}

// secrets are in the order in which they replace each other: a path may be in an address, and an
// address in a quotation. A path is anything with a slash before or in it; flame's own commands,
// in backquotes, have none.
var secrets = sync.OnceValue(func() []secret {
	return []secret{
		{regexp.MustCompile(`"[^"\n]*"|“[^”\n]*”|'[^'\n ]*'`), `"…"`},
		{regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://[^\s,;)]+`), "ADDRESS"},
		{regexp.MustCompile(`\S+@\S+\.\S+`), "ADDRESS"},
		{regexp.MustCompile(`(~|\.{1,2}|[\w.-]+)?/[^\s,;:)"` + "`" + `]*`), "PATH"},
	}
})

// String returns the report as Markdown.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "```\n%s\n\n", r.Build)
	for _, name := range slices.Sorted(maps.Keys(r.Settings)) {
		fmt.Fprintf(&b, "%s=%s\n", name, r.Settings[name])
	}
	for _, status := range slices.Sorted(maps.Keys(r.Frames)) {
		fmt.Fprintf(&b, "%s %s\n", render.Count(r.Frames[status], "frame"), status)
	}
	for _, end := range slices.Sorted(maps.Keys(r.Sizes)) {
		fmt.Fprintf(&b, "data *%s %s\n", end, core.Size(r.Sizes[end]))
	}
	fmt.Fprintf(&b, "\n%s```\n", render.Findings(r.Findings, true))
	return b.String()
}
