// Package hub knows which hub a project has joined and how its connection is, and has flame-hub do
// what needs the hub: a program of its own, because only it speaks to one.
package hub

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"flame/core"
	"flame/core/merge"
	"flame/local/place"
)

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

// linkName is the file in a project's data folder that says which hub it is joined to.
const linkName = "hub.json"

// maxLink is the greatest size of that file in bytes.
const maxLink = 16 << 10

// Load reads the link of a project from its data folder. If it is joined to no hub, the
// error is fs.ErrNotExist.
func Load(data string) (l Link, err error) {
	path := filepath.Join(data, linkName)
	text, err := place.ReadData(path, maxLink)
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

// RedactURL returns the URL of a server, or of several, without its secrets.
func RedactURL(address string) string {
	var shown []string
	for part := range strings.SplitSeq(address, ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		if err != nil || u.Host == "" {
			return "a server"
		}
		shown = append(shown, u.Scheme+"://"+u.Host)
	}
	return strings.Join(shown, ",")
}

// MaxProject is the greatest length of the name of a project in characters.
const MaxProject = 64

// MaxQueue is the greatest length of the name of a queue in characters.
const MaxQueue = 64

// IsName reports whether a text of at most so many characters may be a part of a subject:
// letters, digits, - and _.
func IsName(text string, most int) bool {
	return text != "" && len(text) <= most && strings.Trim(text, keyChars) == ""
}

// IsURL reports whether text names servers of NATS: one, or several with commas between
// them.
func IsURL(text string) bool {
	for part := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		if err == nil && u.Port() != "" {
			_, err = strconv.ParseUint(u.Port(), 10, 16)
		}
		if err != nil || !slices.Contains([]string{"nats", "tls"}, u.Scheme) || u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" {
			return false
		}
	}
	return true
}

// check returns an error unless a link can be one that flame has written. The error has
// nothing of it that is secret.
func (l Link) check() error {
	switch {
	case l.URL == "":
		return errors.New("the url is missing")
	case !IsURL(l.URL):
		return errors.New("its url is not that of a NATS server")
	case !IsName(l.Project, MaxProject):
		return errors.New("its project is missing or invalid")
	case !merge.ValidMachine(l.Machine):
		return errors.New("its machine is missing or invalid")
	case l.Creds != "" && !filepath.IsAbs(l.Creds):
		return errors.New("its creds are not an absolute path")
	}
	if l.Seed != "" && !seeds().MatchString(l.Seed) {
		return errors.New("its seed is not a private key")
	}
	if sum, err := hex.DecodeString(l.Pin); err != nil || l.Pin != "" && len(sum) != 32 {
		return errors.New("its pin is not the hash of a certificate")
	}
	return nil
}

// seeds matches the private key of a user in the form of NATS; its checksum is checked where the key
// is used.
var seeds = core.Pattern(`^SU[A-Z2-7]{56}\z`)

// keyChars are those that a key of a bucket may have, but for "=", which begins the keys of
// ids with others, and ".", which has a meaning at either end and when it is doubled.
const keyChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// statusName is the file in a project's data folder with the status of its connection,
// written by the process that keeps the project connected.
const statusName = "hub-status.json"

// maxStatus is the greatest size of that file in bytes.
const maxStatus = 1 << 20

// A status is written again after StatusTime at the latest, and holds for staleTime.
const (
	StatusTime = core.Millis(15_000)
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

// IsFresh reports whether a process still keeps the status up to date.
func (s Status) IsFresh(now core.Millis) bool { return now-s.At < staleTime }

// Unserved says that no worker serves a queue, and which queues have workers. It is empty if a
// worker serves the queue, or the status does not say.
func (s Status) Unserved(queue string, now core.Millis) string {
	if !s.IsFresh(now) || s.Since == 0 || len(s.Machines) == 0 {
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
	text, err := place.ReadData(path, maxStatus)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, core.ErrUnavailable) {
		err = core.Invalidf("%s cannot be used: %v", path, err).WithHint("remove it; flame writes it again")
	}
	return s, err
}

// SaveStatus writes the status of a project into its data folder.
func SaveStatus(data string, s Status) error {
	return place.WriteJSON(filepath.Join(data, statusName), s)
}

// RemoveStatus removes the status of a project that has left its hub.
func RemoveStatus(data string) error { return removeOwn(filepath.Join(data, statusName)) }

// Progress is the progress of syncing a machine with its
type Progress struct {
	Complete bool     `json:"complete"`           // this machine has read the hub's tree and sent the frames missing there
	Taken    int      `json:"taken"`              // received documents
	Sent     int      `json:"sent"`               // sent documents
	Waiting  int      `json:"waiting"`            // documents that the hub did not accept
	Skipped  int      `json:"skipped"`            // values of the hub that are not documents, that this machine refuses, or that are newer than this flame
	TooLarge []string `json:"tooLarge,omitempty"` // ids of frames that are too large for the hub
	Fault    error    `json:"-"`                  // the last one of this round
}

// A Machine is a machine that is connected, or was a few minutes ago.
type Machine struct {
	ID      string        `json:"id"`
	Version string        `json:"version"`          // of its flame
	Doc     int           `json:"doc"`              // version of the documents that it writes
	Run     string        `json:"run"`              // distinguishes the processes of a machine, and two machines with the same id
	Seen    core.Millis   `json:"seen"`             // time of its last announcement, by the server's clock; set by the reader
	Serves  []QueueStatus `json:"serves,omitempty"` // one for each of its workers; set by the reader

	Agents json.RawMessage `json:"agents,omitempty"` // states of its agents, opaque to this package
}

// A QueueStatus is a queue that a worker of a machine serves.
type QueueStatus struct {
	Queue string `json:"queue"`
	Slots int    `json:"slots"` // how many agents it runs at a time
	Free  int    `json:"free"`  // how many more it would start now
}
