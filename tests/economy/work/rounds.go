package work

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// plan has the rounds of a piece, repeated from its second kind on if the piece is longer: it
// reads files, runs commands, changes the files and reads them again, so that the newer of two
// outputs of a file has everything.
var plan = []struct {
	kind Kind
	same bool // of the last file that was read, or the last command that was run
}{
	{kind: Read}, {kind: Run}, {kind: Read}, {kind: Edit, same: true}, {kind: Read, same: true}, {kind: Run, same: true}, {kind: Read}, {kind: Run},
}

func (m *maker) rounds(folder string, count int) []Round {
	rounds := make([]Round, 0, count)
	last := map[Kind]string{}
	for i := range count {
		step := plan[i%len(plan)]
		call := Call{Kind: step.kind, File: last[step.kind]}
		switch {
		case step.kind == Edit:
			call.File = last[Read]
			call.Old, call.New = state(call.File, "open"), state(call.File, "settled")
		case !step.same:
			call.File = fmt.Sprintf("%s/%s%02d.txt", folder, step.kind, i)
			m.files[call.File] = m.text(call.File)
		}
		last[step.kind] = call.File
		rounds = append(rounds, Round{Thinking: m.thought(), Text: m.sentence() + ".", Call: call})
	}
	return rounds
}

// text returns the contents of a file: its state, which edits change, then prose. It has its own
// random numbers, so that the work is the same for all sizes of files.
func (m *maker) text(file string) string {
	m = &maker{rand: rand.New(rand.NewPCG(seed, uint64(len(m.files)))), bytes: m.bytes}
	var b strings.Builder
	b.WriteString(state(file, "open") + "\n")
	for size := m.bytes/2 + m.rand.IntN(m.bytes+1); b.Len() < size; {
		fmt.Fprintf(&b, "%s; %s %d.\n", m.sentence(), m.word(), m.rand.IntN(10_000))
	}
	return b.String()
}

func state(file, of string) string { return "state of " + file + ": " + of }

func (m *maker) thought() string {
	return fmt.Sprintf("First %s. But %s, so %s.", m.sentence(), m.sentence(), m.sentence())
}

// sentence returns one of many sentences, so that repetitions are rare.
func (m *maker) sentence() string {
	return fmt.Sprintf("the %s %s the %s before each %s of the %s", m.word(), m.verb(), m.word(), m.word(), m.word())
}

func (m *maker) word() string {
	return adjectives[m.rand.IntN(len(adjectives))] + " " + nouns[m.rand.IntN(len(nouns))]
}

func (m *maker) verb() string { return verbs[m.rand.IntN(len(verbs))] }

var (
	adjectives = strings.Fields(`amber brisk central double early faint gentle hidden idle joint keen linear minor narrow open plain quiet rapid
		sparse tidy upper vivid warm yearly zonal`)
	nouns = strings.Fields(`account batch cursor digest entry folder gateway header index journal kernel ledger margin number offset parser
		queue record schema ticket update vector window export yield`)
	verbs = strings.Fields(`reads writes checks keeps drops merges splits counts sorts marks`)
)
