package contents

import (
	"flame/core/fold"
	"flame/hosts"
	"flame/hosts/gateway/dialect"
)

// History returns the request's contents in the form that folding reads. They have no times.
func (r *request) History(w *hosts.Wire) (history []fold.Message) {
	history, r.names = dialect.History(r.contents, w)
	return history
}
