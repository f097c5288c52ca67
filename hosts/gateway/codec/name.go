package codec

import (
	"hash"
	"hash/fnv"
	"maps"
	"strconv"
)

// MessageNames are given to the messages of a conversation in their order. A message gets the same name
// in every request that contains it, even after the beginning of the conversation was cut off.
// Calls and their results are named by their ids, other messages by their words and by the call
// before them: the same words are often repeated.
type MessageNames struct {
	behind string          // the name of the last call or result
	given  map[string]int  // how often a name was given since
	ids    map[string]bool // the names of calls and results so far
}

// kept returns the names for the answer to the messages so far.
func (n MessageNames) kept() MessageNames {
	n.given, n.ids = maps.Clone(n.given), nil
	return n
}

// next returns the name of the next message: kind is one letter, words is the digest of its words.
func (n *MessageNames) next(kind, words string) string {
	name := kind + ":" + words + "@" + n.behind
	if n.given == nil {
		n.given = map[string]int{}
	}
	if n.given[name]++; n.given[name] > 1 {
		name += "+" + strconv.Itoa(n.given[name])
	}
	return name
}

// call returns the name of the next message, which has a call with this id, or its result.
func (n *MessageNames) call(kind, id string) string {
	name := kind + ":" + id
	if n.ids[name] { // the id occurs twice
		return n.next(kind, id)
	}
	if n.ids == nil {
		n.ids = map[string]bool{}
	}
	n.behind, n.given, n.ids[name] = name, nil, true
	return name
}

// answer returns the name of the next message, an answer: words and signatures are digests.
func (n *MessageNames) answer(calls bool, first, words, signatures string) string {
	switch {
	case calls:
		return n.call("c", first)
	case words != "":
		return n.next("t", words)
	}
	return n.next("s", signatures)
}

// digest returns a short text that is equal for texts that differ only in white space, which a
// host may remove; empty for a text of white space only.
func digest(text string) string {
	d := newDigester()
	d.add(text)
	return d.sum()
}

// A digester computes the digest of a text that arrives in parts.
type digester struct {
	h    hash.Hash64
	some bool
}

func newDigester() digester { return digester{h: fnv.New64a()} }

func (d *digester) add(text string) {
	from := 0
	for i := range len(text) + 1 {
		if i < len(text) && text[i] > ' ' {
			continue
		}
		if i > from {
			_, _ = d.h.Write([]byte(text[from:i])) // a hash never fails
			d.some = true
		}
		from = i + 1
	}
}

func (d *digester) sum() string {
	if !d.some {
		return ""
	}
	return strconv.FormatUint(d.h.Sum64(), 36)
}
