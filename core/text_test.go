package core_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"flame/core"
	"flame/tests/cases"
)

func TestTruncate(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		max  float64
		want string
	}{
		"never cuts a character in half":          {"abcd😀😀😀", 2, "abcd..."},
		"keeps a pair that just fits":             {"abc😀😀😀😀", 2, "abc😀..."},
		"cuts other scripts by their characters":  {strings.Repeat("登", 20), 2, "登登登登登..."},
		"leaves a text that just fits":            {"12345678", 2, "12345678"},
		"goes back to a space near the end":       {"one two three four", 4.25, "one two three..."},
		"does not go back far":                    {"one threefourfivesix", 4, "one threefour..."},
		"gives the indicator where nothing fits":  {"some words", 0, "..."},
		"floors the room of a fractional maximum": {"abcdefghijkl", 2.2, "abcde..."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, cut := core.Truncate(tt.text, tt.max, "...")
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.want != tt.text, cut)
		})
	}
}

func TestTruncatedTextsFit(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	letters := []rune("ab c😀é登 \n")
	for range 2000 {
		text := make([]rune, random.IntN(60))
		for i := range text {
			text[i] = letters[random.IntN(len(letters))]
		}
		most := float64(random.IntN(40)) / 3
		got, cut := core.Truncate(string(text), most, "…")
		assert.True(t, utf8.ValidString(got))
		if most >= 1 {
			assert.LessOrEqual(t, float64(core.EstimateTokens(got)), most+1, "%q at %v", string(text), most)
		}
		if cut {
			assert.True(t, strings.HasPrefix(string(text), strings.TrimSuffix(got, "…")))
		}
	}
}

func TestKeywords(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want []string
	}{
		"accents do not split words":            {"Café crème", []string{"café", "crème"}},
		"decomposed accents do not either":      {"Cafe\u0301 noir", []string{"cafe\u0301", "noir"}},
		"other scripts have words":              {"Исправить вход 登录功能", []string{"исправить", "вход", "登录功能"}},
		"paths fall into words":                 {"src/auth_token.go", []string{"src", "auth", "token"}},
		"stop words and short ones say nothing": {"you should not do it in an IDE", []string{"not", "ide"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, core.Keywords(tt.text))
		})
	}
}

func TestEscapeXMLDropsWhatXMLCannotHold(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "a&amp;&lt;&gt;&quot;&apos;\t\r\nz", core.EscapeXML("a\x00&\x1b<>\x08\"'\t\r\nz\uFFFE\uFFFF"))
	assert.Equal(t, "a\uFFFDb😀", core.EscapeXML("a\xffb😀"))
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	type row struct {
		Text string
		Max  int
		Want string
	}
	tests := cases.Read[row](t, "testdata/oneline.yaml")
	tests["bytes that are no text are replaced"] = row{"a\xff", 0, "a\uFFFD"}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.Want, core.OneLine(tt.Text, tt.Max))
		})
	}
}

func TestCutKeepsWholeCharacters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "abc": "abc", "abcd": "ab…", "äöü": "äöü", "äöüß": "äö…", "\xff\xfe\xfd\xfc": "\xff\xfe…"} {
		assert.Equal(t, want, core.Cut(text, 3), text)
	}
	assert.Equal(t, "…", core.Cut("abc", 1))
}
