package web

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/samber/lo"

	"flame/agents"
	"flame/render/board"
)

// A line of the stream of a page is a change of the board.
type line struct {
	board.Change
	Program string            `json:"program,omitempty"` // version of the server, in the first line
	Addr    string            `json:"addr,omitempty"`    // of the server, in the first line; with the secret, the page recognizes the server
	Secret  string            `json:"secret,omitempty"`
	Root    string            `json:"root,omitempty"`  // the project's folder, in the first line
	Hosts   map[string]string `json:"hosts,omitempty"` // titles of hosts by their names, in the first line
	Trouble *board.Trouble    `json:"trouble,omitempty"`
}

// titles returns the titles of the hosts by their names.
func titles(a *agents.Agents) map[string]string {
	return lo.SliceToMap(a.Hosts.Names(), func(name string) (_, title string) { return name, a.Hosts.Title(name) })
}

const (
	signOfLife = 5 * time.Second  // the longest time between two lines
	slowest    = 30 * time.Second // that a page may take to read a line
)

// stream streams the board to a page in lines of JSON: first the whole board, then its changes. A
// slow page gets fewer and longer lines.
func (s *server) stream(w http.ResponseWriter, r *http.Request, f *board.Feed) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy should not hold lines back
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
			told.Root, told.Hosts, told.Program, told.Addr, told.Secret = f.Agents().Root, titles(f.Agents()), s.Version, s.addr, s.Secret
		}
		version = told.Version
		_ = control.SetWriteDeadline(time.Now().Add(slowest))
		if out.Encode(told) != nil || control.Flush() != nil {
			return
		}
		// Changes in the meantime go into the next line.
		if !s.wait(r, nil, board.Pace) || !s.wait(r, n.Next, signOfLife) {
			return
		}
	}
}

// wait waits for next, at most as long as most. It reports whether page and server are still
// there.
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
