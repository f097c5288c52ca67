package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"flame/core"
	"flame/core/merge"
	"flame/flame-hub/client"
	"flame/hub"
)

// A ledger is the lasting state of a hub, kept in its folder as machines.json.
type ledger struct {
	Version  int       `json:"version"`
	Listen   string    `json:"listen"`   // host:port where the hub listened last
	Space    int64     `json:"space"`    // of each project on the disk, in bytes; 0: DefaultSpace
	Projects []string  `json:"projects"` // even after all machines have left: the data stays
	Machines []Machine `json:"machines"`
	Invites  []invite  `json:"invites"` // that can still be used
}

// ledgerVersion is the version of the ledgers that this flame reads and writes.
const ledgerVersion = 1

// A Machine is a machine that may connect to one project.
type Machine struct {
	Key      string      `json:"key"` // its public nkey
	ID       string      `json:"id"`  // unique within its project
	Project  string      `json:"project"`
	JoinedAt core.Millis `json:"joinedAt"`
}

// An invite is an invitation: it lets one machine join a project until it expires.
type invite struct {
	Key     string      `json:"key"` // a public nkey; the seed is in the line that `flame hub invite` printed
	Project string      `json:"project"`
	Expires core.Millis `json:"expires"`
}

// Bounds of a ledger. The server's configuration contains all of it.
const (
	maxName     = 64 // characters of a name or key in an error
	maxProjects = 1000
	maxMachines = 5000
	maxInvites  = 1000
)

// ValidProject returns an error if name cannot be the name of a project on a hub.
func ValidProject(name string) error {
	if !hub.IsName(name, hub.MaxProject) {
		return core.Invalidf("%q cannot be a project on a hub", core.OneLine(name, maxName)).
			WithHint("use letters, digits, - and _, at most %d", hub.MaxProject)
	}
	return nil
}

// parseLedger reads and checks a ledger.
func parseLedger(text []byte) (l ledger, err error) {
	if err := json.Unmarshal(text, &l); err != nil {
		return l, err
	}
	if l.Version != ledgerVersion {
		return l, core.Invalidf("it has version %d, and this flame knows version %d", l.Version, ledgerVersion)
	}
	return l, l.check()
}

// check returns an error if a server would refuse the configuration of a ledger, or could take
// a part of it for something else.
func (l *ledger) check() error {
	if l.Space < 0 || l.Space > MostSpace {
		return core.Invalidf("%d bytes cannot be the space of a project", l.Space)
	}
	for _, list := range []struct {
		of         string
		have, most int
	}{{"projects", len(l.Projects), maxProjects}, {"machines", len(l.Machines), maxMachines}, {"open invitations", len(l.Invites), maxInvites}} {
		if list.have > list.most {
			return core.Invalidf("the hub has %d %s, and the limit is %d", list.have, list.of, list.most)
		}
	}
	projects, machines, owners := map[string]string{}, map[string]bool{}, map[string]string{}
	for _, p := range l.Projects {
		if err := ValidProject(p); err != nil {
			return err
		}
		// The server keeps each project in a folder; some file systems ignore case.
		switch before := projects[strings.ToLower(p)]; before {
		case "":
		case p:
			return core.Invalidf("the hub has the project %s twice", p)
		default:
			return core.Invalidf("the project %s differs from %s in case alone", p, before).WithHint("use that name, or another")
		}
		projects[strings.ToLower(p)] = p
	}
	own := func(key, project, owner string) error {
		if before := owners[key]; before != "" {
			return core.Invalidf("%s and %s have the same key", before, owner)
		}
		owners[key] = owner
		return l.fits(key, project)
	}
	for _, m := range l.Machines {
		if !merge.ValidMachine(m.ID) {
			return core.Invalidf("%q cannot be a machine on a hub", core.OneLine(m.ID, maxName))
		}
		name := m.Project + "/" + m.ID
		if machines[name] {
			return core.Invalidf("the project %s has a machine %s already", m.Project, m.ID).
				WithHint("if it was this one, `flame hub machines --remove %s` where the hub runs; if its data were copied from another: --new-id", m.ID)
		}
		machines[name] = true
		if err := own(m.Key, m.Project, name); err != nil {
			return err
		}
	}
	for _, i := range l.Invites {
		if err := own(i.Key, i.Project, "an invitation to "+i.Project); err != nil {
			return err
		}
	}
	return nil
}

