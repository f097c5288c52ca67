package transcripts

import (
	"cmp"
	"encoding/json"
	"strings"
	"sync"

	"flame/core"
)

// A price is the cost of a million tokens of each kind, in US dollars. A 0 is a price that no source
// states, or that the maker does not ask.
type price struct {
	in, out                float64 // prompt outside the cache, answer
	written5m, writtenHour float64 // prompt written to the cache for 5 minutes (OpenAI: 30), for an hour
	read                   float64 // prompt read from the cache
}

// prices are the list prices by model, for the usual speed and without discounts.
//
// Anthropic: Claude Code's log has no prices, but Claude Code 2.1.328 computes the cost of its sessions
// with these (costUSD, observed with a scripted model that reports chosen numbers of tokens). Those of
// Opus 4.1, Opus 4, 3 Opus and 3 Haiku are of Anthropic's list (docs.claude.com, "Pricing").
//
// OpenAI, as read in November 2026: the pages of models in developers.openai.com/api/docs/models
// (GPT-6.1 Terra, 5.6 and 5-Codex); of the others what data/tables/copilot/models-and-pricing.yml of
// github.com/github/docs (5.2 to 5.5, 5 mini), the notes of LiteLLM on GPT-6 Astra, 6 Sol and 6.1 Sol,
// and those of Codexometer 0.18.4 on GPT-6 Luna, say of OpenAI's list; for GPT-5 and 5.1 a snapshot of that
// list of 2026-05-05 (fernando-nog.netlify.app/gpt-coding-model-costs-2026). The price of GPT-5.6 Sol is
// one that OpenAI promises until 2026-11-21 at least.
//
// Google: ai.google.dev/gemini-api/docs/pricing as github.com/api-evangelist/deepmind quotes it on
// 2026-10-07; the missing ones, and those of the cache, from model_prices_and_context_window.json of
// LiteLLM, which names the same page, and from questions about it in discuss.ai.google.dev. The price of
// Gemini 3.8 Flash holds until 2026-12-31, then it doubles.
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
		"claude-opus-4-1":   {15, 75, 18.75, 30, 1.5},
		"claude-opus-4-0":   {15, 75, 18.75, 30, 1.5},
		"claude-opus-4":     {15, 75, 18.75, 30, 1.5},
		"claude-3-opus":     {15, 75, 18.75, 30, 1.5},
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
		"claude-3-haiku":    {0.25, 1.25, 0.3, 0.5, 0.03},

		"gpt-6-astra":       {10, 50, 12.5, 0, 1},
		"gpt-6.1-sol":       {2, 10, 2.5, 0, 0.1},
		"gpt-6.1-terra":     {1, 5, 1.25, 0, 0.05},
		"gpt-6-sol":         {2, 10, 2.5, 0, 0.2},
		"gpt-6-luna":        {0.1, 0.5, 0.125, 0, 0.01},
		"gpt-5.6":           {4, 20, 5, 0, 0.4},
		"gpt-5.6-sol":       {4, 20, 5, 0, 0.4},
		"gpt-5.6-terra":     {2, 12, 2.5, 0, 0.2},
		"gpt-5.6-luna":      {0.2, 1.2, 0.25, 0, 0.02},
		"gpt-5.5":           {5, 30, 0, 0, 0.5},
		"gpt-5.4":           {2.5, 15, 0, 0, 0.25},
		"gpt-5.4-mini":      {0.75, 4.5, 0, 0, 0.075},
		"gpt-5.4-nano":      {0.2, 1.25, 0, 0, 0.02},
		"gpt-5.3-codex":     {1.75, 14, 0, 0, 0.175},
		"gpt-5.2":           {1.75, 14, 0, 0, 0.175},
		"gpt-5.2-codex":     {1.75, 14, 0, 0, 0.175},
		"gpt-5.1":           {1.25, 10, 0, 0, 0.125},
		"gpt-5.1-codex":     {1.25, 10, 0, 0, 0.125},
		"gpt-5.1-codex-max": {1.25, 10, 0, 0, 0.125},
		"gpt-5":             {1.25, 10, 0, 0, 0.125},
		"gpt-5-codex":       {1.25, 10, 0, 0, 0.125},
		"gpt-5-mini":        {0.25, 2, 0, 0, 0.025},

		"gemini-3.8-flash":                   {0.75, 3.75, 0, 0, 0.075},
		"gemini-3.5-flash":                   {1.5, 9, 0, 0, 0.15},
		"gemini-3.5-flash-lite":              {0.3, 2.5, 0, 0, 0},
		"gemini-3.1-pro-preview":             {2, 12, 0, 0, 0.2},
		"gemini-3.1-pro-preview-customtools": {2, 12, 0, 0, 0.2},
		"gemini-3.1-flash-lite":              {0.25, 1.5, 0, 0, 0},
		"gemini-3-flash-preview":             {0.5, 3, 0, 0, 0.05},
		"gemini-2.5-pro":                     {1.25, 10, 0, 0, 0.125},
		"gemini-2.5-flash":                   {0.3, 2.5, 0, 0, 0.03},
		"gemini-2.5-flash-lite":              {0.1, 0.4, 0, 0, 0},
	}
})

