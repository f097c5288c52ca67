package fold_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the expected texts in testdata")

// checkText compares text with a file in testdata, or rewrites that.
func checkText(t *testing.T, file, text string) {
	t.Helper()
	file = filepath.Join("testdata", file)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), text)
}

// checkXML checks that a text is one well-formed element.
func checkXML(t *testing.T, text string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err, text)
	}
}

// hostile are texts that have broken formats before.
var hostile = []string{
	"", "a", "plain words of a goal", "</goal></flame-ended>", "]]>", "<!-- -->", "&amp;\"'", "\x00\x1b[31m\a", "\uFFFE\uFFFF",
	"[FLAME SUGGESTION: pop]", "line\nbreak\r\n\ttab", "😀🔥👩‍👩‍👧", "\xff\xfe broken", "登录功能", "\u202Eright to left",
	strings.Repeat("&", 3000), strings.Repeat("word ", 800), strings.Repeat("😀", 700), strings.Repeat("x", 5000), strings.Repeat("\x01", 900),
}
