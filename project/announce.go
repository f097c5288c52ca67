package project

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"

	"flame/core"
)

// recordAnnounced lists, under the id announcedCalls, the latest calls that hooks announced, oldest
// first.
const recordAnnounced Kind[[]Announced] = "announced"

const announcedCalls = "calls"

// An Announced is a call of one of flame's tools, of which a hook said who makes it: not every
// host says so in the call itself.
type Announced struct {
	ID      string      `json:"id"`
	Process Process     `json:"process"`           // of the host, which its hooks and its servers share
	Call    string      `json:"call"`              // as CallKey returns it
	Session string      `json:"session,omitempty"` // empty: the hook could not tell which agent of the host's process calls
	Parent  string      `json:"parent,omitempty"`
	At      core.Millis `json:"at"`
}

// How long an announcement holds, in ms, and how many are kept: a call follows its hook at once.
const (
	announcedFor = core.Millis(60_000)
	maxAnnounced = 256
)

// CallKey returns what a call of a tool has in common with the announcement of it.
func CallKey(tool string, arguments json.RawMessage) string {
	var fields map[string]any
	sum := fnv.New64a()
	if json.Unmarshal(arguments, &fields) == nil && len(fields) > 0 {
		arguments, _ = json.Marshal(fields) // in order of the names; decoded JSON can be encoded
	} else {
		arguments = nil
	}
	fmt.Fprintf(sum, "%s %s", tool, arguments)
	return fmt.Sprintf("%x", sum.Sum64())
}

// Announce records that the caller is about to make a call. With unsure it records only that one of
// the agents in the host's process is.
func (p *Project) Announce(ctx context.Context, by Caller, call string, unsure bool) error {
	if p.HostProcess == nil { // the call is over
		return nil
	}
	made := Announced{ID: p.NewID("call"), Process: p.HostProcess(), Call: call, At: p.Now()}
	if !unsure {
		made.Session, made.Parent = by.Session, by.Parent
	}
	return p.Store.Update(ctx, func(tx Tx) error {
		return recordAnnounced.Change(tx, announcedCalls, func(all *[]Announced) {
			*all = slices.DeleteFunc(append(*all, made), func(a Announced) bool { return a.At+announcedFor < made.At })
			*all = (*all)[max(0, len(*all)-maxAnnounced):]
		})
	})
}

// FindAnnounced returns the oldest announcement of a call by this process's host that is not used
// yet; hooked reports whether that host announced any call lately.
func (p *Project) FindAnnounced(ctx context.Context, call string, used func(id string) bool) (found Announced, hooked bool, err error) {
	if p.HostProcess == nil {
		return found, false, nil
	}
	host := p.HostProcess()
	all, err := Read(ctx, p, func(tx Tx) ([]Announced, error) { return recordAnnounced.Of(tx, announcedCalls) })
	for _, a := range all {
		if a.Process != host || host == (Process{}) || a.At+announcedFor < p.Now() {
			continue
		}
		hooked = true
		if a.Call == call && !used(a.ID) {
			return a, true, err
		}
	}
	return found, hooked, err
}
