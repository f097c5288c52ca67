package web

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/stretchr/testify/assert"
)

// A place is where a frame of the picture is, in pixels.
type place struct{ Left, Right, Top float64 }

func (p place) middle() float64 { return (p.Left + p.Right) / 2 }

// at returns the place of a frame in the picture, once that is still.
func (tb *tab) at(frame string) (p place) {
	tb.t.Helper()
	tb.settled()
	return eval[place](tb, fmt.Sprintf(`(() => {
  const el = document.querySelector('.box[visibility=visible][data-id="%s"] rect');
  const box = el ? el.getBoundingClientRect() : { left: NaN, right: NaN, top: NaN };
  return { Left: box.left || 0, Right: box.right || 0, Top: box.top || 0 };
})()`, frame))
}

// mouse sends an event of the mouse, with a wheel that turned.
func (tb *tab) mouse(kind input.DispatchMouseEventType, x, y, sideways, down float64) {
	tb.t.Helper()
	event := input.DispatchMouseEventParams{Type: kind, X: x, Y: y, DeltaX: cmp.Or(sideways, 1e-9), DeltaY: cmp.Or(down, 1e-9)} // the protocol wants both
	if kind != input.DispatchMouseEventTypeMouseWheel {
		event.Button, event.Buttons, event.ClickCount = input.MouseButtonLeft, 1, 1
	}
	call(tb, input.DispatchMouseEvent, event)
}

// wheel turns the wheel over a point.
func (tb *tab) wheel(x, y, sideways, down float64) {
	tb.t.Helper()
	tb.mouse(input.DispatchMouseEventTypeMouseWheel, x, y, sideways, down)
}

// drag moves the mouse with its button held.
func (tb *tab) drag(x, y, byX, byY float64) {
	tb.t.Helper()
	const steps = 8
	tb.mouse(input.DispatchMouseEventTypeMousePressed, x, y, 0, 0)
	for i := range steps {
		part := float64(i+1) / steps
		tb.mouse(input.DispatchMouseEventTypeMouseMoved, x+byX*part, y+byY*part, 0, 0)
	}
	tb.mouse(input.DispatchMouseEventTypeMouseReleased, x+byX, y+byY, 0, 0)
}

// touch moves fingers, each from its place so far to the right.
func (tb *tab) touch(y float64, fingers ...[2]float64) {
	tb.t.Helper()
	const steps = 8
	send := func(kind input.DispatchTouchEventType, part float64) {
		event := input.DispatchTouchEventParams{Type: kind, TouchPoints: []*input.TouchPoint{}}
		for i, f := range fingers {
			if kind == input.DispatchTouchEventTypeTouchEnd {
				continue
			}
			id := float64(i)
			event.TouchPoints = append(event.TouchPoints, &input.TouchPoint{X: f[0] + (f[1]-f[0])*part, Y: y, ID: &id})
		}
		call(tb, input.DispatchTouchEvent, event)
	}
	send(input.DispatchTouchEventTypeTouchStart, 0)
	for i := range steps {
		send(input.DispatchTouchEventTypeTouchMove, float64(i+1)/steps)
	}
	send(input.DispatchTouchEventTypeTouchEnd, 1)
}

const pressed = `(document.querySelector(".times [aria-pressed=true]")?.innerText || "")`

