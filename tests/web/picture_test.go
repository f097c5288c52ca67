package web

import (
	"bytes"
	"cmp"
	"context"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	{"web-light", "light", 1440, 900, "", `document.querySelector(".card.decisions li")`},
	{"web-dark", "dark", 1440, 900, "sel=frame-agnt0001", `document.querySelector("#details").innerText.includes("agent-k3x9a1b2")`},
	{"web-filter", "light", 1440, 900, "q=status:failed,blocked", `document.querySelector(".card.decisions li")`},
	{"web-phone", "dark", 390, 844, "", `document.querySelector(".card.decisions li")`},
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

// areaPixels is how often a picture has the colour of a button or a bar at least.
const areaPixels = 400

// fewColours returns a picture in 256 of its colours: those of areas, and the most frequent others
// that are not almost equal.
func fewColours(picture image.Image) image.Image {
	counts := map[color.Color]int{}
	bounds := picture.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[picture.At(x, y)]++
		}
	}
	all := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int { return cmp.Compare(counts[b], counts[a]) })
	few := image.NewPaletted(bounds, all[:1:1])
	for _, c := range all[1:] {
		if len(few.Palette) < 256 && (counts[c] > areaPixels || apart(c, few.Palette.Convert(c)) > 12) {
			few.Palette = append(few.Palette, c)
		}
	}
	nearest := map[color.Color]uint8{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := picture.At(x, y)
			i, known := nearest[c]
			if !known {
				i = uint8(few.Palette.Index(c))
				nearest[c] = i
			}
			few.SetColorIndex(x, y, i)
		}
	}
	return few
}

// apart returns the largest difference of two colours in a channel.
func apart(a, b color.Color) (most int) {
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	for _, pair := range [][2]uint32{{ar, br}, {ag, bg}, {ab, bb}} {
		difference := int(pair[0]>>8) - int(pair[1]>>8)
		most = max(most, difference, -difference)
	}
	return most
}
