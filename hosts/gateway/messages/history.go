package messages

import (
	"flame/core"
	"flame/core/fold"
	"flame/hosts"
	"flame/hosts/gateway/codec"
)

// History returns the request's messages in the form that folding reads. They have no times. Of an
// answer the last text counts, and a summary begins its message.
func (r *request) History(w *hosts.GatewaySpec) (history []fold.Message) {
	history, r.names = codec.History(r.messages, w)
	for i := range history {
		texts := r.messages[i].Of(codec.Words)
		if len(texts) == 0 {
			continue
		}
		history[i].Summary = history[i].Summary && w.IsSummary(texts[0].Text)
		if history[i].Role == core.RoleAssistant {
			history[i].Text = texts[len(texts)-1].Text
		}
	}
	return history
}

// Names returns the names that History gave.
func (r *request) Names() codec.MessageNames { return r.names.Kept() }
