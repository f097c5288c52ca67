package economy

import (
	"cmp"
	"slices"
)

// mostFactor bounds how many tokens the estimate of one may stand for; what a request sent
// beyond that is not in the log.
const mostFactor = 2

// leastFrame is the number of requests from which a prompt's work is worth a frame.
const leastFrame = 3

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
	stubs := make([]int64, len(t.requests)+1)  // how the number of folded frames in a request changes
	ended := make([]bool, len(t.requests)+1)   // a frame ends before this request
	folds := make([]int, len(t.turns))         // the first request that leaves a turn out; 0: none does
	for n := range t.turns[:max(0, len(t.turns)-1)] {
		from := t.turns[n+1].first
		if from-t.turns[n].first < leastFrame || from >= len(t.requests) {
			continue
		}
		r.Folding.Frames++
		folds[n], ended[from] = from, true
		if died := t.items[t.turns[n].prompt].died; died > from {
			stubs[from]++
			stubs[died]--
		}
	}
	for at, i := range t.items {
		if i.turn < 0 || folds[i.turn] == 0 || i.kind == Words || at == t.turns[i.turn].last || i.died <= folds[i.turn] {
			continue
		}
		left[folds[i.turn]] += i.size
		left[i.died] -= i.size
	}
	var out float64
	var frames, before int64
	for k, q := range t.requests {
		if ended[k] {
			r.Folding.Sent += before // the request that ends the frame
		}
		out, frames = out+left[k], frames+stubs[k]
		before = q.sent - int64(out*(upto[k+1]-upto[k])) + t.burden + frames*stubTokens
		r.Folding.Sent += before
		r.Folding.Largest = max(r.Folding.Largest, before)
	}
}
