package economy

import (
	"cmp"
	"slices"

	"flame/core/fold"
)

// mostFactor bounds how many tokens the estimate of one may stand for; what a request sent
// beyond that is not in the log.
const mostFactor = 2

// add adds what a conversation sent to a report, and to the shares of tools.
func (t *talk) add(r *Report, tools map[string]Share) {
	fixed := t.fixed()
	upto := make([]float64, len(t.requests)+1) // sums of the factors of requests
	for k, q := range t.requests {
		own := min(fixed, q.sent)
		factor := 0.0
		if q.size > 0 {
			factor = min(mostFactor, float64(q.sent-own)/q.size)
		}
		upto[k+1] = upto[k] + factor
		r.Sent, r.Largest = r.Sent+q.sent, max(r.Largest, q.sent)
		r.Kinds[Fixed] += own
		r.Kinds[Added] += q.sent - own
	}
	for _, i := range t.items {
		sent := int64(i.size * (upto[i.died] - upto[i.born]))
		r.Kinds[i.kind] += sent
		r.Kinds[Added] -= sent
		if i.kind != Outputs {
			continue
		}
		name := cmp.Or(i.tool, "?")
		share := tools[name]
		tools[name] = Share{Tool: name, Calls: share.Calls + 1, Sent: share.Sent + sent}
		r.Repeated += int64(i.size * (upto[i.died] - upto[min(max(i.stale, i.born+1), i.died)]))
		r.Unused += int64(i.size * (upto[i.died] - upto[min(i.used+1, i.died)]))
		r.offer(Output{Tool: name, Of: i.of, Tokens: int64(i.size), Requests: i.died - i.born, Sent: sent})
	}
	t.fold(r, upto)
}

// offer keeps an output if it is among those that cost most.
func (r *Report) offer(o Output) {
	if o.Sent == 0 {
		return
	}
	r.Top = append(r.Top, o)
	slices.SortStableFunc(r.Top, func(a, b Output) int { return cmp.Compare(b.Sent, a.Sent) })
	r.Top = r.Top[:min(MaxListed, len(r.Top))]
}

// fold adds what the requests would have sent with folding.
func (t *talk) fold(r *Report, upto []float64) {
	left := make([]float64, len(t.requests)+1) // how the estimate of what a request leaves out changes
	notes := make([]int64, len(t.requests)+1)  // how the number of folded turns in a request changes
	folds := t.folds()
	for n, from := range folds {
		if died := t.items[t.turns[n].prompt].died; from > 0 && died > from {
			r.Folding.Frames++
			notes[from]++
			notes[died]--
		}
	}
	for at, i := range t.items {
		if t.leaves(at) && folds[i.turn] > 0 && i.died > folds[i.turn] {
			left[folds[i.turn]] += i.size
			left[i.died] -= i.size
		}
	}
	var out float64
	var folded int64
	for k, q := range t.requests {
		out, folded = out+left[k], folded+notes[k]
		own := t.burden + folded*noteTokens
		sent := q.sent - int64(out*(upto[k+1]-upto[k])) + own
		r.Folding.Sent, r.Folding.Own = r.Folding.Sent+sent, r.Folding.Own+own
		r.Folding.Largest = max(r.Folding.Largest, sent)
	}
}

// waits stands for the request that would leave out a turn while that is not worth it yet.
const waits = -1

// folds returns for each turn the first request that would have left out its work; 0 or waits: none. As in
// requests (core/fold), that is at the prompt after the turn that followed it, if the turn is large enough
// and to write the rest into the cache again costs less than it saves.
func (t *talk) folds() []int {
	folds := make([]int, len(t.turns))
	for n := range max(0, len(t.turns)-2) {
		from, size := t.turns[n+2].first, 0
		for at := t.turns[n].prompt; at < t.turns[n+1].prompt; at++ {
			if t.leaves(at) {
				size += int(t.items[at].size)
			}
		}
		if fold.IsWorthTurn(t.turns[n+1].first-t.turns[n].first, size) {
			folds[n] = waits
		}
		if work, behind := t.weigh(folds, from, t.turns[n+2].prompt); fold.UsualPrices.Saved(work, behind, fold.RequestsToCome) > 0 {
			for k := range folds {
				if folds[k] == waits {
					folds[k] = from
				}
			}
		}
	}
	return folds
}

// weigh returns the tokens, in request from, of the turns that wait, and those of what stays behind the
// first of them, among the items before end.
func (t *talk) weigh(folds []int, from, end int) (work, behind int) {
	first := slices.Index(folds, waits)
	if first < 0 || from >= len(t.requests) {
		return 0, 0
	}
	for at := t.turns[first].prompt; at < end; at++ {
		switch i := t.items[at]; {
		case i.died <= from, t.leaves(at) && folds[i.turn] > 0:
		case t.leaves(at) && folds[i.turn] == waits:
			work += int(i.size)
		default:
			behind += int(i.size)
		}
	}
	return work, behind
}

// leaves reports whether an item leaves requests with its turn: the user's words and the last answer stay.
func (t *talk) leaves(at int) bool {
	i := t.items[at]
	return i.turn >= 0 && i.kind != Words && at != t.turns[i.turn].last
}
