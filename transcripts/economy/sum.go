package economy

import (
	"cmp"
	"slices"

	"github.com/samber/lo"

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
		r.Again += int64(i.size * (upto[i.died] - upto[min(max(i.stale, i.born+1), i.died)]))
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
	r.Top = r.Top[:min(Most, len(r.Top))]
}

// fold adds what the requests would have sent with folding.
func (t *talk) fold(r *Report, upto []float64) {
	left := make([]float64, len(t.requests)+1) // how the estimate of what a request leaves out changes
	notes := make([]int64, len(t.requests)+1)  // how the number of folded turns in a request changes
	for n, from := range t.folds() {
		if from == 0 {
			continue
		}
		r.Folding.Frames++
		for _, i := range t.work(n, from) {
			left[from] += i.size
			left[i.died] -= i.size
		}
		if died := t.items[t.turns[n].prompt].died; died > from {
			notes[from]++
			notes[died]--
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

// folds returns for each turn the first request that would have left out its work; 0: none. As in requests
// (core/fold), that is at the prompt after the turn that followed it, if the turn is large enough and to
// write the rest into the cache again costs less than it saves.
func (t *talk) folds() []int {
	folds := make([]int, len(t.turns))
	var waiting []int
	for n := range max(0, len(t.turns)-2) {
		from := t.turns[n+2].first
		if from >= len(t.requests) {
			break
		}
		if fold.IsWorthTurn(t.turns[n+1].first-t.turns[n].first, int(sizeOf(t.work(n, from)))) {
			waiting = append(waiting, n)
		}
		waiting = lo.Filter(waiting, func(n, _ int) bool { return len(t.work(n, from)) > 0 })
		if len(waiting) == 0 {
			continue
		}
		work := lo.SumBy(waiting, func(n int) float64 { return sizeOf(t.work(n, from)) })
		behind := sizeOf(lo.Filter(t.items[t.turns[waiting[0]].prompt:t.turns[n+2].prompt], func(i item, _ int) bool { return i.died > from }))
		for n := waiting[0]; n < len(folds); n++ {
			if folds[n] != 0 {
				behind -= sizeOf(t.work(n, from))
			}
		}
		if fold.UsualPrices.Saved(int(work), int(behind-work), fold.RequestsToCome) > 0 {
			for _, n := range waiting {
				folds[n] = from
			}
			waiting = nil
		}
	}
	return folds
}

// work returns the items of a turn that leave requests with it, as far as request from has them: the user's
// words and the last answer stay.
func (t *talk) work(n, from int) []item {
	first := t.turns[n].prompt
	return lo.Filter(t.items[first:t.turns[n+1].prompt], func(i item, at int) bool {
		return i.kind != Words && first+at != t.turns[n].last && i.died > from
	})
}

func sizeOf(items []item) float64 { return lo.SumBy(items, func(i item) float64 { return i.size }) }
