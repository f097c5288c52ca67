package server

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"flame/core"
	"flame/core/merge"
	"flame/hub"
)

// A ledger is what a hub must not forget, kept in its folder as machines.json.
type ledger struct {
	Version  int       `json:"version"`
	Listen   string    `json:"listen"`   // host:port where the hub listened last
	Space    int64     `json:"space"`    // what each project may have on the disk, in bytes; 0: DefaultSpace
	Projects []string  `json:"projects"` // also those that all machines have left: their data stays
	Machines []Machine `json:"machines"`
	Invites  []invite  `json:"invites"` // those that can still be used
}

// ledgerVersion is the version of ledgers that this flame writes.
const ledgerVersion = 1

// A Machine may connect, to one project.
type Machine struct {
	Key      string      `json:"key"` // its public nkey
	ID       string      `json:"id"`  // unique within its project
	Project  string      `json:"project"`
	JoinedAt core.Millis `json:"joinedAt"`
}

// An invite lets one machine join a project, until it expires.
type invite struct {
	Key     string      `json:"key"` // a public nkey; the seed is in the line that was printed
	Project string      `json:"project"`
	Expires core.Millis `json:"expires"`
}

// Bounds of a ledger. All of it is in the server's configuration.
const (
	maxName     = 64 // characters that are shown of a name or key
	maxProjects = 1000
	maxMachines = 5000
	maxInvites  = 1000
)

// ValidProject returns an error if name cannot be the name of a project on a hub.
func ValidProject(name string) error {
	if !hub.IsProject(name) {
		return core.Invalidf("%q cannot be a project on a hub", core.OneLine(name, maxName)).
			WithHint("use letters, digits, - and _, at most %d", hub.MaxProject)
	}
	return nil
}

// validMachine returns an error if id cannot be the id of a machine.
func validMachine(id string) error {
	if !merge.ValidMachine(id) {
		return core.Invalidf("%q cannot be a machine on a hub", core.OneLine(id, maxName))
	}
	return nil
}

// parseLedger reads and checks a ledger: its content goes into the configuration of a
// server.
func parseLedger(text []byte) (l ledger, err error) {
	if err := json.Unmarshal(text, &l); err != nil {
		return l, err
	}
	if l.Version != ledgerVersion {
		return l, core.Invalidf("it has version %d, and this flame knows version %d", l.Version, ledgerVersion)
	}
	if l.Space < 0 || l.Space > MostSpace {
		return l, core.Invalidf("%d bytes cannot be the space of a project", l.Space)
	}
	if len(l.Projects) > maxProjects {
		return l, core.Invalidf("it has %d projects, and the limit is %d", len(l.Projects), maxProjects)
	}
	for _, p := range l.Projects {
		if err := ValidProject(p); err != nil {
			return l, err
		}
	}
	for _, m := range l.Machines {
		if err := l.fits(m.Key, m.Project); err != nil {
			return l, err
		}
		if err := validMachine(m.ID); err != nil {
			return l, err
		}
	}
	for _, i := range l.Invites {
		if err := l.fits(i.Key, i.Project); err != nil {
			return l, err
		}
	}
	return l, l.unique()
}

// unique returns an error if something is in a valid ledger twice: a server takes no such
// configuration.
func (l *ledger) unique() error {
	projects, machines, keys := map[string]string{}, map[string]bool{}, map[string]string{}
	for _, p := range l.Projects {
		switch before := projects[strings.ToLower(p)]; before {
		case "":
		case p:
			return core.Invalidf("it has the project %s twice", p)
		default:
			return core.Invalidf("the project %s differs from %s in case alone", p, before)
		}
		projects[strings.ToLower(p)] = p
	}
	for _, m := range l.Machines {
		name := m.Project + "/" + m.ID
		if machines[name] {
			return core.Invalidf("it has two machines %s", name)
		}
		if before := keys[m.Key]; before != "" {
			return core.Invalidf("the machines %s and %s have the same key", before, name)
		}
		machines[name], keys[m.Key] = true, name
	}
	invites := map[string]bool{}
	for _, i := range l.Invites {
		if owner := keys[i.Key]; owner != "" {
			return core.Invalidf("an invitation to %s has the key of %s", i.Project, owner)
		}
		if invites[i.Key] {
			return core.Invalidf("two invitations to %s have the same key", i.Project)
		}
		invites[i.Key] = true
	}
	return nil
}

