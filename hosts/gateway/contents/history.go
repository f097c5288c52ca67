package contents

import (
	"slices"
	"strings"

	"flame/core"
	"flame/core/fold"
	"flame/hosts"
	"flame/hosts/gateway/dialect"
)

// History returns the request's contents in the form that folding reads. They have no times.
func (r *request) History(w *hosts.Wire) []fold.Message {
	history := make([]fold.Message, len(r.contents))
	r.names = dialect.Names{}
	for i := range r.contents {
		c := &r.contents[i]
		f := fold.Message{Role: c.role, Tokens: c.tokens()}
		if c.role == core.RoleAssistant {
			c.describeAnswer(&f, r.after(i), w, &r.names)
		} else {
			c.describeUser(&f, w, &r.names)
		}
		f.Open = f.Open || len(c.of(unknown)) > 0
		history[i] = f
	}
	for i := range history { // words of the user beside the results of calls bind these calls
		if history[i].Role == core.RoleUser && !history[i].Answers && i > 0 && len(r.contents[i].of(result)) > 0 {
			history[i-1].Open = true
		}
	}
	return history
}

// after returns the results of the calls of message i, by their ids.
func (r *request) after(i int) map[string]*part {
	if i+1 == len(r.contents) {
		return nil
	}
	results := map[string]*part{}
	for _, p := range r.contents[i+1].of(result) {
		results[p.id] = p
	}
	return results
}

// describeAnswer fills in the calls and moves of an answer.
func (c *content) describeAnswer(f *fold.Message, results map[string]*part, w *hosts.Wire, names *dialect.Names) {
	calls, first := c.calls(results), ""
	if len(calls) > 0 {
		first = calls[0].ID
	}
	f.Name, f.Text = names.Answer(first != "", first, dialect.Digest(c.texts()), dialect.Digest(c.signatures())), c.texts()
	for i, p := range c.of(call) {
		if p.made {
			calls[i].ID = "" // it is the same in other messages
		}
	}
	dialect.Describe(f, calls, w)
}

// calls returns the calls of a message.
func (c *content) calls(results map[string]*part) (calls []dialect.Call) {
	for _, p := range c.of(call) {
		one := dialect.Call{ID: p.id, Tool: p.tool, Input: p.input}
		if r := results[p.id]; r != nil {
			one.Result = &dialect.Result{Failed: r.failed(), Tokens: dialect.Tokens(len(r.raw)), Said: r.said}
		}
		calls = append(calls, one)
	}
	return calls
}

// describeUser fills in who speaks in a message of role user.
func (c *content) describeUser(f *fold.Message, w *hosts.Wire, names *dialect.Names) {
	said, results, shows := c.said(w), c.of(result), len(c.of(media)) > 0
	switch {
	case len(results) > 0:
		f.Name, f.Answers = names.Call("r", results[0].id), said == "" && !shows
	case said != "":
		f.Name = names.Next("u", dialect.Digest(said))
	default:
		f.Name, f.Host = names.Next("u", dialect.Digest(c.texts())), !shows
	}
	f.Summary = len(results) == 0 && slices.ContainsFunc(c.of(words), func(p *part) bool { return w.IsSummary(p.text) })
}

// said returns the user's words in a message.
func (c *content) said(w *hosts.Wire) string {
	var all []string
	for _, p := range c.of(words) {
		if said := w.Said(p.text, false); said != "" {
			all = append(all, said)
		}
	}
	return strings.Join(all, "\n")
}

func (c *content) signatures() string {
	var all strings.Builder
	for i := range c.parts {
		all.WriteString(c.parts[i].signature)
	}
	return all.String()
}

// tokens estimates the tokens of a message, without its thoughts.
func (c *content) tokens() (tokens int) {
	for i := range c.parts {
		switch p := &c.parts[i]; p.kind {
		case thought:
		case media:
			tokens += dialect.PictureTokens
		default:
			tokens += dialect.Tokens(len(p.raw) - len(p.signature))
		}
	}
	return max(1, tokens)
}
