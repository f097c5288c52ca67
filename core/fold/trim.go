package fold

import (
	"fmt"
	"slices"

	"flame/core"
	"flame/core/op"
)

// TrimMode says which outputs of tools are cut in frames that are still open.
type TrimMode string

// The trimmings; each cuts what those before it do.
const (
	TrimOff        TrimMode = "off"
	TrimSuperseded TrimMode = "superseded" // outputs that a later equal call repeats
	TrimOld        TrimMode = "old"        // these, and outputs older than a few rounds
)

const (
	// freshRounds is how many of the newest answers keep their tools' outputs, unless a later
	// call repeats them.
	freshRounds = 3
	// leastCut is the smallest output, in tokens, worth replacing with a line.
	leastCut = 200
)

// FindCuts returns the outputs of a history that flame should cut next. A cut edits the past of work
// in progress: later messages lose their thinking (see Ledger.Edits), and all behind the first cut
// is written into the cache again. So cuts wait until they pay (see Prices). Trim does not cut the
// last round, unfinished calls, and messages that the ledger leaves out. It does not set the
// editions of the cuts.
func FindCuts(history []Message, known Ledger, which TrimMode, terms Conditions) []Cut {
	if which == TrimOff || which == "" || terms.Holds {
		return nil
	}
	at := placesOf(history)
	gone, newest := known.dropped(history, at), map[string]int{}
	cut := map[[2]string]bool{}
	cuts := known.Cuts
	for _, f := range known.Folds {
		cuts = slices.Concat(cuts, f.Cuts)
	}
	for _, c := range cuts {
		cut[[2]string{c.Message, c.Call}] = true
	}
	for i, m := range history {
		for _, call := range m.Calls {
			newest[call.Key] = i
		}
	}
	var found []Cut
	rounds := 0 // newer than the message at hand
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
	savings := make([]savingPerRequest, len(found))
	for i, c := range found {
		savings[i] = savingPerRequest{at[c.Message], c.Tokens}
	}
	return found[terms.firstToPay(history, gone, savings, RequestsToCome):]
}

// inPlace returns the line that replaces an output.
func inPlace(c Call, again bool) string {
	why := "it is some rounds old"
	if again {
		why = "a later equal call repeats it"
	}
	return fmt.Sprintf("[about %s left out by flame: %s; %s with call %q shows them]", core.Tokens(c.Tokens), why, string(op.Recall), c.ID)
}
