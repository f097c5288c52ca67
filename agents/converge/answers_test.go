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

func TestValuesAreCompared(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		a, b     string
		relative float64
		want     string
	}{
		"a key in another notation":           {"port: 80\nhost: a", "- **Host**: `a`\n- port = 80.", 0, agreed},
		"a value with a key":                  {"port: 80", "port=81", 0, "port"},
		"a key that only one has":             {"port: 80", "port: 80\nhost: a", 0, notCompared},
		"names":                               {"store: Redis", "store: Memcached", 0, "store"},
		"other words":                         {"verdict: approve", "verdict: request changes", 0, "verdict"},
		"a name in more detail":               {"store: Redis", "store: Redis cluster", 0, notCompared},
		"dates":                               {"expires: 2027-03-04", "expires: 2027-03-05", 0, "expires"},
		"dates in two notations":              {"expires: 2027-03-04", "expires: 4 March 2027", 0, notCompared},
		"units of one kind":                   {"lease: 1.5 s\nheap: 2 GiB", "lease: 1500 ms\nheap: 2048MiB", 0, agreed},
		"units of one kind that differ":       {"lease: 2 min", "lease: 60 s", 0, "lease"},
		"decimal and binary units":            {"heap: 256 MB", "heap: 256 MiB", 0, "heap"},
		"bits and bytes":                      {"link: 100 Mb", "link: 100 MB", 0, notCompared},
		"a number without a unit":             {"loss: 0.5", "loss: 0.5 %", 0, notCompared},
		"an unknown unit":                     {"seats: 5 rows", "seats: 6 rows", 0, "seats"},
		"within the tolerance":                {"speed: 342 MB", "speed: 335 MB", 0.05, agreed},
		"beyond the tolerance":                {"speed: 342 MB", "speed: 300 MB", 0.05, "speed"},
		"versions that are equal numbers":     {"version: 1.10", "version: 1.1", 0, notCompared},
		"an id that is an equal number":       {"id: 007", "id: 7", 0, "id"},
		"a key twice":                         {"port: 80\nport: 81", "port: 80", 0, notCompared},
		"a key below two headings":            {"# read\nsize: 5\n# write\nsize: 6", "[read]\nsize: 5\n[write]\nsize: 7", 0, "write.size"},
		"a key below another heading":         {"# staging\nsize: 5\nsame", "# production\nsize: 6\nsame", 0, notCompared},
		"values between other words":          {"in a:\nx: 1\nin b:\ny: 2", "in a:\ny: 2\nin b:\nx: 1", 0, notCompared},
		"numbers in a list":                   {"1. a: x\n2. b: y", "1. b: y\n2. a: x", 0, notCompared},
		"tables in another order":             {"|g|w|h|\n|-|-|-|\n|n|1|2|\n|s|3|4|", "| g | h | w |\n|---|--:|---|\n| S | 4 | 3 |\n| N | 2 | 1 |", 0, agreed},
		"a cell":                              {"|g|w|\n|-|-|\n|n|1|\n|s|3|", "|g|w|\n|-|-|\n|s|5|\n|n|1|", 0, "s.w"},
		"tables of other things":              {"|gate|w|\n|-|-|\n|n|1|", "|pier|w|\n|-|-|\n|n|1|", 0, notCompared},
		"a row of another length":             {"|g|w|\n|-|-|\n|n|1|\n|s|3|4|", "|g|w|\n|-|-|\n|n|1|\n|s|3|", 0, notCompared},
		"a row twice":                         {"|g|w|\n|-|-|\n|n|1|\n|n|2|", "|g|w|\n|-|-|\n|n|1|", 0, notCompared},
		"a bar in a cell":                     {`|g|w|` + "\n|-|-|\n" + `|n|a\|b|`, "|g|w|\n|-|-|\n|n|a|", 0, notCompared},
		"a column alone":                      {"|g|\n|-|\n|n|", "|g|\n|-|\n|s|", 0, notCompared},
		"a table and JSON":                    {"|g|w|\n|-|-|\n|n|1|", `{"n":{"w":1}}`, 0, notCompared},
		"JSON and keys":                       {`{"open": true, "size": 4}`, "open: false\nsize: 4", 0, "open"},
		"JSON behind words":                   {"So:\n{\"size\": 4}", `{"size": 5}`, 0, "size"},
		"words around JSON":                   {"It fails.\n```json\n{\"size\": 4}\n```", "```json\n{\"size\": 4}\n```", 0, notCompared},
		"properties by their paths":           {`{"a":{"b":{"c":1,"d":2}}}`, `{"a":{"b":{"c":3,"d":2}}}`, 0, "a.b.c"},
		"a dot in a property":                 {`{"a.b":1}`, `{"a":{"b":2}}`, 0, notCompared},
		"a property twice":                    {`{"a":1,"a":2}`, `{"a":2}`, 0, notCompared},
		"a list in another order":             {`{"a":[1,2]}`, `{"a":[2,1]}`, 0, notCompared},
		"a longer list":                       {`{"a":[1,2]}`, `{"a":[1,2,3]}`, 0, notCompared},
		"numbers alone":                       {"42", "43", 0, "answer"},
		"objects in a list":                   {`[{"a":1}]`, `[{"a":2}]`, 0, "answer"},
		"a number and a text":                 {`{"a":1}`, `{"a":"one"}`, 0, notCompared},
		"nothing and a value":                 {`{"a":null}`, `{"a":1}`, 0, notCompared},
		"the same words":                      {"It  is\nready.", "it is ready.", 0, agreed},
		"other words around the same number":  {"It loses 14 a day.", "It lost 14 a day.", 0, notCompared},
		"a number in equal words":             {"It loses 100 a day.", "It loses 104 a day.", 0.05, agreed},
		"an address and a comparison":         {"see http://a\nx >= 1\na := 2", "see http://b\nx >= 2\na := 3", 0, notCompared},
		"bytes that are no text":              {"\xff", "\xfe", 0, notCompared},
		"JSON of bytes that are no text":      {"{\"a\":\"\xff\"}", "{\"a\":\"\xfe\"}", 0, notCompared},
		"numbers that no float distinguishes": {`{"a":9007199254740993}`, `{"a":9007199254740992}`, 0, "a"},
		"numbers of any size":                 {`{"a":1e99999999}`, `{"a":1e99999998}`, 0, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, found(t, converge.Options{RelativeTolerance: tt.relative}, tt.a, tt.b))
			assert.Equal(t, tt.want, found(t, converge.Options{RelativeTolerance: tt.relative}, tt.b, tt.a), "the other way round")
			assert.Equal(t, agreed, found(t, converge.Options{}, tt.a, tt.a+"\n"), "an answer agrees with itself")
		})
	}
}

// TestDifferencesShowWhatOnlySomeSay also checks that agents with the same words share a side.
func TestDifferencesShowWhatOnlySomeSay(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