// fastTimes are the factors on models' prices in fast mode. Other models have no such mode.
var fastTimes = map[string]float64{
	"claude-fable-5-2": 2, "claude-mythos-5-2": 2, "claude-opus-5-5": 2, "claude-opus-5": 2,
	"claude-opus-4-8": 2, "claude-opus-4-7": 6, "claude-opus-4-6": 6,
}

// A long is what a model's prices are multiplied with if the prompt is longer than above tokens, cached
// or not.
type long struct {
	above          int64
	prompt, answer float64
}

// longTimes are those of the models that have them, by the same sources.
var longTimes = map[string]long{
	"claude-haiku-5-5": {100_000, 5, 5},
	"gpt-6-astra":      {272_000, 2, 1.5}, "gpt-6.1-sol": {272_000, 2, 1.5}, "gpt-6.1-terra": {272_000, 2, 1.5},
	"gpt-6-sol": {272_000, 2, 1.5}, "gpt-6-luna": {272_000, 2, 1.5},
	"gpt-5.6": {272_000, 2, 1.5}, "gpt-5.6-sol": {272_000, 2, 1.5}, "gpt-5.6-terra": {272_000, 2, 1.5}, "gpt-5.6-luna": {272_000, 2, 1.5},
	"gpt-5.5": {272_000, 2, 1.5}, "gpt-5.4": {272_000, 2, 1.5},
	"gemini-3.1-pro-preview": {200_000, 2, 1.5}, "gemini-3.1-pro-preview-customtools": {200_000, 2, 1.5}, "gemini-2.5-pro": {200_000, 2, 1.5},
}

const (
	usTimes     = 1.1  // factor if the model had to run in the United States
	searchPrice = 0.01 // of one search of the web, in US dollars
)

// WithPrice returns the usage of an answer with its list price; without one if flame does not know it.
func WithPrice(model string, u core.Usage) core.Usage {
	u.CostUSD, u.Unpriced = cost(model, u, 0, u.TokensIn+u.CacheRead+u.CacheWritten)
	return u
}

// PricedSum returns the usage of several answers with the least that they can cost: it does not show
// which of them had a long prompt.
func PricedSum(model string, u core.Usage) core.Usage {
	u.CostUSD, u.Unpriced = cost(model, u, 0, 0)
	return u
}

// priceOf returns the price of a model, and its name in the list. Routers write a version with a dot.
func priceOf(model string) (name string, p price, known bool) {
	name = core.ModelName(model)
	if p, known = prices()[name]; !known {
		name = strings.ReplaceAll(name, ".", "-")
		p, known = prices()[name]
	}
	return name, p, known
}

// cost returns the list price in US dollars of an answer, or of several. Of what they wrote to the cache,
// hour tokens are kept for an hour; prompt is the length in tokens of the longest prompt. It leaves out
// tokens whose price is unknown, and returns their number.
func cost(model string, u core.Usage, hour, prompt int64) (usd float64, unpriced int64) {
	model, p, known := priceOf(model)
	hour = min(hour, u.CacheWritten)
	if !known {
		return 0, u.Tokens()
	}
	if p.read == 0 {
		unpriced += u.CacheRead
	}
	if p.written5m == 0 {
		unpriced += u.CacheWritten - hour
	}
	asked := float64(u.TokensIn)*p.in + float64(u.CacheRead)*p.read + float64(hour)*p.writtenHour + float64(u.CacheWritten-hour)*p.written5m
	said := float64(u.TokensOut) * p.out
	if l, ok := longTimes[model]; ok && prompt > l.above {
		asked, said = asked*l.prompt, said*l.answer
	}
	return (asked + said) / 1e6, unpriced
}

// cost returns the list price of an answer in US dollars, and the number of tokens without one.
func (u claudeUsage) cost(model string) (usd float64, unpriced int64) {
	used := core.Usage{TokensIn: u.Input, TokensOut: u.Output, CacheRead: u.CacheRead, CacheWritten: u.CacheWritten}
	usd, unpriced = cost(model, used, u.Cached.Hour, u.Input+u.CacheRead+u.CacheWritten)
	name, _, _ := priceOf(model)
	if times, ok := fastTimes[name]; ok && u.Speed == "fast" {
		usd *= times
	}
	if u.Geo == "us" {
		usd *= usTimes
	}
	return usd + float64(u.Server.Searches)*searchPrice, unpriced
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

// CachePrices returns the prices of a token that a model reads from its cache, and of one that it writes
// to the cache for an hour or the usual time, as multiples of the price of another token; 0 if unknown.
func CachePrices(model string, hour bool) (read, write float64) {
	_, p, known := priceOf(model)
	if !known || p.in == 0 {
		return 0, 0
	}
	if hour {
		return p.read / p.in, p.writtenHour / p.in
	}
	return p.read / p.in, p.written5m / p.in
}
