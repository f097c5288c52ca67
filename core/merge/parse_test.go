package merge_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/merge"
)

const plain = `{"v":1,"id":"f","createdAt":1,"updatedAt":1,"work":{"machine":"a","stamp":{"at":1,"m":"a"},"status":"planned","goal":"g"}}`

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	_, err := merge.Parse([]byte(plain), 1000)
	require.NoError(t, err)
	work := func(instead string) string { return strings.Replace(plain, `"status":"planned"`, instead, 1) }
	more := func(field string) string { return strings.Replace(plain, `"v":1`, `"v":1,`+field, 1) }
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":                 {``, "not a document"},
		"garbage":                 {"\x00\xff", "not a document"},
		"another document":        {`[1]`, "not a document"},
		"no version":              {`{}`, "version 0"},
		"text that is none":       {strings.Replace(plain, `"g"`, "\"\xff\"", 1), "UTF-8"},
		"no id":                   {strings.Replace(plain, `"f"`, `""`, 1), "parent's id"},
		"its own parent":          {work(`"status":"planned","parent":"f"`), "parent's id"},
		"an id with a bell":       {strings.Replace(plain, `"f"`, `"f\u0007"`, 1), "invalid id"},
		"an endless id":           {strings.Replace(plain, `"f"`, `"`+strings.Repeat("f", 300)+`"`, 1), "invalid id"},
		"a planned bell":          {more(`"plannedChildren":[{"text":"\u001b[2J"}]`), "invalid id"},
		"no machine":              {strings.Replace(plain, `"machine":"a"`, `"machine":"../a"`, 1), "no machine"},
		"an unknown status":       {work(`"status":"done"`), `status is "done"`},
		"invalidated by nobody":   {work(`"status":"invalidated"`), "status"},
		"a negative term":         {work(`"status":"planned","term":-1`), "taken over"},
		"a goal with a zero byte": {strings.Replace(plain, `"g"`, `"\u0000"`, 1), "a text"},
		"an endless decision":     {more(`"decisions":[{"text":"` + strings.Repeat("x", 1<<20+1) + `"}]`), "a text"},
		"beyond all times":        {strings.Replace(plain, `"createdAt":1`, `"createdAt":99999999999999999`, 1), "out of range"},
		"before all times":        {strings.Replace(plain, `"createdAt":1`, `"createdAt":-99999999999999999`, 1), "out of range"},
		"written a year ahead":    {strings.Replace(plain, `{"at":1`, `{"at":99999999999`, 1), "out of range"},
		"written before 1970":     {strings.Replace(plain, `{"at":1`, `{"at":-1`, 1), "out of range"},
		"a stamp of nobody":       {strings.Replace(plain, `{"at":1,"m":"a"}`, `{"at":1,"m":"A B"}`, 1), "in the name of"},
		"a stamp of endless use":  {strings.Replace(plain, `{"at":1,"m":"a"}`, `{"at":1,"n":9999999999,"m":"a"}`, 1), "stamp"},
		"more than there is":      {more(`"usage":{"a":{"usage":{"tokensIn":9000000000000000000}}}`), "usage"},
		"used by nobody":          {more(`"usage":{"":{"usage":{"tokensIn":9}}}`), "usage"},
		"a cost beyond money":     {more(`"usage":{"a":{"usage":{"costUSD":1e300}}}`), "usage"},
		"a list without end":      {more(`"artifacts":[` + strings.Repeat(`{"text":"x"},`, 10_000) + `{"text":"x"}]`), "lists"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := merge.Parse([]byte(tt.text), 1000)
			require.ErrorIs(t, err, core.ErrInvalid)
			assert.Contains(t, err.Error(), tt.want)
			assert.NotErrorIs(t, err, merge.ErrNewer)
		})
	}
	_, err = merge.Parse([]byte(`{"v":2,"id":7}`), 1000)
	assert.True(t, errors.Is(err, merge.ErrNewer))
}

// FuzzParse checks that whatever passes can be merged, kept, sent on and shown.
func FuzzParse(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		text, err := json.Marshal(randomDoc(r))
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte(plain))
	f.Add([]byte(`{"v":1,"id":"f","work":{"machine":"a","status":"invalidated"},"invalid":{},` +
		`"decisions":[{"text":"\ud800"},{"text":"\ud800"},{}],"usage":{"a":{}}}`))
	ours := merge.UpdateLocal(merge.Doc{}, core.Frame{ID: "f", Status: core.InProgress, Decisions: []string{"ours"}, Usage: core.Usage{CostUSD: 0.1}}, "ours",
		func() merge.Timestamp { return at(1, "ours") })
	f.Fuzz(func(t *testing.T, text []byte) {
		const now = core.Millis(1_766_600_000_000)
		d, err := merge.Parse(text, now)
		if err != nil {
			return
		}
		kept, err := json.Marshal(d)
		require.NoError(t, err)
		again, err := merge.Parse(kept, now)
		require.NoError(t, err, "%s", kept)
		assert.True(t, again.Equal(d), "%s", kept)
		d.ID = ours.ID
		merged := merge.Merge(d, ours)
		assert.True(t, merged.Equal(merge.Merge(ours, d)))
		assert.True(t, merged.Equal(merge.Merge(merged, d)))
		c := merge.Clock{Machine: "ours"}
		joined := merge.ApplyRemote(ours, ours.Frame("ours"), d, &c, now)
		shown := joined.Frame("ours")
		assert.True(t, shown.Status.Valid())
		assert.Contains(t, shown.Decisions, "ours")
		back := merge.UpdateLocal(joined, shown, "ours", func() merge.Timestamp { return c.Tick(now) })
		assert.True(t, back.Equal(joined), "%s", kept)
	})
}

func TestValidMachine(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"a": true, "laptop-x7k2": true, "7": true, strings.Repeat("a", 63): true,
		"": false, "-a": false, "A": false, "a b": false, "a.b": false, "a>": false, "*": false,
		"a\n": false, "a\x00b": false, "ä": false, strings.Repeat("a", 64): false,
		"a_b": false,
	} {
		assert.Equal(t, want, merge.ValidMachine(id), "%q", id)
	}
}