// fits returns an error unless key is a public key and the ledger has the project.
func (l *ledger) fits(key, project string) error {
	if !nkeys.IsValidPublicUserKey(key) {
		return core.Invalidf("%q is not a public key", core.OneLine(key, maxName))
	}
	if !slices.Contains(l.Projects, project) {
		return core.Invalidf("unknown project %q", core.OneLine(project, maxName))
	}
	return nil
}

// invite adds an invitation, and its project if the ledger does not have it.
func (l *ledger) invite(i invite) error {
	if !slices.Contains(l.Projects, i.Project) {
		l.Projects = append(l.Projects, i.Project)
	}
	l.Invites = append(l.Invites, i)
	return nil
}

// accept uses up the invitation with a key, and adds the machine to its project.
func (l *ledger) accept(invitation string, m Machine) error {
	at := slices.IndexFunc(l.Invites, func(i invite) bool { return i.Key == invitation })
	if at < 0 {
		return core.Invalidf("this invitation was already used, or belongs to another hub").WithHint("ask for another: `flame hub invite`")
	}
	by := l.Invites[at]
	if m.JoinedAt >= by.Expires {
		return core.Invalidf("this invitation has expired").WithHint("ask for another: `flame hub invite`")
	}
	if m.Key == invitation {
		return core.Invalidf("a machine needs a key of its own")
	}
	m.Project = by.Project
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

// newKey makes an nkey and returns its private and its public half.
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

// The names of accounts. Each project has one of its own: the server keeps accounts apart
// entirely, so that a machine cannot reach another project even with a stream or a consumer
// that it configures.
const (
	hubAccount    = "hub"    // of `flame hub` itself, and of invited machines
	systemAccount = "system" // by which `flame hub` has the server read its configuration again
	projectPrefix = "flame_" // of a project's account
)

// Subjects of requests to `flame hub`. The last token is the public key of the sender; the
// server lets no other key publish there.
const (
	joinSubject  = "flame.join."
	leaveSubject = "flame.leave."
)

// reloadSubject is where the server, whose id it names, takes requests to read its
// configuration again.
const reloadSubject = "$SYS.REQ.SERVER.%s.RELOAD"

// Limits of the server.
const (
	maxPayload = "8MB" // of a message; a frame with large results has to fit
	// Nothing of flame's is kept in memory.
	maxMemoryStore = "64MB"
)

// The space of a project on the server's disk, in bytes. The server refuses writes to a
// project that has used it up; other projects are not affected.
const (
	DefaultSpace = 5 << 30
	LeastSpace   = 100 << 20
	MostSpace    = 100 << 40
)

// buckets are the buckets of a project on the server.
var buckets = []string{"tree", "claims", "machines", "runs", "orders"}

// text returns the server's configuration for a ledger. The hub's folder is fit for a quoted
// string.
func (r *running) text(l ledger) (string, error) {
	admin, err := client.PublicOf(r.admin.Seed)
	if err != nil {
		return "", err
	}
	system, err := client.PublicOf(r.system.Seed)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("# Written by `flame hub` from machines.json; changes are overwritten.\n")
	fmt.Fprintf(&b, "server_name: flame-hub\nlisten: %q\nmax_payload: %s\n", r.Listen, maxPayload)
	fmt.Fprintf(&b, "log_file: %q\nlogfile_size_limit: 10MB\nlogfile_max_num: 3\n", r.Folder.file(logName))
	fmt.Fprintf(&b, "tls { cert_file: %q, key_file: %q, min_version: \"1.3\", timeout: 5 }\n", r.Folder.file(certName), r.Folder.file(keyName))
	// The server reserves the space of its accounts. There is enough for maxProjects, so that it
	// never refuses an account that is added while it runs.
	space := cmp.Or(l.Space, DefaultSpace)
	b.WriteString("# Without \"always\", a power cut loses what was acknowledged in the last two minutes.\n")
	fmt.Fprintf(&b, "jetstream { store_dir: %q, sync_interval: always, max_file_store: %d, max_memory_store: %s }\n",
		r.Folder.Path, maxProjects*space, maxMemoryStore)
	fmt.Fprintf(&b, "system_account: %s\naccounts {\n  %s {\n    users: [\n", systemAccount, systemAccount)
	writeUser(&b, system, []string{fmt.Sprintf(reloadSubject, "*")}, client.InboxOf(system)+".>")
	b.WriteString("    ]\n  }\n")
	fmt.Fprintf(&b, "  %s {\n    exports: [ { service: %q } ]\n    users: [\n      { nkey: %s }\n", hubAccount, leaveSubject+"*", admin)
	for _, i := range l.Invites {
		writeUser(&b, i.Key, []string{joinSubject + i.Key}, client.InboxOf(i.Key)+".>")
	}
	b.WriteString("    ]\n  }\n")
	for _, p := range l.Projects {
		fmt.Fprintf(&b, "  %s {\n    jetstream { max_file: %d }\n", projectPrefix+p, space)
		fmt.Fprintf(&b, "    imports: [ { service: { account: %s, subject: %q } } ]\n    users: [\n", hubAccount, leaveSubject+"*")
		for _, m := range l.Machines {
			if m.Project == p {
				writeUser(&b, m.Key, append(subjectsOf(p), leaveSubject+m.Key), client.InboxOf(m.ID)+".>")
			}
		}
		b.WriteString("    ]\n  }\n")
	}
	b.WriteString("}\n")
	return b.String(), nil
}

// writeUser writes a user who may publish and subscribe to these subjects alone.
func writeUser(b *strings.Builder, key string, publish []string, subscribe string) {
	fmt.Fprintf(b, "      { nkey: %s, permissions: { publish: { allow: [", key)
	for _, subject := range publish {
		fmt.Fprintf(b, "%q,", subject)
	}
	fmt.Fprintf(b, "] }, subscribe: { allow: [%q] } } }\n", subscribe)
}

// subjectsOf returns the subjects to which a machine of a project may publish. It may make,
// read and write the streams of its project. That it may not change or delete them guards
// against mistakes only: a sender chooses where the server's answers go, and a message may be
// one that replaces all others.
func subjectsOf(project string) (subjects []string) {
	subjects = []string{"$JS.API.INFO", "$JS.ACK.>", "$JS.FC.>"}
	var names []string
	for _, bucket := range buckets {
		name := "flame_" + project + "_" + bucket
		names = append(names, "KV_"+name)
		subjects = append(subjects, "$KV."+name+".>")
	}
	jobs, files := "FLAME_"+project+"_JOBS", "flame_"+project+"_files"
	names = append(names, jobs, "OBJ_"+files)
	subjects = append(subjects, "$JS.API.CONSUMER.MSG.NEXT."+jobs+".*", "flame."+project+".job.>", "$O."+files+".>",
		"$JS.API.STREAM.MSG.DELETE."+jobs, // of a cancelled job; its worker may remove a job anyway
		"$JS.API.STREAM.PURGE.OBJ_"+files) // the parts of a file that is removed
	for _, name := range names {
		for _, operation := range []string{
			"STREAM.INFO.%s", "STREAM.CREATE.%s", "STREAM.MSG.GET.%s", "DIRECT.GET.%s", "DIRECT.GET.%s.>",
			"CONSUMER.CREATE.%s", "CONSUMER.CREATE.%s.>", "CONSUMER.INFO.%s.*", "CONSUMER.DELETE.%s.*",
		} {
			subjects = append(subjects, "$JS.API."+fmt.Sprintf(operation, name))
		}
	}
	return subjects
}
