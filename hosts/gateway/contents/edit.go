package contents

import (
	"strings"

	"github.com/tidwall/gjson"

	"flame/core"
	"flame/core/fold"
	"flame/hosts/gateway/codec"
)

// Amended returns the body after an amendment; history is the result of History. Other messages keep
// their bytes.
func (r *request) Amended(history []fold.Message, a fold.Edits) []byte {
	e, turn := codec.NewEdit(a), r.turn()
	all, same := make([]string, 0, len(r.contents)), true
	for i := range r.contents {
		c, name := &r.contents[i], history[i].Name
		notes := e.Before[name]
		within := !e.Dropped[name] && len(c.Of(codec.Results)) > 0 // nothing may stand between a call and its result
		if len(notes) > 0 && !within {
			all, same = append(all, userSays(notes)), false
		}
		if e.Dropped[name] {
			same = false
			continue
		}
		sent := edited(c, e, e.Stale[name] && i < turn, e.Mute[name])
		all, same = append(all, sent), same && sent == c.Raw
		if len(notes) > 0 && within {
			all, same = append(all, userSays(notes)), false
		}
	}
	if same {
		return []byte(r.raw)
	}
	return []byte(r.list.With(r.raw, all))
}

// turn returns the index of the message that began the current turn, as Google defines it: the user's
// last one that is no result. From there on the API requires signatures (documented), so all stay.
func (r *request) turn() int {
	for i := len(r.contents) - 1; i >= 0; i-- {
		if c := &r.contents[i]; c.Role == core.RoleUser && len(c.Of(codec.Words)) > 0 && len(c.Of(codec.Results)) == 0 {
			return i
		}
	}
	return 0
}

// userSays returns a message of the user.
func userSays(texts []string) string {
	parts := make([]string, len(texts))
	for i, text := range texts {
		parts[i] = `{"text":` + codec.Quoted(text) + `}`
	}
	return `{"role":"user","parts":[` + strings.Join(parts, ",") + `]}`
}

// edited returns a message as it is sent; with stale, without its thoughts and their signatures, with
// mute, without its words, unless they have a signature that stays.
func edited(c *codec.Message, e codec.IndexedEdits, stale, mute bool) string {
	changed, parts := false, make([]string, 0, len(c.Parts))
	for i := range c.Parts {
		p := &c.Parts[i]
		line, cut := e.Lines[p.ID]
		cut = cut && !p.Made
		switch {
		case stale && (p.Kind == codec.Thought || p.Signature != "" && p.Kind == codec.Words && p.Text == ""), cut && line == "",
			mute && p.Kind == codec.Words && (stale || p.Signature == ""):
			changed = true
		case cut && p.Kind == codec.Results && p.Content.Exists():
			parts, changed = append(parts, answering(p, line)), true
		case stale && p.Signature != "":
			parts, changed = append(parts, codec.Without(p.Raw, "thoughtSignature")), true
		default:
			parts = append(parts, p.Raw)
		}
	}
	if !changed || len(parts) == 0 {
		return c.Raw
	}
	return c.List.With(c.Raw, parts)
}

// answering returns a result with another text.
func answering(p *codec.Part, text string) string {
	response := gjson.Get(p.Raw, "functionResponse.response")
	return p.Raw[:response.Index] + `{"output":` + codec.Quoted(text) + `}` + p.Raw[response.Index+len(response.Raw):]
}
