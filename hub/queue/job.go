// Package queue has machines do work that others ask for, by way of a hub. A job waits in a
// stream until a worker claims it; the record of its run says who that is, and each write of
// the record names the one that it replaces. So a worker that was overtaken, as the hub took
// it for dead, learns of it before it does harm.
package queue

import (
	"encoding/json"
	"errors"
	"strings"

	"flame/core"
	"flame/core/merge"
)

// Limits of what goes through a hub. Bytes are those of its JSON.
const (
	maxJob     = 900 << 10
	maxRecord  = 900 << 10
	maxOrder   = 16 << 10
	maxRetries = 10
	maxReason  = 300 // characters
	maxID      = 128
	maxQueue   = 64
	maxCap     = 10_000
)

// errDamaged is a record of the hub's that flame did not write.
var errDamaged = errors.New("it cannot be read")

// A Job is work that one machine asks others for.
type Job struct {
	ID      string          `json:"id"`    // letters, digits, - and _
	Queue   string          `json:"queue"` // likewise
	Retries int             `json:"retries,omitempty"`
	Asker   string          `json:"asker"` // the machine; set by Put
	Body    json.RawMessage `json:"body"`
}

// A State says how far a job has come.
type State string

// The states of a job. Ended and Lost are final.
const (
	Queued  State = "queued"
	Running State = "running"
	Ended   State = "ended" // by its worker, or because it was cancelled before one began
	Lost    State = "lost"  // its worker is gone, and it may not be tried again
)

// A Run is what is known of a job.
type Run struct {
	Job      string          `json:"job"`
	State    State           `json:"state"`
	Queue    string          `json:"queue"`
	Asker    string          `json:"asker"`
	Retries  int             `json:"retries,omitempty"`
	Attempt  int             `json:"attempt,omitempty"` // 1 for the first
	Worker   string          `json:"worker,omitempty"`  // the machine of the last attempt
	Claim    string          `json:"claim,omitempty"`   // tells apart the attempts of one machine
	At       core.Millis     `json:"at"`                // when it was written, by the clock of who did
	Progress json.RawMessage `json:"progress,omitempty"`
	Outcome  json.RawMessage `json:"outcome,omitempty"`
	Reason   string          `json:"reason,omitempty"` // why it ended without an outcome, or is lost
}

// Final reports whether nothing more will become of the job.
func (r Run) Final() bool { return r.State == Ended || r.State == Lost }

// usedUp reports whether the job may not be tried again.
func (r Run) usedUp() bool { return r.Attempt > r.Retries }

// lose makes r that of a job whose worker is gone.
func (r *Run) lose() {
	r.State, r.Reason = Lost, "worker lost: "+r.Worker+" was not heard of any more"
}

// An Order is what the asker wants of a job that it has put.
type Order struct {
	Cancel bool        `json:"cancel,omitempty"`
	Reason string      `json:"reason,omitempty"`
	Until  core.Millis `json:"until,omitempty"` // when it has to be done; 0: no matter when
}

// isName reports whether text may be a part of a subject, at most so long.
func isName(text string, most int) bool {
	return text != "" && len(text) <= most && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// checkID returns the advice for an id that cannot be one.
func checkID(id string) error {
	if !isName(id, maxID) {
		return core.Invalidf("%q cannot be the id of a job", core.OneLine(id, maxID)).
			WithHint("ids are letters, digits, - and _, at most %d of them", maxID)
	}
	return nil
}

// checkQueue returns the advice for a name that cannot be a queue's.
func checkQueue(name string) error {
	if !isName(name, maxQueue) {
		return core.Invalidf("%q cannot be the name of a queue", core.OneLine(name, maxQueue)).
			WithHint("names are letters, digits, - and _, at most %d of them", maxQueue)
	}
	return nil
}

// text returns the job as it travels.
func (j Job) text() ([]byte, error) {
	if err := errors.Join(checkID(j.ID), checkQueue(j.Queue)); err != nil {
		return nil, err
	}
	if j.Retries < 0 || j.Retries > maxRetries {
		return nil, core.Invalidf("a job cannot be tried again %d times", j.Retries).WithHint("0 to %d", maxRetries)
	}
	text, err := json.Marshal(j)
	if err != nil {
		return nil, core.Invalidf("the body of job %s is no JSON: %v", j.ID, err)
	}
	if len(text) > maxJob {
		return nil, core.Invalidf("job %s has %d KB, and the hub takes %d", j.ID, len(text)>>10, maxJob>>10).
			WithHint("make its task shorter, or have it name a file that is in the repository")
	}
	return text, nil
}

// jobOf returns the job of a message that anybody may have sent, to the subject of this
// queue and id.
func jobOf(text []byte, queue, id string) (j Job, err error) {
	if len(text) > maxJob {
		return j, errDamaged
	}
	err = json.Unmarshal(text, &j)
	if err != nil || j.ID != id || j.Queue != queue || !isName(id, maxID) || !merge.ValidMachine(j.Asker) || j.Retries < 0 || j.Retries > maxRetries {
		return Job{}, errDamaged
	}
	return j, nil
}

// runOf returns a record that anybody may have written.
func runOf(text []byte, id string) (r Run, err error) {
	if len(text) > maxRecord {
		return r, errDamaged
	}
	err = json.Unmarshal(text, &r)
	switch {
	case err != nil, r.Job != id, !isName(r.Queue, maxQueue), !merge.ValidMachine(r.Asker), r.Retries < 0, r.Retries > maxRetries,
		r.Attempt < 0, r.Attempt > maxRetries+1, r.Worker != "" && !merge.ValidMachine(r.Worker), r.Claim != "" && !isName(r.Claim, maxID):
		return Run{}, errDamaged
	}
	switch r.State {
	case Queued, Ended, Lost:
	case Running:
		if r.Worker == "" || r.Claim == "" || r.Attempt == 0 {
			return Run{}, errDamaged
		}
	default:
		return Run{}, errDamaged
	}
	r.Reason = core.OneLine(r.Reason, maxReason)
	return r, nil
}

// orderOf returns an order that anybody may have written. One that cannot be read is none.
func orderOf(text []byte) Order {
	var o Order
	if len(text) > maxOrder || json.Unmarshal(text, &o) != nil {
		return Order{}
	}
	o.Reason = core.OneLine(o.Reason, maxReason)
	return o
}

// cancelled returns why a job ends that an order cancels.
func (o Order) cancelled() string {
	if o.Reason == "" {
		return "cancelled"
	}
	return core.OneLine(o.Reason, maxReason)
}
