package usage

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"flame/core"
	"flame/project"
)

// A Tally is what requests to models came to.
type Tally struct {
	Requests int         `json:"requests"`
	Failed   int         `json:"failed"`   // without an answer: the upstream refused them, or gave no status
	Usage    core.Usage  `json:"usage"`    // without tool calls, which a gateway does not count
	Begun    int         `json:"begun"`    // whose answers had a first token
	FirstSum core.Millis `json:"firstSum"` // ms to the first token, of all of these
	FirstMax core.Millis `json:"firstMax"` // ms to the first token, of the slowest
	Given    int64       `json:"given"`    // bytes of the bodies, as the host sent them
	Sent     int64       `json:"sent"`     // bytes of the bodies, as they went on
}

// Add returns the sum of t and other.
func (t Tally) Add(other Tally) Tally {
	return Tally{
		Requests: t.Requests + other.Requests, Failed: t.Failed + other.Failed, Usage: t.Usage.Add(other.Usage),
		Begun: t.Begun + other.Begun, FirstSum: t.FirstSum + other.FirstSum, FirstMax: max(t.FirstMax, other.FirstMax),
		Given: t.Given + other.Given, Sent: t.Sent + other.Sent,
	}
}

// FirstMean returns the mean time to the first token in ms; 0 without one.
func (t Tally) FirstMean() core.Millis { return t.FirstSum / core.Millis(max(1, t.Begun)) }

// Spared returns how many bytes less went on than the host sent; less than 0 if more.
func (t Tally) Spared() int64 { return t.Given - t.Sent }

// tallies are those of requests by class.
type tallies map[string]Tally

// add adds other to t, and returns t, or a new map if t is nil.
func (t tallies) add(other tallies) tallies {
	if t == nil {
		t = tallies{}
	}
	for class, tally := range other {
		t[class] = t[class].Add(tally)
	}
	return t
}

const (
	recordByHost    project.Kind[tallies] = "requests_by_host"    // by host, of the whole project
	recordBySession project.Kind[tallies] = "requests_by_session" // by session
	recordByFrame   project.Kind[tallies] = "requests_by_frame"   // by frame
)

// note adds sums to a record.
func note(tx project.Tx, kind project.Kind[tallies], id string, sums tallies) error {
	var kept tallies
	if _, err := kind.Load(tx, id, &kept); err != nil || len(sums) == 0 {
		return err
	}
	return kind.Save(tx, id, kept.add(sums))
}

// MoveRequests counts the requests made in frame from as made in frame to.
func MoveRequests(tx project.Tx, from, to string) error {
	var moved tallies
	known, err := recordByFrame.Load(tx, from, &moved)
	if !known || err != nil {
		return err
	}
	return errors.Join(note(tx, recordByFrame, to, moved), recordByFrame.Delete(tx, from))
}

// A Metered is what the requests of one class came to, as a gateway measured them.
type Metered struct {
	Host  string `json:"host,omitempty"` // only where several hosts may be listed
	Class string `json:"class"`
	Tally
	FirstMean core.Millis `json:"firstMean"` // ms to the first token, on average
	Spared    int64       `json:"spared"`    // bytes less that went on than the host sent
}

// list returns tallies in the order of Classes.
func (t tallies) list(host string) (all []Metered) {
	for class, tally := range t {
		all = append(all, Metered{host, class, tally, tally.FirstMean(), tally.Spared()})
	}
	slices.SortFunc(all, func(a, b Metered) int {
		return cmp.Compare(slices.Index(classes, a.Class), slices.Index(classes, b.Class))
	})
	return all
}

// Sum returns what requests of several classes came to.
func Sum(all []Metered) (sum Tally) {
	for _, m := range all {
		sum = sum.Add(m.Tally)
	}
	return sum
}

// ByClass returns what the requests of a project came to, by host and class; none if no
// gateway has seen any. Those of sessions that were forgotten are among them.
func ByClass(tx project.Tx) (all []Metered, err error) {
	byHost := map[string]tallies{}
	err = recordByHost.Each(tx, func(host string, t tallies) error {
		byHost[host] = t
		return nil
	})
	for _, host := range slices.Sorted(maps.Keys(byHost)) {
		all = append(all, byHost[host].list(host)...)
	}
	return all, err
}

// OfSession returns what the requests of a session came to, by class.
func OfSession(tx project.Tx, session string) ([]Metered, error) {
	return listOf(tx, recordBySession, session)
}

// OfFrame returns what the requests made while a session worked in a frame came to, by
// class.
func OfFrame(tx project.Tx, frame string) ([]Metered, error) { return listOf(tx, recordByFrame, frame) }

func listOf(tx project.Tx, kind project.Kind[tallies], id string) ([]Metered, error) {
	var t tallies
	_, err := kind.Load(tx, id, &t)
	return t.list(""), err
}
