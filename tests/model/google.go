package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Signatures of thoughts: what those of the scripted model begin with, and one that Google documents for
// calls that no model made.
const (
	signs   = "signed-"
	unasked = "skip_thought_signature_validator"
)

// refusedByGoogle returns why Google's API would refuse a request, as far as that is documented: calls and
// results follow each other in pairs, calls follow the user, and since the user's last words the first call
// of each message has its signature.
func refusedByGoogle(body []byte) error {
	var in geminiBody
	if json.Unmarshal(body, &in) != nil || len(in.Contents) == 0 {
		return errors.New("contents is not specified")
	}
	words, role := 0, ""
	for i, c := range in.Contents {
		calls, results, text := sorted(c.Parts)
		switch {
		case len(c.Parts) == 0:
			return errors.New("contents.parts must not be empty")
		case len(calls) > 0 && role != "user":
			return errors.New("function call turn comes immediately after a user turn or after a function response turn")
		case len(results) > 0 && i == 0:
			return errors.New("function response turn comes immediately after a function call turn")
		}
		if i > 0 {
			if asked, _, _ := sorted(in.Contents[i-1].Parts); strings.Join(asked, " ") != strings.Join(results, " ") {
				return fmt.Errorf("the number of function response parts is equal to the number of function call parts: %q, %q", asked, results)
			}
		}
		if c.Role == "user" && text && len(results) == 0 {
			words = i
		}
		role = c.Role
	}
	if calls, _, _ := sorted(in.Contents[len(in.Contents)-1].Parts); len(calls) > 0 || role != "user" {
		return errors.New("single turn requests end with a user role or a function response")
	}
	return signed(in, words)
}

// signed checks the signatures since the user's last words.
func signed(in geminiBody, words int) error {
	for i, c := range in.Contents[words:] {
		for _, p := range c.Parts {
			if p.FunctionCall == nil {
				continue
			}
			if !strings.HasPrefix(p.ThoughtSignature, signs) && p.ThoughtSignature != unasked {
				return fmt.Errorf("function call is missing a thought_signature in contents %d: %s", words+i, p.FunctionCall.Name)
			}
			break
		}
	}
	return nil
}

// sorted returns the calls and results of a message, and whether it has a text. After a resume Gemini CLI
// sends a result twice.
func sorted(parts []geminiPart) (calls, results []string, text bool) {
	for _, p := range parts {
		switch {
		case p.FunctionCall != nil:
			calls = append(calls, p.FunctionCall.Name+p.FunctionCall.ID)
		case p.FunctionResponse != nil && !slices.Contains(results, p.FunctionResponse.Name+p.FunctionResponse.ID):
			results = append(results, p.FunctionResponse.Name+p.FunctionResponse.ID)
		case p.Text != "":
			text = true
		}
	}
	return calls, results, text
}
