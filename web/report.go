package web

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"path/filepath"
	"strings"

	"github.com/samber/lo"

	"flame/agents"
	"flame/core"
	"flame/project/view"
	"flame/render/board"
)

// A Report holds a project, or the part below one of its frames, at one moment.
type Report struct {
	Root  string                `json:"root"`  // name of the project's folder
	Hosts map[string]string     `json:"hosts"` // titles of hosts, by name
	Now   core.Millis           `json:"now"`
	Board board.Snapshot        `json:"board"`
	Texts map[string]core.Frame `json:"texts"` // the whole frames, by id
}

// ReportOf reads a project, or the part of it below the frame that ref names.
func ReportOf(ctx context.Context, a *agents.Agents, ref string) (r Report, err error) {
	b := board.New(a.Project.Store, a.Project.Now, a.Hosts)
	if _, err := b.Read(ctx); err != nil {
		return r, err
	}
	r = Report{Root: filepath.Base(a.Root), Hosts: titles(a), Now: a.Project.Now(), Board: b.Snapshot(), Texts: map[string]core.Frame{}}
	tree, err := view.OutlineOf(ctx, a.Project, by(""), view.TreeArgs{Root: ref, Archived: true})
	if err != nil {
		return r, err
	}
	for page, err := range tree.Pages(ctx) {
		if err != nil {
			return r, err
		}
		for _, line := range page {
			line.Frame.LogPath = "" // it is a path on this machine
			r.Texts[line.Frame.ID] = line.Frame
		}
	}
	r.Board = r.Board.Only(func(frame string) bool { _, in := r.Texts[frame]; return in })
	return r, nil
}

// modules are the page's scripts, each after its imports.
var modules = []string{
	"words", "icons", "filter", "layout", "axis", "diff", "net", "address", "report", "model", "search", "head", "overview",
	"picture", "tree", "talk", "parts", "details", "conflict", "dialogs", "app",
}

var (
	imported = core.Pattern(`(?m)^import (\{[^}]*\}) from "\./(\w+)\.js";$`)
	exported = core.Pattern(`(?m)^export (?:async )?(?:const|function|class) (\w+)`)
)

// script returns the page's modules as one script: browsers do not let a page on a disk load
// modules.
func script() (string, error) {
	var b strings.Builder
	for _, name := range modules {
		source, err := files.ReadFile("page/" + name + ".js")
		if err != nil {
			return "", err
		}
		names := lo.Map(exported().FindAllStringSubmatch(string(source), -1), func(found []string, _ int) string { return found[1] })
		text := imported().ReplaceAllString(string(source), "const $1 = ${2}_js;")
		text = strings.ReplaceAll("\n"+text, "\nexport ", "\n")
		fmt.Fprintf(&b, "const %s_js = (() => {%s\nreturn { %s };\n})();\n", name, text, strings.Join(names, ", "))
	}
	return b.String(), nil
}

// reported is the page of a report, with places for policy, title, style, body, data and script.
const reported = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%s</title>
<style>%s</style>
</head>
%s
<script type="application/json" id="report">%s</script>
<script>%s</script>
</html>
`

func (r Report) html(w io.Writer) error {
	code, err := script()
	if err != nil {
		return err
	}
	style, err := files.ReadFile("page/style.css")
	if err != nil {
		return err
	}
	page, err := files.ReadFile("page/index.html")
	if err != nil {
		return err
	}
	data, err := json.Marshal(r) // which writes < as \u003c: nothing in it ends the script
	if err != nil {
		return err
	}
	_, body, _ := strings.Cut(string(page), "</head>\n")
	body, _, _ = strings.Cut(body, "\n</html>")
	_, err = fmt.Fprintf(w, reported, digest(code), digest(string(style)), html.EscapeString(filepath.Base(r.Root)+" – flame"), style, body, data, code)
	return err
}

// digest returns the name of an inline script or style in a policy.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
