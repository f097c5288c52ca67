package hub

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"flame/core"
)

// statusName is the file in a project's data folder in which the process that keeps it
// connected says how that goes.
const statusName = "hub-status.json"

// maxStatus is the greatest size of that file in bytes.
const maxStatus = 1 << 20

// A status is written again after statusTime at the latest, and holds for staleTime.
const (
	statusTime = core.Millis(15_000)
	staleTime  = core.Millis(45_000)
)

// A Status is how the connection of a project to its hub goes. It can be read without a
// network.
type Status struct {
	At       core.Millis `json:"at"`                  // when it was written
	PID      int         `json:"pid"`                 // the process that keeps the project connected
	Since    core.Millis `json:"since,omitempty"`     // when it connected; 0: it is not connected
	Server   string      `json:"server,omitempty"`    // version of the server
	Latency  float64     `json:"latencyMs,omitempty"` // of one answer, in milliseconds
	Complete bool        `json:"complete"`            // the hub's tree was read, and what it lacked was sent
	Taken    int         `json:"taken"`               // documents that came
	Sent     int         `json:"sent"`                // documents that were sent
	Waiting  int         `json:"waiting"`             // documents that the hub did not take
	Skipped  int         `json:"skipped"`             // values of the hub that are no documents, that this machine refuses, or newer than this flame
	TooLarge []string    `json:"tooLarge,omitempty"`  // ids of frames that the hub has no room for
	Machines []Machine   `json:"machines,omitempty"`  // that are connected, or were a few minutes ago
	Error    string      `json:"error,omitempty"`     // what went wrong last, if it still is
	Hint     string      `json:"hint,omitempty"`      // what to do about it
}

// Holds reports whether somebody still keeps the status up to date.
func (s Status) Holds(now core.Millis) bool { return now-s.At < staleTime }

// Unserved says in words that no worker serves a queue, and who serves which; it is empty
// if one does, or that is not known.
func (s Status) Unserved(queue string, now core.Millis) string {
	if !s.Holds(now) || s.Since == 0 || len(s.Machines) == 0 {
		return ""
	}
	var others []string
	for _, m := range s.Machines {
		for _, served := range m.Serves {
			if served.Queue == queue {
				return ""
			}
			if one := served.Queue + " is served by " + m.ID; !slices.Contains(others, one) && len(others) < maxOthers {
				others = append(others, one)
			}
		}
	}
	return strings.Join(append([]string{"no worker serves the queue " + queue + " now"}, others...), "; ")
}

// maxOthers is how many other queues are named.
const maxOthers = 5

// LoadStatus reads the status of a project from its data folder. If there is none, the
// error is fs.ErrNotExist.
func LoadStatus(data string) (s Status, err error) {
	path := filepath.Join(data, statusName)
	text, err := readOwn(path, maxStatus)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, core.ErrUnavailable) {
		err = core.Invalidf("%s cannot be used: %v", path, err).WithHint("remove it; it is written anew")
	}
	return s, err
}

// saveStatus writes the status of a project into its data folder.
func saveStatus(data string, s Status) error {
	return writeOwn(filepath.Join(data, statusName), s)
}

// removeStatus has a project have no status.
func removeStatus(data string) error {
	return removeOwn(filepath.Join(data, statusName))
}
