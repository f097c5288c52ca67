package web

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// paper returns how the page prints on A4, as PDF.
func (tb *tab) paper() []byte {
	return call(tb, page.PrintToPDF, page.PrintToPDFParams{PaperWidth: 8.27, PaperHeight: 11.69, PrintBackground: new(true)}).Data
}

// A report makes no requests, and prints whole.
func TestAReportIsAPageOfItsOwn(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.imported(298)
	u.id("push", "The harvest")
	apples := u.id("push", "Pick the apples")
	u.flame("decision", "with a ladder")
	u.flame("pop", "completed", "picked")
	file := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(file, []byte(u.flame("report", "--output", "-")), 0o600))
	tb := newTab(t)
	tb.theme("dark") // paper is white
	tb.before(`window.fetched = 0; window.fetch = () => { fetched++; return Promise.reject(new Error("no server")); };`)
	tb.do(navigate("file://" + file + "#project=other&t=secret"))
	tb.until(`document.querySelector("[role=treeitem]")`)
	tb.press("p", "e", "?")
	tb.until(`document.querySelector("dialog[open]")?.innerText.includes("out of the zoom")`)
	tb.press(escape)
	eval[bool](tb, `(location.hash = "#project=another&t=secret", true)`)
	eval[bool](tb, fmt.Sprintf(`(location.hash = "#sel=%s", true)`, apples))
	tb.until(`document.querySelector("#details").innerText.includes("with a ladder")`)
	tb.noNothing()
	tb.focus("[type=search]")
	tb.press("with LADDER")
	tb.until(`document.querySelector("#wrong").innerText === "1 of 300 frames matches"`)
	assert.Equal(t, 0, eval[int](tb, `fetched`))
	assert.True(t, eval[bool](tb, `document.querySelector("#state").hidden`))
	tb.do(navigate("about:blank"), navigate("file://"+file))
	tb.until(`document.querySelector("[role=treeitem]")`)
	paper := tb.paper()
	pages := bytes.Count(paper, []byte("/Type /Page\n"))
	assert.Greater(t, pages, 4, "300 lines")
	assert.Less(t, pages, 30)
	if dir := os.Getenv("FLAME_TEST_PICTURES"); dir != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "report.pdf"), paper, 0o644))
	}
	tb.until(`document.querySelectorAll("[role=treeitem]").length < 100`) // afterwards the page is as before

	// The same, as a page that can be measured.
	call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	tb.size(794, 1123)
	eval[bool](tb, `(dispatchEvent(new Event("beforeprint")), true)`)
	tb.until(`document.querySelectorAll("[role=treeitem]").length === 300`)
	tb.keep("paper")
	assert.Empty(t, strings.Join(eval[[]string](tb, ugly), "\n"))
	assert.Equal(t, "rgb(255, 255, 255)", eval[string](tb, `getComputedStyle(document.body).backgroundColor`))
	assert.Equal(t, 0, eval[int](tb, `[...document.querySelectorAll("[role=treeitem]")].filter((el, i, all) => {
  const box = el.getBoundingClientRect();
  return !box.height || (i && box.top < all[i - 1].getBoundingClientRect().bottom - 1);
}).length`), "every line has a place of its own")
	assert.Equal(t, "none", eval[string](tb, `getComputedStyle(document.querySelector(".search")).display`))
}
