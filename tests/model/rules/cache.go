package rules

import "time"

// Limits of the API's cache.
const (
	lookBack = 20  // blocks before a mark at which it still finds an entry
	shortest = 512 // tokens of an entry
)

// A cache remembers the beginnings of requests at their marks, each until it was unused for its
// lifetime.
type cache map[string]time.Time // by digest: when it ends

// A size is the tokens of a request: found in the cache, put into it, all.
type size struct{ all, read, written int }

// count looks a request's blocks up, and leaves entries at its marks.
func (c cache) count(model string, blocks []Block, tokens func(string) int, now time.Time) size {
	digests, sums := make([]string, len(blocks)), make([]int, len(blocks))
	past, sum := digest(model), 0
	for i, b := range blocks {
		past, sum = digest(past, b.plain), sum+tokens(b.plain)
		digests[i], sums[i] = past, sum
	}
	s := size{all: sum}
	hit, upTo := -1, 0
	for i, b := range blocks {
		if !b.Marked {
			continue
		}
		for j := i; j > max(hit, i-lookBack) && j >= 0; j-- {
			if now.Before(c[digests[j]]) {
				hit = j
				break
			}
		}
		upTo = sums[i]
	}
	if hit >= 0 {
		s.read = sums[hit]
		c.keep(digests[hit], now.Add(shortLife))
	}
	if upTo >= shortest {
		s.written = max(0, upTo-s.read)
	}
	for i, b := range blocks {
		if b.Marked && sums[i] >= shortest {
			c.keep(digests[i], now.Add(b.Life))
		}
	}
	return s
}

// keep never shortens a lifetime.
func (c cache) keep(entry string, until time.Time) {
	if until.After(c[entry]) {
		c[entry] = until
	}
}
