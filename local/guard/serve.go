package guard

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// Serve serves on a listener until ctx is done or the server fails. It then calls stop, which may
// be nil, and gives requests in progress the time grace to finish.
func Serve(ctx context.Context, listener net.Listener, srv *http.Server, grace time.Duration, stop func(patience context.Context)) (err error) {
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(listener) }()
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if stop != nil {
		stop(patience)
	}
	if srv.Shutdown(patience) != nil {
		_ = srv.Close()
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
