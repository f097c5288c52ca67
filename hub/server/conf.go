package server

import (
	"cmp"
	"fmt"
	"strings"

	"flame/hub"
)

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
	admin, err := hub.PublicOf(r.admin.Seed)
	if err != nil {
		return "", err
	}
	system, err := hub.PublicOf(r.system.Seed)
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
	writeUser(&b, system, []string{fmt.Sprintf(reloadSubject, "*")}, hub.InboxOf(system)+".>")
	b.WriteString("    ]\n  }\n")
	fmt.Fprintf(&b, "  %s {\n    exports: [ { service: %q } ]\n    users: [\n      { nkey: %s }\n", hubAccount, leaveSubject+"*", admin)
	for _, i := range l.Invites {
		writeUser(&b, i.Key, []string{joinSubject + i.Key}, hub.InboxOf(i.Key)+".>")
	}
	b.WriteString("    ]\n  }\n")
	for _, p := range l.Projects {
		fmt.Fprintf(&b, "  %s {\n    jetstream { max_file: %d }\n", projectPrefix+p, space)
		fmt.Fprintf(&b, "    imports: [ { service: { account: %s, subject: %q } } ]\n    users: [\n", hubAccount, leaveSubject+"*")
		for _, m := range l.Machines {
			if m.Project == p {
				writeUser(&b, m.Key, append(subjectsOf(p), leaveSubject+m.Key), hub.InboxOf(m.ID)+".>")
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
