package web

import (
	"compress/gzip"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/samber/lo"

	"flame/agents"
	"flame/core"
	"flame/render/board"
)

// A line of the stream of a page is the state of the project, or a sign of life.
type line struct {
	Now     core.Millis     `json:"now"`             // time of the project's clock
	Board   *board.Snapshot `json:"board,omitempty"` // nil: as before
	Trouble *board.Problem  `json:"trouble,omitempty"`
	*about                  // in the first line, and once the project's data was replaced
}

// about is what a page has to know of its server and project.
type about struct {
	Program string            `json:"program"` // version of the server
	Addr    string            `json:"addr"`    // of the server; with the secret, the page recognizes the server
	Secret  string            `json:"secret"`
	Root    string            `json:"root"`  // the project's folder
	Hosts   map[string]string `json:"hosts"` // titles of hosts by their names
}

// titles returns the titles of the hosts by their names.
func titles(a *agents.Agents) map[string]string {
	return lo.SliceToMap(a.Hosts.Names(), func(name string) (_, title string) { return name, a.Hosts.Title(name) })
}

const (
	signOfLife = 5 * time.Second  // the longest time between two lines
	slowest    = 30 * time.Second // that a page may take to read a line
)

// stream streams the board to a page in lines of JSON, whole after each change: 2,000 frames are
// 42 kB packed, and take 3 ms. A slow page and a large board get fewer lines.
func (s *server) stream(w http.ResponseWriter, r *http.Request, f *board.Feed) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy should not hold lines back
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // it stays open for as long as the page
	out := newLines(w, r)
	var shown *board.Board
	var version int64
	for {
		n := f.News()
		for n.Trouble == nil && n.Board.Version() == 0 { // nothing was read yet
			if !s.wait(r, n.Next, slowest) {
				return
			}
			n = f.News()
		}
		told := line{Now: f.Agents().Project.Now(), Trouble: n.Trouble}
		if n.Board != shown {
			told.about = &about{s.Version, s.addr, s.Secret, f.Agents().Root, titles(f.Agents())}
			shown, version = n.Board, 0
		}
		if n.Board.Version() != version {
			told.Board = new(n.Board.Snapshot())
			version = told.Board.Version
		}
		began := time.Now()
		_ = control.SetWriteDeadline(began.Add(slowest))
		if out.write(told) != nil || control.Flush() != nil {
			return
		}
		// Changes in the meantime go into the next line.
		if !s.wait(r, nil, min(max(board.Pace, 4*time.Since(began)), signOfLife)) || !s.wait(r, n.Next, signOfLife) {
			return
		}
	}
}

// lines writes lines of JSON, packed if the page can read that.
type lines struct {
	out  *json.Encoder
	pack *gzip.Writer // nil: not packed
}

func newLines(w http.ResponseWriter, r *http.Request) lines {
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		return lines{out: json.NewEncoder(w)}
	}
	w.Header().Set("Content-Encoding", "gzip")
	pack := gzip.NewWriter(w)
	return lines{json.NewEncoder(pack), pack}
}

func (l lines) write(v any) error {
	if err := l.out.Encode(v); err != nil || l.pack == nil {
		return err
	}
	return l.pack.Flush()
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
