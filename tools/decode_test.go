package tools

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

func TestArgumentsAreReadStrictly(t *testing.T) {
	type nested struct {
		Depth int `json:"depth,omitempty"`
	}
	type args struct {
		Goal   string    `json:"goal"`
		Status endStatus `json:"status,omitempty"`
		Share  *float64  `json:"share,omitempty"`
		Names  []string  `json:"names,omitempty"`
		Limits *nested   `json:"limits,omitempty"`
	}
	const takes = " (it takes goal (required), status, share, names, limits)"
	for name, tt := range map[string]struct{ raw, says string }{
		"all":                        {raw: `{"goal": "g", "status": "failed", "share": 0.5, "names": ["a"], "limits": {"depth": 2}}`},
		"the required alone":         {raw: ` {"goal": "g"} `},
		"values as text":             {raw: `{"goal": "g", "share": "0.5", "names": "[\"a\"]", "limits": "{\"depth\": \"2\"}"}`},
		"an object as text, wrong":   {raw: `{"goal": "g", "limits": "{\"width\": 1}"}`, says: `there is no argument "width"` + takes},
		"a list as text, wrong":      {raw: `{"goal": "g", "names": "[\"a\", true]"}`, says: "argument names is a bool (it must be text)"},
		"whole numbers as 6e1":       {raw: `{"goal": "g", "limits": {"depth": 6e1}}`},
		"a text that is no list":     {raw: `{"goal": "g", "names": "a, b"}`, says: "argument names is a string (it must be a list)"},
		"a number that is not whole": {raw: `{"goal": "g", "limits": {"depth": 0.5}}`, says: "argument limits.depth is a number 0.5 (it must be a whole number)"},
		"a number of many digits": {
			raw:  `{"goal": "g", "limits": {"depth": ` + strings.Repeat("1", 300_000) + `}}`,
			says: "argument limits.depth is a number " + strings.Repeat("1", 73) + "… (it must be a whole number)",
		},
		"null is none":                  {raw: `{"goal": "g", "status": null, "share": null, "names": null}`},
		"nothing":                       {raw: ``, says: "argument goal is missing" + takes},
		"null":                          {raw: `null`, says: "argument goal is missing" + takes},
		"none":                          {raw: `{}`, says: "argument goal is missing" + takes},
		"null for a required one":       {raw: `{"goal": null}`, says: "argument goal is missing" + takes},
		"one that there is not":         {raw: `{"goal": "g", "gaol": 1}`, says: `there is no argument "gaol"` + takes},
		"one in other letters":          {raw: `{"Goal": "g"}`, says: `there is no argument "Goal"` + takes},
		"one that there is not, nested": {raw: `{"goal": "g", "limits": {"width": 1}}`, says: `there is no argument "width"` + takes},
		"a wrong type":                  {raw: `{"goal": 7}`, says: "argument goal is a number (it must be text)"},
		"a list for text":               {raw: `{"goal": ["g"]}`, says: "argument goal is a list (it must be text)"},
		"an object for text":            {raw: `{"goal": {"g": 1}}`, says: "argument goal is an object (it must be text)"},
		"a wrong type in a list":        {raw: `{"goal": "g", "names": ["a", true]}`, says: "argument names is a bool (it must be text)"},
		"a wrong type, nested":          {raw: `{"goal": "g", "limits": {"depth": "x"}}`, says: "argument limits.depth is a string (it must be a whole number)"},
		"too large a number":            {raw: `{"goal": "g", "share": 1e999}`, says: "argument share is a number 1e999 (it must be a number)"},
		"a value out of the enum":       {raw: `{"goal": "g", "status": "done"}`, says: `argument status is "done" (it must be one of completed, failed, blocked)`},
		"an empty one out of the enum":  {raw: `{"goal": "g", "status": ""}`, says: `argument status is "" (it must be one of completed, failed, blocked)`},
		"a stamp that is not text":      {raw: `{"goal": "g", "session_id": 7}`, says: "session_id is not text (leave it out: flame's hook sets it)"},
		"a list":                        {raw: `["goal"]`, says: "the arguments are not a JSON object (send an object, for example {})"},
		"text":                          {raw: `"goal"`, says: "the arguments are not a JSON object (send an object, for example {})"},
		"half an object":                {raw: `{"goal": "g"`, says: "the arguments are not a JSON object (send an object, for example {})"},
		"half a value":                  {raw: `{"goal": "g`, says: "the arguments are not a JSON object (send an object, for example {})"},
		"two objects":                   {raw: `{"goal": "g"} {}`, says: "the arguments are not a JSON object (send an object, for example {})"},
		"what is no JSON":               {raw: `goal`, says: "the arguments are not a JSON object (send an object, for example {})"},
	} {
		t.Run(name, func(t *testing.T) {
			var in args
			_, err := decode([]byte(tt.raw), &in, argumentsOf(reflect.TypeFor[args]()))
			if tt.says == "" {
				require.NoError(t, err)
				assert.Equal(t, "g", in.Goal)
				return
			}
			require.ErrorIs(t, err, core.ErrInvalid)
			text, known := ExplainError(err)
			assert.True(t, known)
			assert.Equal(t, "Error: "+tt.says, text)
		})
	}
}

func TestAStampIsReadBesideAnyArguments(t *testing.T) {
	for name, tt := range map[string]struct {
		raw  string
		want stamp
	}{
		"none":           {`{}`, stamp{}},
		"an empty one":   {`{"session_id": "", "agent_id": null}`, stamp{}},
		"a whole one":    {`{"flame_proof": "p", "agent_id": "a", "session_id": "s"}`, stamp{"s", "a", "p"}},
		"the last of it": {`{"session_id": "x", "session_id": "s"}`, stamp{session: "s"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := decode([]byte(tt.raw), &noArgs{}, nil)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}
