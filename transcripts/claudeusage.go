package transcripts

import (
	"cmp"
	"encoding/json"

	"flame/core"
	"flame/core/models"
)

// ClaudeUsage returns what an answer of Anthropic's API used, with its list price: usage is
// that of the message, final that at its end, if it was streamed. Figures that final leaves
// out, or has as 0, are those of usage.
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

// ClaudePrices returns what a model of Anthropic's asks for a token that its cache has, and
// for one that is written into it, for an hour or for 5 minutes, relative to any other; 0 if
// that is not known.
func ClaudePrices(model string, hour bool) (read, write float64) {
	p, known := prices()[models.Name(model)]
	if !known || p.in == 0 {
		return 0, 0
	}
	if hour {
		return p.read / p.in, p.writtenHour / p.in
	}
	return p.read / p.in, p.written5m / p.in
}
