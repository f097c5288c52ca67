package web

import (
	"encoding/json"
	"net/http"
	"time"

	"flame/board"
	"flame/board/feed"
)

// A line is what the stream of a page carries: what changed on the board.
type line struct {
	board.Change
	Program string        `json:"program,omitempty"` // version of the server, in the first line
	Addr    string        `json:"addr,omitempty"`    // of the server, and its secret, by which the page knows it again: in the first line
	Secret  string        `json:"secret,omitempty"`
	Root    string        `json:"root,omitempty"` // the project's folder, in the first line
	Trouble *feed.Trouble `json:"trouble,omitempty"`
}

const (
	signOfLife = 5 * time.Second  // at least so often there is a line
	slowest    = 30 * time.Second // that a page may take to read a line
)

// stream streams the board to a page: all of it, then what changes, in lines of JSON. A
// slow page gets fewer and longer ones.
func (s *server) stream(w http.ResponseWriter, r *http.Request, f *feed.Feed) {
	defer f.Join()()
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy in between should pass each line on
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // it stays open for as long as the page
	out := json.NewEncoder(w)
	var shown *board.Board
	var version int64
	for first := true; ; first = false {
		n := f.News()
		for n.Trouble == nil && n.Board.Version() == 0 { // nothing was read yet
			if !s.wait(r, n.Next, slowest) {
				return
			}
			n = f.News()
		}
		if n.Board != shown {
			shown, version = n.Board, 0
		}
		told := line{Trouble: n.Trouble}
		if told.Change = n.Board.Since(version); first {
			told.Root, told.Program, told.Addr, told.Secret = f.Agents().Root, s.Version, s.addr, s.Secret
		}
		version = told.Version
		_ = control.SetWriteDeadline(time.Now().Add(slowest))
		if out.Encode(told) != nil || control.Flush() != nil {
			return
		}
		// A change that comes meanwhile waits, and goes out with those that follow it.
		if !s.wait(r, nil, feed.Pace) || !s.wait(r, n.Next, signOfLife) {
			return
		}
	}
}

// wait waits for next, for so long at most. It reports whether the page and the server
// are still there.
func (s *server) wait(r *http.Request, next <-chan struct{}, most time.Duration) bool {
	select {
	case <-r.Context().Done():
		return false
	case <-s.life.Done():
		return false
	case <-next:
	case <-time.After(most):
	}
	return true
}
