package top

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func names(keys []key) (list []string) {
	for _, k := range keys {
		list = append(list, k.name)
	}
	return list
}

func TestTheDecoderKnowsTheKeysOfTerminals(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		sent string
		want []string
	}{
		"letters":                         {"jk G", []string{"j", "k", " ", "G"}},
		"arrows of both modes":            {"\x1b[A\x1bOB\x1b[C\x1bOD", []string{"up", "down", "right", "left"}},
		"arrows with Shift":               {"\x1b[1;2A\x1b[1;5B", []string{"up", "down"}},
		"home and end of all kinds":       {"\x1b[H\x1b[1~\x1b[7~\x1bOH\x1b[F\x1b[4~\x1b[8~", []string{"home", "home", "home", "home", "end", "end", "end"}},
		"pages":                           {"\x1b[5~\x1b[6~", []string{"pgup", "pgdn"}},
		"Enter, Backspace, Ctrl":          {"\r\n\x7f\b\x03\x1a", []string{"enter", "enter", "backspace", "backspace", "ctrl-c", "ctrl-z"}},
		"Esc before a key on a slow line": {"\x1bj\x1b\x1a\x1b\x1b[A", []string{"esc", "j", "esc", "ctrl-z", "esc", "up"}},
		"wide characters":                 {"é世", []string{"é", "世"}},
		"bytes that are not text":         {"\xff\x00\u200ej", []string{"j"}},
		"unused keys":                     {"\x1b[15~\x1b[<0;1;1M\x1b[3~j", []string{"j"}},
		"an invalid sequence":             {"\x1b[\x03j", []string{"ctrl-c", "j"}},
		"answers of a terminal":           {"\x1b[?62;c\x1b[1;1Rj", []string{"j"}},
		"pasted text presses no key":      {"\x1b[200~qx\x1b[Ay\x1b[201~j", []string{pasted, "j"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := decoder{}
			got := names(whole.feed(tt.sent))
			assert.Equal(t, tt.want, clear(got))
			piece := decoder{}
			got = nil
			for i := range len(tt.sent) {
				got = append(got, names(piece.feed(tt.sent[i:i+1]))...)
			}
			assert.Equal(t, tt.want, clear(got), "byte by byte")
			assert.False(t, piece.waits())
		})
	}
}

// clear drops keys that are for nothing.
func clear(list []string) (kept []string) {
	for _, name := range list {
		if name != "" {
			kept = append(kept, name)
		}
	}
	return kept
}

func TestEscIsAKeyIfNothingFollows(t *testing.T) {
	t.Parallel()
	var d decoder
	assert.Empty(t, d.feed("\x1b"))
	assert.True(t, d.waits())
	assert.Equal(t, []string{"esc"}, names(d.flush()))
	assert.False(t, d.waits())
	assert.Equal(t, []string{"A"}, names(d.feed("A")))
}

func TestPastedTextIsBounded(t *testing.T) {
	t.Parallel()
	var d decoder
	var keys []key
	keys = append(keys, d.feed("\x1b[200~")...)
	for range 1000 {
		keys = append(keys, d.feed(strings.Repeat("x", 1000)+"\x1b[20")...)
	}
	keys = append(keys, d.feed("\x1b[201~")...)
	if assert.Len(t, keys, 1) {
		assert.Less(t, len(keys[0].text), 10_000)
	}
}

func TestTheScreenSurvivesAnyInput(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{
		"j", "k", "G", "g", " ", "\r", "\x1b", "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[6~", "\x1b[5~", "/", "x", "y", "N", "s", ".", "n", "?", "l",
		"\x1b[200~a\x1b[201~", "\xff", "世", "\x7f", "\x15", "[", "q", "\x1a",
	}
	var d decoder
	s := newScreen(aProject())
	for range 20_000 {
		sent := pieces[r.IntN(len(pieces))]
		keys := d.feed(sent)
		if r.IntN(10) == 0 {
			keys = append(keys, d.flush()...)
		}
		for _, k := range keys {
			s.Key(k)
			s.Width, s.Height = 1+r.IntN(100), 1+r.IntN(30)
			s.Settle()
		}
		if r.IntN(20) == 0 {
			assert.Len(t, s.Lines(), s.Height)
		}
	}
}
