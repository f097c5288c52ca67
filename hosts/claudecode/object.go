package claudecode

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// An object is the text of one in JSON, of which single members are changed: the rest of
// it stays as somebody wrote it.
type object struct {
	text    []byte
	open    int // where its members may begin
	members []member
}

// A member is where one of an object's stands in its text.
type member struct {
	name             string
	begin, from, end int // of its name, of its value, and the end of that
}

// errNoObject is returned for a text that is something else.
var errNoObject = errors.New("it is no object")

// objectOf finds the members of an object; an empty text is an empty object.
func objectOf(text []byte) (o object, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	body := withoutMark(text)
	mark := len(text) - len(body)
	o.text = text
	if !json.Valid(body) {
		return o, json.Unmarshal(body, new(any))
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	at := func() int { return mark + int(decoder.InputOffset()) }
	if first, err := decoder.Token(); err != nil || first != json.Delim('{') {
		return o, errors.Join(err, errNoObject)
	}
	o.open = at()
	for last := o.open; decoder.More(); {
		m := member{begin: last + bytes.IndexByte(text[last:], '"')}
		name, err := decoder.Token()
		if err != nil {
			return o, err
		}
		m.name, _ = name.(string)
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return o, err
		}
		m.end = at()
		m.from = m.end - len(value)
		o.members, last = append(o.members, m), m.end
	}
	return o, nil
}

// member returns the value of a member; the last one counts, as for those that read JSON.
func (o object) member(name string) (value []byte, there bool) {
	for _, m := range o.members {
		if m.name == name {
			value, there = o.text[m.from:m.end], true
		}
	}
	return value, there
}

// with returns the text with a member behind all others, set as the first of them is.
func (o object) with(name string, value []byte) []byte {
	comma, gap, end, at := "", "\n  ", "\n", o.open
	if n := len(o.members); n > 0 {
		comma, gap, end, at = ",", string(o.text[o.open:o.members[0].begin]), "", o.members[n-1].end
	} else {
		at += bytes.IndexByte(o.text[at:], '}') // only white space stands before it
	}
	key, _ := json.Marshal(name) // a text always has one
	added := bytes.NewBufferString(string(key) + ": ")
	if last := strings.LastIndexByte(gap, '\n'); last < 0 || json.Indent(added, value, gap[last+1:], "  ") != nil {
		added.Write(value)
	}
	lines := added.String()
	if strings.Contains(gap, "\r\n") {
		lines = strings.ReplaceAll(lines, "\n", "\r\n")
	}
	return bytes.Join([][]byte{o.text[:at], []byte(comma + gap + lines + end), o.text[at:]}, nil)
}

// without returns the text without a member, the last one of its name.
func (o object) without(name string) []byte {
	for i, m := range slices.Backward(o.members) {
		if m.name != name {
			continue
		}
		from, to := o.open, m.end
		switch {
		case i > 0:
			from = o.members[i-1].end
		case len(o.members) > 1:
			from, to = m.begin, o.members[1].begin
		default:
			to += bytes.IndexByte(o.text[to:], '}')
		}
		return bytes.Join([][]byte{o.text[:from], o.text[to:]}, nil)
	}
	return o.text
}
