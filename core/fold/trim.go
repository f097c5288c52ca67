package fold

import (
	"fmt"
	"slices"

	"flame/core"
	"flame/core/op"
)

// Trimming says which outputs of tools are cut in frames that are still open.
type Trimming string

// The trimmings; each cuts what those before it do.
const (
	TrimOff        Trimming = "off"
	TrimSuperseded Trimming = "superseded" // outputs that a later call of the same has anew
	TrimOld        Trimming = "old"        // and those that are older than a few rounds
)

const (
	// freshRounds is how many of the newest answers keep what their tools put out, if no
	// later call has it anew.
	freshRounds = 3
	// leastCut is the smallest output, in tokens, that is cut: it goes for a line.
	leastCut = 200
)

// Trim returns which outputs of a history are to be cut next. As that edits the past of
// work in progress, its thinking goes with it (see Ledger.Amend), and all behind the first cut
// is written into the cache again: so it waits until that pays (see Prices). The last
// round, calls that failed to end, and what the ledger leaves out already are not cut.
// The editions of the result are not set.
func Trim(history []Message, known Ledger, which Trimming, terms Terms) []Cut {
	if which == TrimOff || which == "" {
		return nil
	}
	at := places(history)
	gone, newest := known.dropped(history, at), map[string]int{}
	cut := map[[2]string]bool{}
	for _, c := range known.Cuts {
		cut[[2]string{c.Message, c.Call}] = true
	}
	for i, m := range history {
		for _, call := range m.Calls {
			newest[call.Key] = i
		}
	}
	var found []Cut
	rounds := 0 // that are newer
	for i, m := range slices.Backward(history) {
		if m.Role != core.RoleAssistant || gone[i] != nil {
			continue
		}
		for _, call := range slices.Backward(m.Calls) {
			again := newest[call.Key] > i
			due := again || which == TrimOld && rounds >= freshRounds
			if due && rounds > 0 && call.Key != "" && call.Tokens >= leastCut && !cut[[2]string{m.Name, call.ID}] && !m.Open && !m.Summary {
				found = append(found, Cut{Message: m.Name, Call: call.ID, Text: inPlace(call, again), Tokens: call.Tokens})
			}
		}
		rounds++
	}
	slices.Reverse(found)
	savings := make([]saving, len(found))
	for i, c := range found {
		savings[i] = saving{at[c.Message], c.Tokens}
	}
	return found[terms.firstToPay(history, gone, savings, requestsToCome):]
}

// inPlace returns the line in the place of an output.
func inPlace(c Call, again bool) string {
	why := "it is some rounds old"
	if again {
		why = "a later call of the same has it anew"
	}
	return fmt.Sprintf("[about %d tokens left out by flame: %s; %s with call %q shows them]", c.Tokens, why, string(op.Recall), c.ID)
}
