package project

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"

	"flame/core"
)

// recordAnnounced, by process of a host, lists the calls that its hooks announced and no server has
// taken yet, oldest first.
const recordAnnounced RecordKind[announcements] = "source.announcements"

// Announcements are those of one process of a host. They stay, without calls, so that a server knows
// that hooks announce its calls.
type announcements struct {
	Calls []AnnouncedCall `json:"calls"`
	At    core.Millis     `json:"at"` // of the last one
}

// An AnnouncedCall is a call of one of flame's tools, of which a hook said who makes it: not every
// host says so in the call itself.
type AnnouncedCall struct {
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

// id returns the process as the id of a record.
func (p Process) id() string { return fmt.Sprint(p.PID, " ", p.Started) }

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
	host := p.announcer()
	if host == (Process{}) { // the call is over
		return nil
	}
	made := AnnouncedCall{Call: call, At: p.Now()}
	if !unsure {
		made.Session, made.Parent = by.Session, by.Parent
	}
	return p.Store.Update(ctx, func(tx Tx) error {
		if err := recordAnnounced.Forget(tx, func(a announcements) bool { return a.At+Day < made.At }); err != nil {
			return err
		}
		return recordAnnounced.Change(tx, host.id(), func(a *announcements) {
			a.Calls = slices.DeleteFunc(append(a.Calls, made), func(a AnnouncedCall) bool { return a.At+announcedFor < made.At })
			a.Calls, a.At = a.Calls[max(0, len(a.Calls)-maxAnnounced):], made.At
		})
	})
}

// TakeAnnounced returns an announcement of a call by this process's host, which is then taken; nil if
// no hook announced it. If several agents announced the same call, all these are taken, and the one
// returned names nobody: a call that the user refused never comes, but its announcement waits. hooked
// reports whether hooks announce the calls of that host.
func (p *Project) TakeAnnounced(ctx context.Context, call string) (found *AnnouncedCall, hooked bool, err error) {
	host := p.announcer()
	if host == (Process{}) {
		return nil, false, nil
	}
	err = p.Store.Run(ctx, func(tx Tx) error {
		found = nil
		var a announcements
		if a, hooked, err = recordAnnounced.Get(tx, host.id()); err != nil {
			return err
		}
		now := p.Now()
		same := func(a AnnouncedCall) bool { return a.Call == call && a.At+announcedFor >= now }
		i := slices.IndexFunc(a.Calls, same)
		if i < 0 {
			return nil
		}
		found = new(a.Calls[i])
		if slices.ContainsFunc(a.Calls, func(a AnnouncedCall) bool { return same(a) && a.Session != found.Session }) {
			a.Calls, found.Session = slices.DeleteFunc(a.Calls, same), ""
		} else {
			a.Calls = slices.Delete(a.Calls, i, i+1)
		}
		return recordAnnounced.Save(tx, host.id(), a)
	})
	return found, hooked, err
}

// announcer returns the process of the host, which its hooks and its servers share; zero if it is not
// known.
func (p *Project) announcer() (host Process) {
	if p.HostProcess != nil {
		host = p.HostProcess()
	}
	return host
}
