package web

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/stretchr/testify/assert"
)

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
