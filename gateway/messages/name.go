package messages

import (
	"hash"
	"hash/fnv"
	"strconv"
)

// answerName returns the name of an answer: by its first call, which has an id, else by
// its words, else by its thinking. words and signatures are what digest returns.
func answerName(calls bool, first, words, signatures string) string {
	switch {
	case calls:
		return "c:" + first
	case words != "":
		return "t:" + words
	}
	return "s:" + signatures
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
