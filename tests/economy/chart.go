package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/samber/lo"
)

// chartFile has the picture of the saving that the README shows.
const chartFile = "docs/savings.svg"

// charted are the rows that the chart compares, each with its host's row without flame.
var charted = []struct{ host, row, command string }{
	{"OpenCode", withFlame, "opencode, after flame setup"},
	{"Claude Code", behind, "flame claude"},
	{"Codex CLI", behindCodex, behindCodex},
	{"Gemini CLI", behindGemini, behindGemini},
}

// chartHead is the beginning of the chart, with places for its height.
const chartHead = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 %[1]d" width="860" height="%[1]d" role="img" ` +
	`font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif" font-size="13">
  <title>What the same work costs without and with flame</title>
  <desc>US dollars for one task of 20 pieces in four hosts, measured with the real clients and a scripted model.</desc>
  <style>
    .page { fill: #ffffff; stroke: #d0d7de; } .text { fill: #1f2328; } .name { fill: #1f2328; font-weight: 600; }
    .note { fill: #59636e; } .plain { fill: #afb8c1; } .flame { fill: #bf5b16; }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117; stroke: #3d444d; } .text, .name { fill: #f0f6fc; } .note { fill: #9198a1; }
      .plain { fill: #656c76; } .flame { fill: #f0883e; }
    }
  </style>
  <rect class="page" x="0.5" y="0.5" width="859" height="%[2]d" rx="8"/>
`

// chartOf draws the costs in the first table of a document as bars.
func chartOf(document string) (string, error) {
	const top, step, left, wide = 62, 58, 210, 430
	var b strings.Builder
	height := top + step*len(charted) + 22
	fmt.Fprintf(&b, chartHead, height, height-1)
	fmt.Fprintf(&b, "  <text class=\"name\" x=\"24\" y=\"32\" font-size=\"16\">The same work, without flame and with it</text>\n"+
		"  <text class=\"note\" x=\"836\" y=\"32\" text-anchor=\"end\">US dollars, with the API's cache; tokens sent</text>\n")
	for i, c := range charted {
		plain, plainErr := chartedRow(document, c.host+", "+withoutFlame)
		folded, err := chartedRow(document, c.host+", "+c.row)
		if err = errors.Join(plainErr, err); err != nil {
			return "", err
		}
		y := top + step*i
		fmt.Fprintf(&b, "  <text class=\"name\" x=\"24\" y=\"%d\">%s</text>\n", y+14, c.host)
		command := strings.ReplaceAll(c.command, "FLAME_GATEWAY_FOLD=on", "fold on:")
		fmt.Fprintf(&b, "  <text class=\"note\" x=\"24\" y=\"%d\" font-size=\"11\">%s</text>\n", y+32, command)
		for n, bar := range []struct {
			class string
			row   figuresOf
			after string
		}{{"plain", plain, ""}, {"flame", folded, fmt.Sprintf(" · %.1fx less", plain.dollars/folded.dollars)}} {
			width := int(bar.row.dollars / 20 * wide)
			fmt.Fprintf(&b, "  <rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"16\" rx=\"3\"/>\n", bar.class, left, y+n*20, width)
			fmt.Fprintf(&b, "  <text class=\"text\" x=\"%d\" y=\"%d\">$%.2f · %s tokens%s</text>\n",
				left+width+8, y+n*20+13, bar.row.dollars, bar.row.tokens, bar.after)
		}
	}
	b.WriteString("</svg>\n")
	return b.String(), nil
}

// figuresOf are those of a row.
type figuresOf struct {
	tokens  string
	dollars float64 // with the API's cache
}

func chartedRow(document, name string) (f figuresOf, err error) {
	_, row, there := strings.Cut(document, "\n| "+name+" | ")
	cells := strings.Split(row, " | ")
	if !there || len(cells) < 4 {
		return f, fmt.Errorf("there is no row %q to draw", name)
	}
	f.tokens = cells[1]
	f.dollars, err = strconv.ParseFloat(cells[3], 64)
	return f, err
}

// drawChart draws the rows of a document into the chart's file.
func drawChart(document string) {
	chart := lo.Must(chartOf(string(lo.Must(os.ReadFile(document)))))
	lo.Must0(os.WriteFile(chartFile, []byte(chart), 0o644))
}
