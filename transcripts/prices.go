package transcripts

import (
	"cmp"
	"encoding/json"
	"sync"

	"flame/core"
)

// A price is the cost of a million tokens of each kind, in US dollars.
type price struct {
	in, out                float64 // prompt outside the cache, answer
	written5m, writtenHour float64 // prompt written to the cache for 5 minutes, for an hour
	read                   float64 // prompt read from the cache
}

// prices are the list prices by model. Claude Code's log has no prices, but Claude Code 2.1.328
// computes the cost of its sessions with these (costUSD, observed with a scripted model that
// reports chosen numbers of tokens).
var prices = sync.OnceValue(func() map[string]price {
	return map[string]price{
		"claude-fable-5-2":  {8, 40, 10, 16, 0.2},
		"claude-fable-5-1":  {10, 50, 12.5, 20, 0.25},
		"claude-fable-5":    {10, 50, 12.5, 20, 1},
		"claude-mythos-5-2": {8, 40, 10, 16, 0.2},
		"claude-mythos-5-1": {10, 50, 12.5, 20, 0.25},
		"claude-mythos-5":   {10, 50, 12.5, 20, 1},
		"claude-opus-5-5":   {4, 20, 5, 8, 0.2},
		"claude-opus-5":     {5, 25, 6.25, 10, 0.5},
		"claude-opus-4-8":   {5, 25, 6.25, 10, 0.5},
		"claude-opus-4-7":   {5, 25, 6.25, 10, 0.5},
		"claude-opus-4-6":   {5, 25, 6.25, 10, 0.5},
		"claude-opus-4-5":   {5, 25, 6.25, 10, 0.5},
		"claude-sonnet-5-5": {2, 10, 2.5, 4, 0.1},
		"claude-sonnet-5":   {2, 10, 2.5, 4, 0.2},
		"claude-sonnet-4-6": {3, 15, 3.75, 6, 0.3},
		"claude-sonnet-4-5": {3, 15, 3.75, 6, 0.3},
		"claude-sonnet-4-0": {3, 15, 3.75, 6, 0.3},
		"claude-sonnet-4":   {3, 15, 3.75, 6, 0.3},
		"claude-3-7-sonnet": {3, 15, 3.75, 6, 0.3},
		"claude-3-5-sonnet": {3, 15, 3.75, 6, 0.3},
		"claude-haiku-5-5":  {0.1, 0.5, 0.125, 0.2, 0.01},
		"claude-haiku-4-5":  {1, 5, 1.25, 2, 0.1},
		"claude-3-5-haiku":  {0.8, 4, 1, 1.6, 0.08},
	}
})

// fastTimes are the factors on models' prices in fast mode. Other models have no such mode.
var fastTimes = map[string]float64{
	"claude-fable-5-2": 2, "claude-mythos-5-2": 2, "claude-opus-5-5": 2, "claude-opus-5": 2,
	"claude-opus-4-8": 2, "claude-opus-4-7": 6, "claude-opus-4-6": 6,
}

// longTimes are the factors on models' prices if the prompt is longer than above tokens, cached
// or not.
var longTimes = map[string]struct {
	above int64
	times float64
}{"claude-haiku-5-5": {100_000, 5}}

const (
	usTimes     = 1.1  // factor if the model had to run in the United States
	searchPrice = 0.01 // of one search of the web, in US dollars
)

// cost returns the list price of an answer in US dollars; 0 if the model's price is unknown.
func (u claudeUsage) cost(model string) float64 {
	model = core.ModelName(model)
	p, known := prices()[model]
	if !known {
		return 0
	}
	hour := min(u.Cached.Hour, u.CacheWritten)
	tokens := float64(u.Input)*p.in + float64(u.Output)*p.out + float64(u.CacheRead)*p.read +
		float64(hour)*p.writtenHour + float64(u.CacheWritten-hour)*p.written5m
	if times, ok := fastTimes[model]; ok && u.Speed == "fast" {
		tokens *= times
	}
	if long, ok := longTimes[model]; ok && u.Input+u.CacheRead+u.CacheWritten > long.above {
		tokens *= long.times
	}
	if u.Geo == "us" {
		tokens *= usTimes
	}
	return tokens/1e6 + float64(u.Server.Searches)*searchPrice
}

// ClaudeUsage returns the usage of an answer of Anthropic's API with its list price. usage is the
// usage at the start of the answer; final, of a streamed answer, at its end. Numbers that are
// missing or 0 in final are those of usage.
func ClaudeUsage(model string, usage, final []byte) core.Usage {
	var u, end claudeUsage
	if json.Unmarshal(usage, &u) != nil {
		return core.Usage{}
	}
	if len(final) > 0 && json.Unmarshal(final, &end) == nil {
		u.Input, u.Output = cmp.Or(end.Input, u.Input), cmp.Or(end.Output, u.Output)
		u.CacheRead, u.CacheWritten = cmp.Or(end.CacheRead, u.CacheRead), cmp.Or(end.CacheWritten, u.CacheWritten)
		u.Cached.Hour, u.Server.Searches = cmp.Or(end.Cached.Hour, u.Cached.Hour), cmp.Or(end.Server.Searches, u.Server.Searches)
		u.Speed, u.Geo = cmp.Or(end.Speed, u.Speed), cmp.Or(end.Geo, u.Geo)
	}
	return u.usage(model)
}

// ClaudePrices returns the prices of a token that a model of Anthropic's reads from its cache, and
// of one that it writes to the cache for an hour or 5 minutes, as multiples of the price of another
// token; 0 if unknown.
func ClaudePrices(model string, hour bool) (read, write float64) {
	p, known := prices()[core.ModelName(model)]
	if !known || p.in == 0 {
		return 0, 0
	}
	if hour {
		return p.read / p.in, p.writtenHour / p.in
	}
	return p.read / p.in, p.written5m / p.in
}
