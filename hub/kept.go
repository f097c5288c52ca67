// Package hub connects the flames of several machines through a NATS server with JetStream.
// The server is a meeting point and may be lost: some machine has everything that it holds.
// Only this package and hub/queue speak NATS.
package hub

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"flame/core"
	"flame/local/place"
)

// linkName is the file in a project's data folder that says which hub it is joined to.
const linkName = "hub.json"

// maxLink is the greatest size of that file in bytes.
const maxLink = 16 << 10

// Load reads the link of a project from its data folder. If it is joined to no hub, the
// error is fs.ErrNotExist.
func Load(data string) (l Link, err error) {
	path := filepath.Join(data, linkName)
	text, err := place.ReadOwn(path, maxLink)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, core.ErrUnavailable) {
		return l, err
	}
	if err == nil {
		err = json.Unmarshal(bytes.TrimSpace(text), &l)
	}
	if err == nil {
		err = l.check()
	}
	if err != nil {
		return l, core.Invalidf("%s cannot be used: %v", path, err).WithHint("`flame leave` removes it; then join again")
	}
	return l, nil
}

// Save keeps the link of a project in its data folder, which must exist.
func Save(data string, l Link) error {
	return place.WriteJSON(filepath.Join(data, linkName), l)
}

// Remove removes the link of a project to its hub.
func Remove(data string) error {
	return removeOwn(filepath.Join(data, linkName))
}

// removeOwn removes a file of the data folder, if it is there.
func removeOwn(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// NewMachine returns an id for this machine on a hub: its name, without characters that ids
// lack, and some random characters.
func NewMachine() string {
	name, _ := os.Hostname() // without a name, the random characters distinguish it
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	name = strings.Trim(strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, name), "-")
	if name = name[:min(len(name), 30)]; name == "" {
		name = "machine"
	}
	return name + "-" + strings.ToLower(rand.Text()[:5])
}

// statusName is the file in a project's data folder with the status of its connection,
// written by the process that keeps the project connected.
const statusName = "hub-status.json"

// maxStatus is the greatest size of that file in bytes.
const maxStatus = 1 << 20

// A status is written again after statusTime at the latest, and holds for staleTime.
const (
	statusTime = core.Millis(15_000)
	staleTime  = core.Millis(45_000)
)

// A Status is the state of a project's connection to its hub. Reading it needs no network.
type Status struct {
	At      core.Millis `json:"at"`                  // when it was written
	PID     int         `json:"pid"`                 // the process that keeps the project connected
	Since   core.Millis `json:"since,omitempty"`     // when it connected; 0: it is not connected
	Server  string      `json:"server,omitempty"`    // version of the server
	Latency float64     `json:"latencyMs,omitempty"` // of one answer, in milliseconds
	Progress
	Machines []Machine `json:"machines,omitempty"` // that are connected, or were a few minutes ago
	Error    string    `json:"error,omitempty"`    // what went wrong last, if it still is
	Hint     string    `json:"hint,omitempty"`     // what to do about it
}

// Holds reports whether a process still keeps the status up to date.
func (s Status) Holds(now core.Millis) bool { return now-s.At < staleTime }

// Unserved says that no worker serves a queue, and which queues have workers. It is empty if a
// worker serves the queue, or the status does not say.
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

// LoadStatus reads the status of a project from its data folder. Without a status, the
// error is fs.ErrNotExist.
func LoadStatus(data string) (s Status, err error) {
	path := filepath.Join(data, statusName)
	text, err := place.ReadOwn(path, maxStatus)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, core.ErrUnavailable) {
		err = core.Invalidf("%s cannot be used: %v", path, err).WithHint("remove it; flame writes it again")
	}
	return s, err
}

// A Link says which hub a project of this machine is joined to. It is kept in the project's
// data folder, as hub.json.
type Link struct {
	URL      string      `json:"url"`             // nats:// or tls://; the user's own server may have a user, password or token in it
	Project  string      `json:"project"`         // name of the project on the hub: letters, digits, - and _
	Machine  string      `json:"machine"`         // id of this machine there: its name, and some random characters
	Seed     string      `json:"seed,omitempty"`  // private nkey of this machine
	Pin      string      `json:"pin,omitempty"`   // SHA-256 of the server's certificate, in hex; empty: as the system trusts it
	Creds    string      `json:"creds,omitempty"` // path of a file of the user's with JWT and key
	JoinedAt core.Millis `json:"joinedAt"`
}
