package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents"
	"flame/agents/plan"
	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/render/board"
	"flame/tests/projecttest"
	"flame/web"
)

const hostile = "</script><img src=x onerror=alert(1)> & *stars* `ticks` [link](javascript:x)\x1b[31m"

// reported returns a report of a project with hostile texts, in a format.
func reported(t *testing.T, frame func(ids map[string]string) string, format web.ReportFormat) string {
	f := projecttest.New(t)
	ids := map[string]string{}
	ids["top"] = f.Push(projecttest.Host("s"), "The whole work").ID
	f.Clock += 60_000
	ids["inner"] = f.Push(projecttest.Host("s"), hostile).ID
	f.Clock += 60_000
	ids["other"] = f.Push(projecttest.Host("t"), "Of another session").ID
	f.Clock += 60_000
	f.Pop(projecttest.Host("s"), "Done: "+hostile)
	require.NoError(t, f.Store.Update(f.Ctx, func(tx project.Tx) error {
		frame, err := tx.Frame(ids["inner"])
		if err != nil {
			return err
		}
		frame.Usage = core.Usage{TokensIn: 1000, TokensOut: 200, CostUSD: 0.5, ToolCalls: 3}
		return tx.SaveFrame(frame)
	}))
	report, err := web.ReportOf(f.Ctx, &agents.Agents{Setup: plan.Setup{Project: f.Project, Hosts: hosts.Registry{}}, Root: "/home/me/thing"}, frame(ids))
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, report.Write(&b, format))
	return b.String()
}

func whole(map[string]string) string { return "" }

func TestAReportIsOneSelfContainedFile(t *testing.T) {
	page := reported(t, whole, web.HTML)
	assert.Contains(t, page, "The whole work")
	for _, from := range []string{`src="`, `@import`, `import {`, `\nexport `, `<link`, `<img`} {
		assert.NotContains(t, page, from)
	}
	assert.Equal(t, 2, strings.Count(page, "</script>"), "the data ends no script")
	assert.Regexp(t, `default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'`, page)
	data := regexp.MustCompile(`id="report">(.*)</script>`).FindStringSubmatch(page)[1]
	var report web.Report
	require.NoError(t, json.Unmarshal([]byte(data), &report))
	assert.Len(t, report.Texts, len(report.Board.Frames))
	assert.Equal(t, "thing", report.Root, "a report does not contain its path")
	assert.Nil(t, report.Board.Sessions)
}

func TestAReportOfAFrameHasTheFramesBelowIt(t *testing.T) {
	text := reported(t, func(ids map[string]string) string { return ids["inner"] }, web.Markdown)
	assert.NotContains(t, text, "The whole work")
	assert.NotContains(t, text, "another session")
	assert.Contains(t, text, "Done")
}

func TestAReportInMarkdownShowsTextsUnchanged(t *testing.T) {
	text := reported(t, whole, web.Markdown)
	assert.Contains(t, text, `\</script\>\<img src=x onerror=alert(1)\> \& \*stars\* `+"\\`ticks\\`"+` \[link\](javascript:x)`)
	assert.NotContains(t, text, "\x1b")
	assert.Contains(t, text, "$0.50")
}

func written(t *testing.T, r web.Report, format web.ReportFormat) string {
	var b bytes.Buffer
	require.NoError(t, r.Write(&b, format))
	return b.String()
}

func TestCyclesInAReportAreAtTheTop(t *testing.T) {
	var r web.Report
	for id, parent := range map[string]string{"a": "c", "b": "a", "c": "b", "hangs": "a", "top": "", "below": "top", "lost": "gone", "own": "own"} {
		r.Board.Frames = append(r.Board.Frames, board.Row{ID: id, Parent: parent, Goal: id, Status: core.Completed})
	}
	text := written(t, r, web.Markdown)
	for _, id := range []string{"a", "b", "c", "top", "lost", "own"} {
		assert.Regexp(t, `(?m)^- .*\*\*`+id+`\*\*`, text)
	}
	for _, id := range []string{"below", "hangs"} {
		assert.Regexp(t, `(?m)^  - .*\*\*`+id+`\*\*`, text)
	}
}

func TestTheHeadingOfAReportIsOneLine(t *testing.T) {
	r := web.Report{Root: "/home/me/thing\n\n<img onerror=x>\x1b[31m"}
	r.Board.Frames = []board.Row{{ID: "a", Goal: "one\ntwo \x1b[31m\u009b31m\u202e", Host: "h\x1b", Status: core.Completed}}
	text := written(t, r, web.Markdown)
	assert.Contains(t, text, "**one two ")
	assert.True(t, strings.HasPrefix(text, "# "))
	heading, _, _ := strings.Cut(text, "\n")
	assert.Regexp(t, `thing.*onerror`, heading)
	assert.NotRegexp(t, `[\x1b\x{9b}\x{202e}]`, text)
}

func TestAReportBeginsWithWhatIsBlockedAndWhatFailed(t *testing.T) {
	var r web.Report
	r.Board.Frames = []board.Row{{ID: "a", Goal: "Go on", Status: core.Completed}, {ID: "old", Goal: "Long ago", Status: core.Blocked, Archived: true}}
	assert.NotContains(t, written(t, r, web.Markdown), "All:")
	for i := range 14 {
		row := board.Row{ID: fmt.Sprint("f", i), Goal: fmt.Sprint("*Try* ", i), Status: core.Failed, From: 1, Until: core.Millis(i + 1)}
		r.Board.Frames = append(r.Board.Frames, row)
	}
	text := written(t, r, web.Markdown)
	assert.NotContains(t, text, "Blocked:")
	_, after, found := strings.Cut(text, "Failed:\n\n")
	require.True(t, found)
	first, rest, found := strings.Cut(after, "\nAll:\n\n")
	require.True(t, found)
	lines := strings.Split(strings.TrimSpace(first), "\n")
	require.Len(t, lines, 11)
	assert.Contains(t, lines[0], `**\*Try\* 13**`, "the last one first, and as text")
	assert.Equal(t, "- and 4 more", lines[10])
	assert.Contains(t, rest, `**\*Try\* 0**`)
}

var (
	importing = regexp.MustCompile(`(?m)^import \{([^}]*)\} from "\./(\w+)\.js";$`)
	exporting = regexp.MustCompile(`(?m)^export (?:async )?(?:const|function|class) (\w+)`)
)

// What a module of the page exports, another one imports; what it imports, it uses.
func TestThePageHasNoUnusedExportsOrImports(t *testing.T) {
	paths, err := filepath.Glob("page/*.js")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	exported, imported := map[string]bool{}, map[string]bool{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		source, module := string(content), strings.TrimSuffix(filepath.Base(path), ".js")
		for _, found := range exporting.FindAllStringSubmatch(source, -1) {
			exported[module+"."+found[1]] = true
		}
		if module != "words" {
			assert.NotRegexp(t, `toFixed|toPrecision|toLocale|Intl\.`, source, "%s: words.js has the form of figures", path)
		}
		rest := importing.ReplaceAllString(source, "")
		assert.NotRegexp(t, `(?m)^import `, rest, "%s: reports know imports of one form alone", path)
		for _, found := range importing.FindAllStringSubmatch(source, -1) {
			for name := range strings.SplitSeq(found[1], ",") {
				name = strings.TrimSpace(name)
				imported[found[2]+"."+name] = true
				assert.Regexp(t, `\b`+name+`\b`, rest, "%s imports %s", path, name)
			}
		}
	}
	assert.Equal(t, exported, imported)
}