// fits returns an error unless key is a public key and the ledger has the project.
func (l *ledger) fits(key, project string) error {
	if !nkeys.IsValidPublicUserKey(key) {
		return core.Invalidf("%q is no public key", core.OneLine(key, maxName))
	}
	if !slices.Contains(l.Projects, project) {
		return core.Invalidf("there is no project %q", core.OneLine(project, maxName))
	}
	return nil
}

// invite adds an invitation to a project, which it adds as well if need be.
func (l *ledger) invite(i invite) error {
	if err := ValidProject(i.Project); err != nil {
		return err
	}
	for _, p := range l.Projects {
		// The server keeps each project in a folder; some file systems know no case.
		if p != i.Project && strings.EqualFold(p, i.Project) {
			return core.Invalidf("the hub has a project %s, which differs from %s in case alone", p, i.Project).WithHint("use that name, or another")
		}
	}
	if !slices.Contains(l.Projects, i.Project) {
		l.Projects = append(l.Projects, i.Project)
	}
	if len(l.Invites) >= maxInvites || len(l.Projects) > maxProjects {
		return core.Invalidf("the hub has %d open invitations and %d projects, which is the limit", len(l.Invites), len(l.Projects))
	}
	l.Invites = append(l.Invites, i)
	return l.fits(i.Key, i.Project)
}

// accept uses up the invitation with a key, and adds the machine to its project.
func (l *ledger) accept(invitation string, m Machine) error {
	at := slices.IndexFunc(l.Invites, func(i invite) bool { return i.Key == invitation })
	if at < 0 {
		return core.Invalidf("this invitation was used already, or is not of this hub").WithHint("ask for another: `flame hub invite`")
	}
	by := l.Invites[at]
	if m.JoinedAt >= by.Expires {
		return core.Invalidf("this invitation has expired").WithHint("ask for another: `flame hub invite`")
	}
	m.Project = by.Project
	if err := validMachine(m.ID); err != nil {
		return err
	}
	if err := l.fits(m.Key, m.Project); err != nil {
		return err
	}
	if slices.ContainsFunc(l.Machines, func(o Machine) bool { return o.Key == m.Key || o.Project == m.Project && o.ID == m.ID }) {
		return core.Invalidf("the project %s has a machine %s already", m.Project, m.ID).
			WithHint("if it was this one, `flame hub remove %s` where the hub runs; if its data were copied from another: --new-id", m.ID)
	}
	if slices.ContainsFunc(l.Invites, func(i invite) bool { return i.Key == m.Key }) {
		return core.Invalidf("a machine needs a key of its own")
	}
	if len(l.Machines) >= maxMachines {
		return core.Invalidf("the hub has %d machines, which is the limit", len(l.Machines))
	}
	l.Invites = slices.Delete(l.Invites, at, at+1)
	l.Machines = append(l.Machines, m)
	return nil
}

// remove removes the machines that match.
func (l *ledger) remove(match func(Machine) bool) (removed []Machine) {
	l.Machines = slices.DeleteFunc(l.Machines, func(m Machine) bool {
		if match(m) {
			removed = append(removed, m)
			return true
		}
		return false
	})
	return removed
}

// expire removes the invitations that can no longer be used.
func (l *ledger) expire(now time.Time) {
	l.Invites = slices.DeleteFunc(l.Invites, func(i invite) bool { return core.MillisOf(now) >= i.Expires })
}

// newKey makes an nkey: its private half, and the public one by which a server knows it.
func newKey() (seed, public string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", "", err
	}
	private, err := pair.Seed()
	if err != nil {
		return "", "", err
	}
	public, err = pair.PublicKey()
	return string(private), public, err
}
