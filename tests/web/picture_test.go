package web

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// maxPicture is the largest size of a picture in the documents, in bytes.
const maxPicture = 200_000

// documented are the pictures in the documents.
var documented = []struct {
	name, theme   string
	width, height int64
	view          string // in the address
	shows         string // what is true once all is shown
}{
	{"web-light", "light", 1440, 900, "", `document.querySelector(".decisions li")`},
	{"web-dark", "dark", 1440, 900, "sel=frame-agnt0001", `document.querySelector("#details .now")`},
	{"web-filter", "light", 1440, 900, "q=status:failed,blocked", `document.querySelector(".decisions li")`},
	{"web-phone", "dark", 390, 844, "", `document.querySelectorAll("[role=treeitem]").length > 5`},
}

// With FLAME_TEST_PICTURES=../../docs this test makes the pictures in the documents.
func TestThePicturesOfTheDocuments(t *testing.T) {
	_, s := servedShowcase(t)
	for _, of := range documented {
		tb := newTab(t)
		tb.expect("/log?") // the scene has no transcripts
		tb.theme(of.theme)
		tb.size(of.width, of.height)
		tb.fresh(s, of.view)
		tb.until(of.shows)
		ctx, cancel := context.WithTimeout(tb.ctx, patience)
		raw, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		cancel()
		require.NoError(t, err)
		picture, err := png.Decode(bytes.NewReader(raw))
		require.NoError(t, err)
		var small bytes.Buffer
		encoder := png.Encoder{CompressionLevel: png.BestCompression}
		require.NoError(t, encoder.Encode(&small, fewColours(picture)))
		assert.Less(t, small.Len(), maxPicture)
		assert.Greater(t, small.Len(), maxPicture/10, "the picture shows almost nothing")
		if dir := os.Getenv("FLAME_TEST_PICTURES"); dir != "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, of.name+".png"), small.Bytes(), 0o644))
		}
	}
}

// fewColours returns a picture whose colours differ by more than anybody sees, which is small as a file.
func fewColours(picture image.Image) image.Image {
	few := image.NewRGBA(picture.Bounds())
	draw.Draw(few, few.Bounds(), picture, few.Bounds().Min, draw.Src)
	for i := range few.Pix {
		few.Pix[i] |= 7
	}
	return few
}

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

// A place is where a frame of the picture is, in pixels.
type place struct{ Left, Right, Top float64 }

// at returns the place of a frame in the picture, once that is still.
func (tb *tab) at(frame string) (p place) {
	tb.settled()
	return eval[place](tb, fmt.Sprintf(`(() => {
  const box = document.querySelector('.bar[data-id="%s"]')?.getBoundingClientRect();
  return { Left: box?.left || 0, Right: box?.right || 0, Top: box?.top || 0 };
})()`, frame))
}

const (
	zoomed = `[...document.querySelectorAll(".way button")].map((el) => el.innerText).join(" > ")`
	signs  = "frame-sign0001" // a root
	retry  = "frame-sign0005" // below it
	tester = "frame-agnt0001" // below that
)

