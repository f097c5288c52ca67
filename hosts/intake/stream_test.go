package intake

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLinesOfAStream(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]*streamEvent{
		`{"n": 3, "source": "p", "session": "s\u0041", "at": 5, "event": {"event": "x"}}`: {3, "p", "sA", 5, []byte(`{"event": "x"}`)},
		`{"event": [1], "n": 4, "session": null}`:                                         {N: 4, Event: []byte("[1]")},
		`{}`:                        {Event: []byte{}},
		`{"n": "3", "event": {}}`:   nil,
		`{"n": 3, "session": 4}`:    nil,
		`{"n": 3, "event": {}`:      nil,
		`{"n": 3, "event": nobody}`: nil,
		`[3]`:                       nil,
		`3`:                         nil,
		``:                          nil,
	} {
		got, readable := readTold([]byte(line))
		assert.Equal(t, want != nil, readable, line)
		if want != nil {
			assert.Equal(t, *want, got, line)
		}
	}
}

func TestADeepLineIsNotRead(t *testing.T) {
	t.Parallel()
	_, readable := readTold([]byte(strings.Repeat("[", MaxEvent))) // that deep, to read it could end the program
	assert.False(t, readable)
}
