package server

import (
	"cmp"
	"fmt"
	"strings"

	"flame/hub"
)

// The names of accounts. Each project has one of its own: the server keeps accounts apart
// entirely, so that a machine cannot reach another project even by way of a stream or a
// consumer that it configures.
const (
	hubAccount    = "hub"    // of `flame hub` itself, and of those who were invited
	projectPrefix = "flame_" // of a project's account
)

// Subjects of requests to `flame hub`. The last token is the public key of who asks; the
// server lets nobody else publish there.
const (
	joinSubject  = "flame.join."
	leaveSubject = "flame.leave."
)

// Limits of the server.
const (
	maxPayload = "8MB" // of a message; a frame with large results has to fit
	// Nothing of flame's is kept in memory.
	maxMemoryStore = "64MB"
)

// What a project may keep on the server's disk, in bytes. The server refuses all writes to
// one that has it all, and the others go on.
const (
	DefaultSpace = 5 << 30
	LeastSpace   = 100 << 20
	MostSpace    = 100 << 40
)

// The parts of a project on the server.
var (
	buckets = []string{"tree", "claims", "machines", "runs", "orders"}
	streams = []string{"JOBS", "LOGS"}
)

// A configuration is what the server's file is made from.
type configuration struct {
	Dir    string // the hub's folder: absolute, and fit for a quoted string
	Listen string
	Admin  string // public key of `flame hub`
	Ledger ledger
}

// text returns the server's configuration.
func (c configuration) text() string {
	var b strings.Builder
	b.WriteString("# Written by `flame hub` from machines.json; changes are overwritten.\n")
	fmt.Fprintf(&b, "server_name: flame-hub\nlisten: %q\nmax_payload: %s\n", c.Listen, maxPayload)
	fmt.Fprintf(&b, "log_file: %q\nlogfile_size_limit: 10MB\nlogfile_max_num: 3\n", c.Dir+"/"+logName)
	fmt.Fprintf(&b, "tls { cert_file: %q, key_file: %q, min_version: \"1.3\", timeout: 5 }\n", c.Dir+"/"+certName, c.Dir+"/"+keyName)
	// The server sets aside what its accounts may have. That there is enough for as many as
	// can come keeps it from refusing one that is added while it runs.
	space := cmp.Or(c.Ledger.Space, DefaultSpace)
	b.WriteString("# Without \"always\", a power cut loses what was acknowledged in the last two minutes.\n")
	fmt.Fprintf(&b, "jetstream { store_dir: %q, sync_interval: always, max_file_store: %d, max_memory_store: %s }\n", c.Dir, maxProjects*space, maxMemoryStore)
	b.WriteString("accounts {\n")
	fmt.Fprintf(&b, "  %s {\n    exports: [ { service: %q } ]\n    users: [\n      { nkey: %s }\n", hubAccount, leaveSubject+"*", c.Admin)
	for _, i := range c.Ledger.Invites {
		writeUser(&b, i.Key, []string{joinSubject + i.Key}, hub.InboxOf(i.Key)+".>")
	}
	b.WriteString("    ]\n  }\n")
	for _, p := range c.Ledger.Projects {
		fmt.Fprintf(&b, "  %s {\n    jetstream { max_file: %d }\n", projectPrefix+p, space)
		fmt.Fprintf(&b, "    imports: [ { service: { account: %s, subject: %q } } ]\n    users: [\n", hubAccount, leaveSubject+"*")
		for _, m := range c.Ledger.Machines {
			if m.Project == p {
				writeUser(&b, m.Key, append(subjectsOf(p), leaveSubject+m.Key), hub.InboxOf(m.ID)+".>")
			}
		}
		b.WriteString("    ]\n  }\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// writeUser writes a user who may publish and subscribe to these subjects alone.
func writeUser(b *strings.Builder, key string, publish []string, subscribe string) {
	fmt.Fprintf(b, "      { nkey: %s, permissions: {\n          publish: { allow: [", key)
	for i, subject := range publish {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, "%q", subject)
	}
	fmt.Fprintf(b, "] }\n          subscribe: { allow: [%q] }\n      } }\n", subscribe)
}

// subjectsOf returns what a machine of a project may publish to. It may make the streams of
// its project, and read and write them. That it may not change or delete them keeps it from
// doing so by mistake: the server's answers go wherever who asks wants them to go, and a
// message may be one that replaces all others.
func subjectsOf(project string) (subjects []string) {
	subjects = []string{"$JS.API.INFO", "$JS.ACK.>", "$JS.FC.>"}
	var names []string
	for _, bucket := range buckets {
		name := "flame_" + project + "_" + bucket
		names = append(names, "KV_"+name)
		subjects = append(subjects, "$KV."+name+".>")
	}
	for _, stream := range streams {
		names = append(names, "FLAME_"+project+"_"+stream)
		subjects = append(subjects, "$JS.API.CONSUMER.MSG.NEXT.FLAME_"+project+"_"+stream+".*")
	}
	files := "flame_" + project + "_files"
	names = append(names, "OBJ_"+files)
	subjects = append(subjects, "flame."+project+".job.>", "flame."+project+".log.>", "$O."+files+".>",
		"$JS.API.STREAM.MSG.DELETE.FLAME_"+project+"_JOBS", // a job that is cancelled; whoever takes one may remove it anyway
		"$JS.API.STREAM.PURGE.OBJ_"+files)                  // the parts of a file that is removed
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