func TestThePictureMovesByWheelMouseAndKeys(t *testing.T) {
	_, s, tb := showcased(t)
	tb.expect("/log?")
	tb.theme("light") // without motion
	const frame, other = "frame-revw0001", "frame-recv0006"
	tb.fresh(s)
	before := tb.at(frame)
	assert.Equal(t, "All", eval[string](tb, pressed))

	// The wheel zooms at the pointer.
	x, y := before.middle(), before.Top+10
	for range 3 {
		tb.wheel(x, y, 0, -100)
	}
	zoomed := tb.at(frame)
	assert.Greater(t, zoomed.Right-zoomed.Left, 2*(before.Right-before.Left))
	assert.InDelta(t, x, zoomed.middle(), 2, "what is under the pointer stays there")
	assert.Empty(t, eval[string](tb, pressed))
	tb.until(`/span=\d+-\d+/.test(location.hash)`)

	// The mouse drags; that is no click.
	tb.drag(x, y, 150, 0)
	dragged := tb.at(frame)
	assert.InDelta(t, zoomed.Left+150, dragged.Left, 1)
	assert.InDelta(t, zoomed.Right+150, dragged.Right, 1)
	assert.NotContains(t, eval[string](tb, "location.hash"), "sel=")
	tb.wheel(x, y, 150, 0)
	assert.InDelta(t, zoomed.Left, tb.at(frame).Left, 1, "a wheel that turns sideways moves")

	// A link shows the same.
	link := eval[string](tb, `import("./address.js").then((address) => (address.keepNow(), location.hash))`)
	tb.fresh(s, link[1:])
	assert.InDelta(t, zoomed.Left, tb.at(frame).Left, 2)

	// Keys, as long as nothing else has the focus.
	tb.press("-")
	assert.Less(t, tb.at(frame).Right-tb.at(frame).Left, zoomed.Right-zoomed.Left)
	tb.press("0", "+")
	still := tb.at(frame)
	assert.Greater(t, still.Right-still.Left, 1.5*(before.Right-before.Left))
	tb.press(arrowRight)
	assert.Less(t, tb.at(frame).Left, still.Left-100)
	tb.press(arrowLeft)
	assert.InDelta(t, still.Left, tb.at(frame).Left, 2)
	tb.focus("#tree")
	tb.press(arrowDown, arrowDown, arrowRight)
	assert.InDelta(t, still.Left, tb.at(frame).Left, 2, "arrows move in the tree, where that has the focus")
	tb.press("0")
	tb.until(pressed + ` === "All"`)
	assert.InDelta(t, before.Left, tb.at(frame).Left, 2)
	tb.click(fmt.Sprintf(`.box[data-id="%s"]`, other))
	tb.until(fmt.Sprintf(`location.hash.includes("sel=%s")`, other))

	// A part of one picture is none of another.
	tb.press("+", "t")
	tb.until(`location.hash.includes("by=tokens") && !location.hash.includes("span")`)
	tb.at(other)
	tb.press("+", "+")
	tb.until(`document.querySelector(".tick text").textContent.includes(" of ")`)
	tb.press("c", "z")
	tb.until(`location.hash.includes("under=") && !location.hash.includes("span")`)
}

func TestThePictureMovesByTouch(t *testing.T) {
	_, s, tb := showcased(t)
	tb.theme("light")
	tb.size(390, 800)
	call(tb, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true})
	const frame = "frame-recv0006"
	tb.fresh(s)
	before := tb.at(frame)
	middle, y := before.middle(), before.Top+10
	tb.touch(y, [2]float64{middle - 20, middle - 60}, [2]float64{middle + 20, middle + 60})
	pinched := tb.at(frame)
	assert.InDelta(t, 3, (pinched.Right-pinched.Left)/(before.Right-before.Left), 0.5, "two fingers zoom")
	assert.InDelta(t, middle, pinched.middle(), 6)
	tb.touch(y, [2]float64{200, 150})
	assert.InDelta(t, pinched.Left-50, tb.at(frame).Left, 1, "one finger drags")
	assert.NotContains(t, eval[string](tb, "location.hash"), "sel=")
	assert.LessOrEqual(t, eval[int](tb, "document.scrollingElement.scrollWidth"), 390)
}

func TestPartsOfTimeByName(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.imported(200) // a long time ago
	s := u.serve()
	tb := newTab(t)
	call(tb, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: noon()})
	tb.theme("light")
	tb.fresh(s)
	tb.click(`.times [data-span=hour]`)
	tb.until(pressed + ` === "Last hour" && location.hash.includes("span=hour")`)
	tb.until(`document.querySelector(".nothing").textContent.includes("0 shows all")`)
	id := u.id("push", "The harvest") // the hour goes on while it is shown
	assert.Greater(t, tb.atOnce(id).Left, 30.0)
	tb.click(`.times [data-span=today]`)
	tb.until(pressed + ` === "Today"`)
	tb.until(`[...document.querySelectorAll(".gap[visibility=visible] text")].some((el) => /^\d+ [hms]/.test(el.textContent))`) // since midnight
	assert.Greater(t, tb.at(id).Left, 30.0)
	tb.click(`.times [data-span=""]`)
	tb.until(pressed + ` === "All"`)
	boxes := eval[int](tb, `document.querySelectorAll(".box[visibility=visible], .crowd[visibility=visible]").length`)
	assert.Greater(t, boxes, 3, "the months between are folded")
	assert.Empty(t, eval[[]string](tb, ugly))
}

// noon names a time zone where it is about noon: the day does not end while a test runs.
func noon() string { return fmt.Sprintf("Etc/GMT%+d", time.Now().UTC().Hour()-12) }

// atOnce waits until a frame is in the picture.
func (tb *tab) atOnce(frame string) place {
	tb.t.Helper()
	tb.until(fmt.Sprintf(`document.querySelector('.box[visibility=visible][data-id="%s"]')`, frame))
	return tb.at(frame)
}