func TestThePictureIsByCostAndZooms(t *testing.T) {
	_, s, tb := showcased(t)
	tb.expect("/log?")
	tb.theme("light") // without motion
	tb.fresh(s)
	assert.Equal(t, "What it cost", tb.text(".way"))
	costs := eval[[]string](tb, `[...document.querySelectorAll(".bar .bc")].map((el) => el.innerText)`)
	assert.Greater(t, len(costs), 1)
	before := tb.at(signs)
	assert.Greater(t, before.Left, tb.at("frame-recv0001").Left, "the widest first")
	assert.Equal(t, tb.at(retry).Top, before.Top+24, "children are below")
	const nameless = `[...document.querySelectorAll(".bar")].filter((el) => el.offsetWidth >= 42 && !el.innerText.trim()).length`
	assert.Zero(t, eval[int](tb, nameless), "names from 40 px on")

	// What points at a bar sees all of it; a click zooms in, and selects.
	call(tb, input.DispatchMouseEvent, input.DispatchMouseEventParams{
		Type: input.DispatchMouseEventTypeMouseMoved, X: before.Left + 20, Y: before.Top + 10, DeltaX: 1e-9, DeltaY: 1e-9, // the protocol wants both
	})
	const told = `/^Signatures by Ed25519, and [^]+\sIn progress · \$[\d.]+ · [\d.]+ M tokens · 2 h.* · Claude Code$/`
	tb.until(told + `.test(document.querySelector("#hint").innerText)`)
	tb.click(fmt.Sprintf(`.bar[data-id="%s"]`, signs))
	tb.until(zoomed + ` === "orchard > Signatures by Ed25519, and retries that do not pile up"`)
	tb.until(fmt.Sprintf(`document.querySelector("#details").dataset.frame === %q`, signs))
	wide := tb.at(signs)
	assert.Greater(t, wide.Right-wide.Left, 1.5*(before.Right-before.Left))
	tb.click(fmt.Sprintf(`.bar[data-id="%s"]`, retry))
	tb.until(zoomed + `.endsWith("> Retries with growing pauses")`)
	assert.InDelta(t, wide.Right-wide.Left, tb.at(signs).Right-tb.at(signs).Left, 1, "frames above are whole rows")
	link := eval[string](tb, `import("./address.js").then((address) => (address.keepNow(), location.hash))`)
	tb.click(fmt.Sprintf(`.bar[data-id="%s"]`, tester)) // without children: selected only
	tb.until(fmt.Sprintf(`document.querySelector("#details").dataset.frame === %q`, tester))
	assert.Equal(t, tester, eval[string](tb, `document.querySelector(".bar.on").dataset.id`))
	assert.Contains(t, eval[string](tb, zoomed), "Retries")

	// Esc goes up one, then closes the frame; what failed never fades.
	tb.press(escape)
	tb.until(zoomed + `.endsWith("pile up")`)
	tb.press(escape)
	tb.until(`document.querySelector(".way").innerText === "What it cost"`)
	assert.Zero(t, eval[int](tb, `document.querySelectorAll(".b-failed.fades, .b-blocked.fades").length`))
	assert.Positive(t, eval[int](tb, `document.querySelectorAll(".bar.fades").length`))
	tb.press(escape)
	tb.until(`document.querySelector("#details").hidden && !document.querySelector(".bar.fades")`)
	tb.fresh(s, link[1:]) // a link shows the same
	tb.until(zoomed + `.endsWith("> Retries with growing pauses")`)
}

func TestThePictureByTimeHasNoIdleTime(t *testing.T) {
	_, s, tb := showcased(t)
	tb.expect("/log?")
	tb.theme("light")
	tb.fresh(s, "by=time")
	assert.Equal(t, "When it was worked on", tb.text(".way"))
	pauses := eval[[]string](tb, `[...document.querySelectorAll(".axis .cut")].map((el) => el.innerText)`)
	lunch := "55 m" // from 1290 to 1235 minutes ago; a pause over midnight is named by the day that begins
	if from, until := time.Now().Add(-1290*time.Minute), time.Now().Add(-1235*time.Minute); from.Day() != until.Day() {
		lunch = until.Format("Jan 2")
	}
	assert.Contains(t, pauses, lunch)
	assert.Greater(t, len(pauses), 1, "and a night")
	width := eval[float64](tb, `document.querySelector(".bars").offsetWidth`)
	night := tb.at(signs).Left - tb.at("frame-revw0001").Right // 16 hours
	assert.Less(t, night, width/8)
	planned := eval[int](tb, `document.querySelectorAll('.bar[data-id^="plan-"]').length`)
	assert.Zero(t, planned, "what was not begun has no bar")
	assert.Empty(t, eval[[]string](tb, ugly))
}
