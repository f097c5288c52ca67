package web

import (
	"bytes"
	"context"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"testing"

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
