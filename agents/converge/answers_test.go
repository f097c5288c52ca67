package converge_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"

	"flame/agents/converge"
	"flame/tests/cases"
)

// What merge finds in two answers, beside the conflict about a name.
const (
	agreed      = "agreement"
	notCompared = "not compared"
)

// found returns what merge finds in answers: the names of conflicts, else agreement or not.
func found(t *testing.T, options converge.Options, answers ...string) string {
	t.Helper()
	options.Strategy = converge.StrategyMerge
	result := converged(t, answering(answers...), options)
	switch {
	case len(result.Conflicts) > 0:
		return strings.Join(lo.Map(result.Conflicts, func(c converge.Conflict, _ int) string { return c.Key }), "; ")
	case len(result.NotCompared) > 0:
		assert.NotEmpty(t, result.Differences)
		return notCompared
	}
	return agreed
}

// Two answers, and what merge finds in them.
type twoAnswers struct {
	A        string  `json:"a"`
	B        string  `json:"b"`
	Relative float64 `json:"relative"` // tolerance
	Finds    string  `json:"finds"`
}

func TestValuesAreCompared(t *testing.T) {
	all := cases.Read[twoAnswers](t, "testdata/values.yaml")
	all["bytes that are no text"] = twoAnswers{A: "\xff", B: "\xfe", Finds: notCompared}
	all["JSON of bytes that are no text"] = twoAnswers{A: "{\"a\":\"\xff\"}", B: "{\"a\":\"\xfe\"}", Finds: notCompared}
	for name, tt := range all {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.Finds, found(t, converge.Options{RelativeTolerance: tt.Relative}, tt.A, tt.B))
			assert.Equal(t, tt.Finds, found(t, converge.Options{RelativeTolerance: tt.Relative}, tt.B, tt.A), "the other way round")
			assert.Equal(t, agreed, found(t, converge.Options{}, tt.A, tt.A+"\n"), "an answer agrees with itself")
		})
	}
}

// TestDifferencesShowWhatOnlySomeSay also checks that agents with the same words share a side.
func TestDifferencesShowWhatOnlySomeSay(t *testing.T) {
	result := converged(t, answering("Summary\nport: 80\nIt holds.", "Summary\nport: 80\nIt leaks.", "Summary\nIt leaks.\nport: 81", `{"port": 80}`),
		converge.Options{Strategy: converge.StrategyMerge})
	assert.Equal(t, []string{"answer:port"}, conflictIDs(result))
	assert.Equal(t, []converge.Difference{{About: "answers", Sides: []converge.Statement{
		{SubagentIDs: []string{"a1"}, Says: "Summary\nIt holds."}, {SubagentIDs: []string{"a2", "a3"}, Says: "Summary\nIt leaks."},
	}}}, result.Differences)
	long := strings.Repeat("word ", converge.MaxShown)
	result = converged(t, answering(long, long+"x", long+"y"), converge.Options{Strategy: converge.StrategyMerge})
	for _, side := range result.Differences[0].Sides {
		assert.LessOrEqual(t, len(side.Says), converge.MaxShown+len("…"))
	}
}

// A fact is a value with a name, or a sentence if it has no name.
type fact struct{ name, value string }

// written writes facts in an order and a notation of its own.
func (facts facts) written(random *rand.Rand) string {
	named, sentences := lo.FilterReject(facts, func(f fact, _ int) bool { return f.name != "" })
	random.Shuffle(len(named), func(i, j int) { named[i], named[j] = named[j], named[i] })
	noise := func(text string) string { return pick(random, text, strings.ToUpper(text), " "+text+" ") }
	var lines []string
	for _, f := range named {
		if strings.Contains(f.name, ".") {
			continue
		}
		lines = append(lines, fmt.Sprintf(pick(random, "%s: %s", "- %s: %s", "* **%s:** %s", "%s = %s", "`%s` = `%s`"), noise(f.name), f.value))
	}
	table := []string{"| row | a | b |", "|---|---|---|"}
	rows := []string{"x", "y"}
	random.Shuffle(2, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	for _, row := range rows {
		cell := func(column string) string {
			f, _ := lo.Find(named, func(f fact) bool { return f.name == row+"."+column })
			return f.value
		}
		table = append(table, fmt.Sprintf("| %s | %s | %s |", noise(row), cell("a"), cell("b")))
	}
	for _, f := range sentences {
		lines = append(lines, noise(f.value))
	}
	return strings.Join(append(lines, strings.Join(table, "\n")), pick(random, "\n", "\n\n", "\r\n"))
}

type facts []fact

// TestNothingThatDiffersIsReportedAsAgreement changes one of the facts that several answers
// give, each in another notation.
func TestNothingThatDiffersIsReportedAsAgreement(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 8))
	value := func() string {
		return pick(random, "1", "2", "1.0", "1.10", "3 s", "red", "blue", "7 of 9", "a b c d e f g", "true")
	}
	for range 200 {
		all := facts{{"x.a", value()}, {"x.b", value()}, {"y.a", value()}, {"y.b", value()}}
		for i := range 1 + random.IntN(4) {
			all = append(all, fact{fmt.Sprintf("key %c", 'a'+i), value()})
		}
		all = append(all, fact{"", pick(random, "It holds for now.", "Nobody knows why it is so.")})
		same := lo.Times(2+random.IntN(2), func(int) string { return all.written(random) })
		assert.Equal(t, agreed, found(t, converge.Options{}, same...), same)

		other, at := slices.Clone(all), random.IntN(len(all))
		switch swap := random.IntN(len(all)); {
		case all[at].value != all[swap].value && all[swap].name != "" && all[at].name != "":
			other[at].value, other[swap].value = all[swap].value, all[at].value
		default:
			other[at].value += "1"
		}
		texts := append(same, other.written(random))
		assert.NotEqual(t, agreed, found(t, converge.Options{}, texts...), texts)
	}
}

// unitLike matches a number with a unit that is also written in other ways.
var unitLike = regexp.MustCompile(`\d ?(?:[num]?s|µs|sec|min|h|d|[kMGTi]*B)\b`)

// wordsIn returns the words of a text, each once. The tags of fenced blocks are none.
func wordsIn(text string) []string {
	var list []string
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.Contains(line, "```") && !strings.Contains(line, "~~~") {
			list = append(list, strings.FieldsFunc(strings.ToLower(strings.ToUpper(line)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// FuzzTexts reads keys and tables whatever is in them: texts with other words do not agree.
func FuzzTexts(f *testing.F) {
	f.Add("a: 1\n- b = 2", "|a|b|\n|-|-|\n|c|d|")
	f.Add("# h\na: 1\n[x]\na=2\n**b: `c`**", "|a|\n|-|\n||\n|a|b|c|")
	f.Add("|a|b|\n|-|-|\n", "| a\\| | \x00 |\n|:-:|--|\n|:|=|\n\"a\": \"b\"")
	f.Fuzz(func(t *testing.T, one, other string) {
		for _, text := range []string{one, other} {
			assert.Equal(t, strings.TrimSpace(text) == "", len(converged(t, answering(text, text), converge.Options{Strategy: converge.StrategyMerge}).NotCompared) > 0)
		}
		if strings.ContainsAny(one+other, "{[") || unitLike.MatchString(one+"\n"+other) || strings.TrimSpace(one) == "" || strings.TrimSpace(other) == "" {
			return
		}
		if !slices.Equal(wordsIn(one), wordsIn(other)) {
			assert.NotEqual(t, agreed, found(t, converge.Options{}, one, other))
		}
	})
}
