package contents

import (
	"flame/core/fold"
	"flame/hosts"
	"flame/hosts/gateway/codec"
)

// History returns the request's contents in the form that folding reads. They have no times.
func (r *request) History(w *hosts.GatewaySpec) (history []fold.Message) {
	history, r.names = codec.History(r.contents, w)
	return history
}
