package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// A signature binds a thinking block to its past: it names everything before the block, and the
// thinking block before it.
type signature struct{ past, previous string }

const signaturePrefix = "sig_"

func (s signature) String() string { return signaturePrefix + s.past + "_" + s.previous }

// fits reports whether written is this signature. The first block fits any past: a client may
// leave out its oldest ones.
func (s signature) fits(written string, first bool) bool {
	past, previous, _ := strings.Cut(strings.TrimPrefix(written, signaturePrefix), "_")
	return past == s.past && (first || previous == s.previous)
}

// thoughts describe the thinking in a request.
type thoughts struct {
	total, good int    // blocks, and those before the first that does not fit
	bad         string // the position of that one; empty: all fit
	next        string // signature for thinking that answers the request
}

// look checks the thinking of a request. It is not bound to the tools, to cache_control or to the way in
// which the user's messages are split.
func look(b Body) thoughts {
	past := chain(digest(""), b.System)
	var found thoughts
	previous, role := "", ""
	for i, m := range b.Messages {
		for j, block := range m.Blocks {
			if !block.isThinking() {
				continue
			}
			found.total++
			if found.bad != "" {
				continue
			}
			want := signature{past, digest(previous)}
			if !want.fits(block.Signature, found.good == 0) {
				found.bad = fmt.Sprintf("messages.%d.content.%d", i, j)
				continue
			}
			previous = block.Signature
			found.good++
		}
		if m.Role != user || role != user {
			past = digest(past, m.Role)
		}
		past, role = chain(past, m.Blocks), m.Role
	}
	found.next = signature{past, digest(previous)}.String()
	return found
}

// chain returns the digest of all before and these blocks, thinking left out.
func chain(past string, blocks []Block) string {
	for _, b := range blocks {
		if !b.isThinking() {
			past = digest(past, b.plain)
		}
	}
	return past
}

func digest(parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(hash, "%d:", len(part))
		hash.Write([]byte(part))
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}
