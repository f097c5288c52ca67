package judge_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core/judge"
)

func TestAPhraseMatchesWords(t *testing.T) {
	t.Parallel()
	for phrase, texts := range map[string][2]string{
		"go on":               {"please go on", "go away on"},
		"still fail~":         {"it still failing", "still it fails"},
		"# left":              {"3 left", "some left"},
		"left|open a|an":      {"an left an", "left the"},
		"the _ first":         {"the one first", "the first"},
		"no * left":           {"no test is left", "no a b c d e left"},
		"get ** deployed":     {"get a b c d e f deployed", "get it"},
		"^ stop":              {"stop it", "do stop"},
		"^ _ it is $":         {"sqlite it is", "sqlite it is not"},
		"@parking|put ** now": {"shelve that for now", "write that now"},
	} {
		l := judge.ReadLists("\n[parking]\nshelve\n[x]\n" + phrase).Of("x")
		assert.True(t, l.Has(strings.Fields(texts[0])...), "%q in %q", phrase, texts[0])
		assert.False(t, l.Has(strings.Fields(texts[1])...), "%q in %q", phrase, texts[1])
	}
}
