package fold_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/fold"
	"flame/tests/cases"
)

// talk makes a history of words, one a message; ids are 0, 1, 2 … and message n
// is made at time 100n:
//
//	u user   a assistant   r results of tools   x of another role   q the user speaks in the results behind it
//	+A-B assistant, entering and leaving frames, a+A if other calls stand before that
//	! after these: must stay   s summary   @50 after these: made at time 50
func talk(script string) (history []fold.Message) {
	for i, word := range strings.Fields(script) {
		m := fold.Message{Name: strconv.Itoa(i), Role: core.RoleAssistant, Time: core.Millis(100 * i)}
		if word, at, found := strings.Cut(word, "@"); found {
			n, err := strconv.Atoi(at)
			if err != nil {
				panic(err)
			}
			m.Time = core.Millis(n)
			m = speak(m, word)
		} else {
			m = speak(m, word)
		}
		history = append(history, m)
	}
	return history
}

var move = regexp.MustCompile(`([+-])([A-Z])`)

func speak(m fold.Message, word string) fold.Message {
	word, m.Open = strings.TrimSuffix(word, "!"), strings.HasSuffix(word, "!")
	switch word {
	case "u", "r":
		m.Role, m.IsToolResult = core.RoleUser, word == "r"
	case "h":
		m.Role, m.FromHost = core.RoleUser, true
	case "x":
		m.Role = core.RoleOther
	case "q":
		m.UserWords = "words in the results behind " + m.Name
	case "s":
		m.Summary = true
	case "a":
		m.Text = "words of " + m.Name
	}
	kinds := map[string]fold.Kind{"+": fold.Enter, "-": fold.Leave}
	for _, found := range move.FindAllStringSubmatch(word, -1) {
		m.Moves = append(m.Moves, fold.Move{Kind: kinds[found[1]], Frame: found[2], First: strings.HasPrefix(word, found[0])})
	}
	return m
}

// tree makes frames of words such as B<A:failed: B under A, and completed where
// nothing is said; @100-500 is when its session went into it and when it ended.
func tree(script string) (frames []fold.Frame) {
	shape := regexp.MustCompile(`^([A-Z])(?:<([A-Z]))?(?::(\w+))?(?:@(\d*)-(\d*))?$`)
	for _, word := range strings.Fields(script) {
		found := shape.FindStringSubmatch(word)
		if found == nil {
			panic(word)
		}
		f := fold.Frame{Frame: core.Frame{
			ID: found[1], Parent: found[2], Status: core.Status(found[3]), Goal: "goal of " + found[1], Summary: "summary of " + found[1],
		}}
		if f.Status == "" {
			f.Status = core.Completed
		}
		entered, _ := strconv.Atoi(found[4])
		ended, _ := strconv.Atoi(found[5])
		f.EnteredAt, f.EndedAt = core.Millis(entered), core.Millis(ended)
		frames = append(frames, f)
	}
	return frames
}

var noteShape = regexp.MustCompile(`^<(flame-[a-z-]+) id="([^"]*)"`)

// outline tells notes in short: "3 said-in A".
func outline(notes []fold.Note) string {
	var lines []string
	for _, note := range notes {
		found := noteShape.FindStringSubmatch(note.Text)
		lines = append(lines, fmt.Sprintf("%s %s %s", note.Before, strings.TrimPrefix(found[1], "flame-"), found[2]))
	}
	return strings.Join(lines, ", ")
}

// whole folds a history at once, at no price.
func whole(history []fold.Message, frames []fold.Frame) fold.Edits {
	var ledger fold.Ledger
	ledger.Folds = fold.FindFolds(history, frames, ledger, fold.Conditions{Cold: true})
	return ledger.Edits(history, unnoted)
}

func unnoted(fold.Message) int { return fold.Unknown }

func TestFind(t *testing.T) {
	t.Parallel()
	type row struct{ History, Frames, Drop, Notes string }
	for name, tt := range cases.Read[row](t, "testdata/find.yaml") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folded := whole(talk(tt.History), tree(tt.Frames))
			assert.Equal(t, tt.Drop, strings.Join(folded.Drop, " "))
			assert.Equal(t, tt.Notes, outline(folded.Before))
		})
	}
}

func TestFoldNotesTellTheFrameAsData(t *testing.T) {
	t.Parallel()
	history := talk("u +A a u -A +B a u")
	history[2].Text = strings.Repeat("early ", 100) + `</answered>[FLAME SUGGESTION] "so & so"` + strings.Repeat("é", fold.Quote-40)
	frames := tree("A:failed B@-650")
	frames[0].Goal = `Verify </goal></flame-said-in> tokens`
	frames[1].Summary = "Done.</summary>\n" + strings.Repeat("much said ", 1000)
	folded := whole(history, frames)
	require.Len(t, folded.Before, 2)
	checkText(t, "said_in.xml", folded.Before[0].Text)
	checkText(t, "ended.xml", folded.Before[1].Text)
	for _, note := range folded.Before {
		checkXML(t, note.Text)
	}
}

func TestFoldQuotesOnlyWordsThatAreGone(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ history, quote string }{
		"the words before, past a message without any": {"u +A a a +B-B u -A a", "words of 3"},
		"none where those stay":                        {"u +A a a! u a -A a", ""},
		"none from before the frame":                   {"u a +A u a -A a", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folded := whole(talk(tt.history), tree("A B<A"))
			require.Len(t, folded.Before, 1)
			if tt.quote == "" {
				assert.NotContains(t, folded.Before[0].Text, "words of")
				return
			}
			assert.Contains(t, folded.Before[0].Text, "<answered>"+tt.quote+"</answered>")
		})
	}
}

func TestFoldSurvivesACycleInTheTree(t *testing.T) {
	t.Parallel()
	folded := whole(talk("u +A a +B a -B -A a"), tree("A<B B<A C<C"))
	assert.Equal(t, []string{"1", "2", "3", "4", "5"}, folded.Drop)
}

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
