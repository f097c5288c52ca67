package gemini

import (
	"encoding/json"

	"flame/core"
	"flame/transcripts"
)

// Usage returns the usage of an answer of the API with its list price; usage is what the answer reports.
// What is read from the cache is part of the prompt.
func Usage(model string, usage, _ []byte) core.Usage {
	var u struct {
		Prompt   int64 `json:"promptTokenCount"`
		Cached   int64 `json:"cachedContentTokenCount"`
		Answer   int64 `json:"candidatesTokenCount"`
		Thoughts int64 `json:"thoughtsTokenCount"`
		Tools    int64 `json:"toolUsePromptTokenCount"`
	}
	if json.Unmarshal(usage, &u) != nil {
		return core.Usage{}
	}
	t := tokens{Input: u.Prompt, Output: u.Answer, Cached: u.Cached, Thoughts: u.Thoughts, Tool: u.Tools}
	return transcripts.WithPrice(model, t.usage())
}
