package judge

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// expressions are all of the package.
var expressions = map[string]*expression{
	"apartText":   apartText,
	"asideText":   asideText,
	"awayText":    awayText,
	"beforeText":  beforeText,
	"between":     between,
	"causeText":   causeText,
	"checkWords":  checkWords,
	"clauseComma": clauseComma,
	"closedText":  closedText,
	"counted":     counted,
	"dryRun":      dryRun,
	"failedCount": failedCount,
	"failedMark":  failedMark,
	"favourText":  favourText,
	"filesText":   filesText,
	"filtered":    filtered,
	"firstText":   firstText,
	"forbids":     forbids,
	"former":      former,
	"goOnText":    goOnText,
	"leadText":    leadText,
	"leaveComma":  leaveComma,
	"leaveText":   leaveText,
	"limited":     limited,
	"logLine":     logLine,
	"measured":    measured,
	"newText":     newText,
	"nextText":    nextText,
	"noTests":     noTests,
	"notices":     notices,
	"onlyChecks":  onlyChecks,
	"overText":    overText,
	"planText":    planText,
	"pleaseText":  pleaseText,
	"portions":    portions,
	"present":     present,
	"sentenceEnd": sentenceEnd,
	"setting":     setting,
	"shares":      shares,
	"shouldText":  shouldText,
	"subordinate": subordinate,
	"suggestText": suggestText,
	"tests":       tests,
	"ticketName":  ticketName,
	"ticketText":  ticketText,
	"ticketTitle": ticketTitle,
	"titleEnd":    titleEnd,
	"urgentText":  urgentText,
	"verbComma":   verbComma,
	"wantText":    wantText,
}

func TestAnExpressionIsNotPassedOverWhereItMatches(t *testing.T) {
	t.Parallel()
	said := saidSomewhere(t)
	for name, e := range expressions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, text := range said {
				if !e.may(text) {
					require.False(t, e.re().MatchString(text), "%s in %q, which has none of %q", name, text, e.needs)
				}
			}
		})
	}
}

const everyNth = 8

// saidSomewhere returns an eighth of all texts of the moments that the judgement is measured with, their
// words, and both in capitals.
func saidSomewhere(t *testing.T) []string {
	files, err := filepath.Glob("../testdata/judgement/*.jsonl")
	require.NoError(t, err)
	said := map[string]bool{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(source)) {
			var moment any
			require.NoError(t, json.Unmarshal([]byte(line), &moment))
			collectTexts(moment, func(text string) {
				text = head(text, 200)
				for _, text := range []string{text, strings.Join(wordsOf(text), " ")} {
					said[text], said[strings.ToUpper(text)] = true, true
				}
			})
		}
	}
	require.Greater(t, len(said), 1000)
	some := slices.Sorted(maps.Keys(said))
	for i := range len(some) / everyNth { // all would take half a minute with the race detector
		some[i] = some[i*everyNth]
	}
	return some[:len(some)/everyNth]
}

func collectTexts(v any, add func(text string)) {
	switch v := v.(type) {
	case string:
		add(v)
	case []any:
		for _, item := range v {
			collectTexts(item, add)
		}
	case map[string]any:
		for _, item := range v {
			collectTexts(item, add)
		}
	}
}

func TestLiteralsAreWhatEachMatchHas(t *testing.T) {
	t.Parallel()
	for pattern, has := range map[string][]string{
		`abc`:                     {"abc"},
		`ABC`:                     {"abc"},
		`\bab(c|de)\b`:            {"ab"},
		`(abc|de)x?`:              {"abc", "de"},
		`abx?cd`:                  {"ab"},
		`abx*cde`:                 {"cde"},
		`abx+cd`:                  {"abx"},
		`a{0,3}bc`:                {"bc"},
		`(?i)(?:ab )?cd`:          {"cd"},
		`(ab)?`:                   nil,
		`ab|\d+`:                  nil,
		`ab|`:                     nil,
		`[abc]\w\.go`:             {".go"},
		`[]x]yz`:                  {"yz"},
		`^\s*(x|y\(z)`:            {"x", "y(z"},
		`über.*(ß|ss)`:            {"über"},
		`(ab|(cd|e)) f`:           {" f"},
		`(one|(two|three)+) (f|)`: {"one", "two", "three"},
		`ab)c`:                    nil,
	} {
		assert.Equal(t, has, literals(pattern), pattern)
	}
}

func TestAnExpressionThatCannotMatchIsNotCompiled(t *testing.T) {
	t.Parallel()
	e := anyOf(`\burgent\b`, `\bhot ?fix`)
	assert.False(t, e.MatchString("Now split the parser from the session cache."))
	assert.Empty(t, e.FindString("split"))
	assert.Nil(t, e.FindStringIndex("split"))
	assert.Nil(t, e.FindStringSubmatch("split"))
	assert.Nil(t, e.FindAllStringIndex("split", -1))
	assert.Nil(t, e.FindAllStringSubmatch("split", -1))
	assert.Nil(t, e.FindAllStringSubmatchIndex("split", -1))
	assert.Equal(t, "split", e.ReplaceAllString("split", "x"))
	assert.Equal(t, []string{"split"}, e.Split("split", -1))
	assert.Nil(t, e.regex)
	assert.True(t, e.MatchString("A HOTFIX, please"))
	assert.NotNil(t, e.regex)
}

func TestALetterOfAnotherCaseIsFound(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"kiss", "KISS", "\u212aISS", "kiſs"} {
		e := anyOf(`kiss`)
		assert.Equal(t, regexp.MustCompile(`(?i)kiss`).MatchString(text), e.MatchString(text), text)
	}
}
