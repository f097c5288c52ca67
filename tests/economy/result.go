package main

import (
	"fmt"
	"strings"

	"flame/tests/model/rules"
)

// A result is the outcome of one variant.
type result struct {
	Host, Variant string

	rules.Stats

	Cached   float64   // as the cache served it
	Uncached float64   // if there were no cache
	Kept     remainder // of the work in the last request
	Twice    int       // bytes that flame repeated

	Miscounted int // difference of flame's count from the model's, in tokens, behind a gateway
}

func (r result) String() string { return fmt.Sprintf("%s tokens, $%.2f", millions(r.Tokens), r.Cached) }

// results are those of one run of the benchmark, in the order of the variants.
type results []result

func (r results) find(host, variant string) (result, bool) {
	for _, one := range r {
		if one.Host == host && one.Variant == variant {
			return one, true
		}
	}
	return result{}, false
}

// base returns the result of the same work without flame.
func (r results) base(host, variant string) (result, bool) {
	for _, work := range []string{unasked, listed} {
		if strings.HasSuffix(variant, work) {
			return r.find(host, withoutFlame+work)
		}
	}
	return r.find(host, withoutFlame)
}

// Prices in USD for a million tokens.
const (
	priceIn      = 3.0
	priceWritten = 3.75
	priceRead    = 0.30
	priceOut     = 15.0
)

func figures(v variant, judge *rules.Judge) result {
	s := judge.Stats()
	dollars := func(tokens int, price float64) float64 { return float64(tokens) * price / 1e6 }
	out := dollars(s.Out, priceOut)
	return result{
		Host: v.host, Variant: v.name, Stats: s,
		Cached:   dollars(s.Uncached, priceIn) + dollars(s.Written, priceWritten) + dollars(s.Read, priceRead) + out,
		Uncached: dollars(s.Tokens, priceIn) + out,
	}
}
