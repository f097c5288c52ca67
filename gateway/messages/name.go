package messages

import (
	"hash"
	"hash/fnv"
	"strconv"
)

// Names are given to the messages of a conversation in their order: the same message gets
// the same name in every request that has it, also where what is far before it was cut off.
// Calls and their results have ids. Other messages are named by what they say, and behind
// which call: the same words come again and again.
type Names struct {
	behind string         // the newest call, or its result
	given  map[string]int // behind it
	ids    map[string]bool
}

// next names the next message: kind is one letter, words are its digest.
func (n *Names) next(kind, words string) string {
	name := kind + ":" + words + "@" + n.behind
	if n.given == nil {
		n.given = map[string]int{}
	}
	if n.given[name]++; n.given[name] > 1 {
		name += "+" + strconv.Itoa(n.given[name])
	}
	return name
}

// call names the next message, which has a call of this id, or its result.
func (n *Names) call(kind, id string) string {
	name := kind + ":" + id
	if n.ids[name] { // it is none
		return n.next(kind, id)
	}
	if n.ids == nil {
		n.ids = map[string]bool{}
	}
	n.behind, n.given, n.ids[name] = name, nil, true
	return name
}

// answer names the next message, an answer: words and signatures are digests.
func (n *Names) answer(calls bool, first, words, signatures string) string {
	switch {
	case calls:
		return n.call("c", first)
	case words != "":
		return n.next("t", words)
	}
	return n.next("s", signatures)
}

// digest returns a short text that is the same for texts that differ in white space alone,
// of which a host may take some away; empty if there is nothing else.
func digest(text string) string {
	d := newDigester()
	d.add(text)
	return d.sum()
}

// A digester makes the digest of a text that comes in parts.
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
			_, _ = d.h.Write([]byte(text[from:i])) // a hash takes all
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
