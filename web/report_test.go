package web_test

import (
	"bytes"
	"encoding/json"
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
	t.Parallel()
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
	t.Parallel()
	text := reported(t, func(ids map[string]string) string { return ids["inner"] }, web.Markdown)
	assert.NotContains(t, text, "The whole work")
	assert.NotContains(t, text, "another session")
	assert.Contains(t, text, "Done")
}

func TestAReportInMarkdownShowsTextsUnchanged(t *testing.T) {
	t.Parallel()
	text := reported(t, whole, web.Markdown)
	assert.Contains(t, text, `\</script\>\<img src=x onerror=alert(1)\> \& \*stars\* `+"\\`ticks\\`"+` \[link\](javascript:x)`)
	assert.NotContains(t, text, "\x1b")
	assert.Contains(t, text, "$0.50")
}
