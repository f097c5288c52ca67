package server

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/flame-hub/client"
	"flame/flame-hub/queue"
	"flame/hub"
)

// patience is how long tests wait for what comes at once.
const patience = 30 * time.Second

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A rig is a hub's folder, and a server in this process that reads its configuration.
type rig struct {
	*testing.T
	ctx    context.Context
	folder Folder
	admin  client.Identity
	run    *running
	server *natsserver.Server
}

// newRig returns the rig of a hub with these invitations, by project.
func newRig(t *testing.T, projects ...string) (*rig, []Invitation) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(stop)
	g := &rig{T: t, ctx: ctx, folder: Folder{Path: filepath.Join(t.TempDir(), "hub"), Temporary: true}}
	require.NoError(t, g.folder.prepare())
	pin, err := g.folder.certificate(start)
	require.NoError(t, err)
	seed, public, err := newKey()
	require.NoError(t, err)
	system, systems, err := newKey()
	require.NoError(t, err)
	listen, err := freePort("127.0.0.1:0")
	require.NoError(t, err)
	_, err = g.folder.edit(ctx, func(l *ledger) error { l.Listen = listen; return nil })
	require.NoError(t, err)
	var invitations []Invitation
	for _, p := range projects {
		invitations = append(invitations, g.invite(p))
	}
	g.run = &running{
		Hub: Hub{Folder: g.folder, Listen: listen, Now: func() time.Time { return start }, Say: func(text string) { t.Log(text) }},
	}
	g.admin = client.Identity{URL: "tls://" + listen, Seed: seed, Pin: pin, Inbox: client.InboxOf(public)}
	g.run.admin, g.run.system = g.admin, client.Identity{URL: g.admin.URL, Seed: system, Pin: pin, Inbox: client.InboxOf(systems)}
	g.start()
	t.Cleanup(g.stop)
	return g, invitations
}

// start starts the server.
func (g *rig) start() {
	var err error
	g.server, err = natsserver.NewServer(g.options())
	require.NoError(g, err)
	g.server.Start()
	require.True(g, g.server.ReadyForConnections(patience))
}

func (g *rig) stop() { g.server.Shutdown(); g.server.WaitForShutdown() }

// restart has the server begin anew with what it has on its disk.
func (g *rig) restart() {
	g.stop()
	g.start()
}

// options writes the configuration and reads it as a server does.
func (g *rig) options() *natsserver.Options {
	l, err := g.folder.load()
	require.NoError(g, err)
	text, err := g.run.text(l)
	require.NoError(g, err)
	require.NoError(g, g.folder.write(confName, []byte(text)))
	opts, err := natsserver.ProcessConfigFile(g.folder.file(confName))
	require.NoError(g, err)
	opts.NoSigs, opts.NoLog = true, true
	return opts
}

// reload has the server read its configuration again.
func (g *rig) reload() {
	require.NoError(g, g.server.ReloadOptions(g.options()))
}

func (g *rig) invite(project string) Invitation {
	i, err := g.folder.Invite(g.ctx, InviteOptions{Project: project, For: time.Hour}, start)
	require.NoError(g, err)
	return i
}

// serve answers machines as `flame hub` does.
func (g *rig) serve() {
	conn, err := g.admin.Dial(g.ctx)
	require.NoError(g, err)
	g.Cleanup(conn.Close)
	g.run.conn = conn
	requests, err := requestsTo(conn)
	require.NoError(g, err)
	go func() {
		for {
			select {
			case m := <-requests:
				g.run.answer(g.ctx, m)
			case <-g.ctx.Done():
				return
			}
		}
	}()
}

// join has a machine join, and returns its link.
func (g *rig) join(i Invitation, machine string) hub.Link {
	link, err := i.Accept(g.ctx, machine, core.MillisOf(start))
	require.NoError(g, err)
	g.reload()
	return link
}

// A visitor is a machine's connection, with what the server refused.
type visitor struct {
	*nats.Conn
	jetstream.JetStream
	refused chan error
}

func (g *rig) connect(link hub.Link) visitor {
	c := visitor{refused: make(chan error, 100)}
	var err error
	c.Conn, err = client.IdentityOf(link).Dial(g.ctx,
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.refused <- err }))
	require.NoError(g, err)
	g.Cleanup(c.Close)
	c.JetStream, err = jetstream.New(c.Conn)
	require.NoError(g, err)
	return c
}

// refuses requires that the server refuses what f does, for its subject.
func (c visitor) refuses(t *testing.T, what, subject string, f func(context.Context)) {
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); f(ctx) }()
	for refused, late := false, time.After(patience); !refused; {
		select {
		case err := <-c.refused:
			refused = errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), strconv.Quote(subject))
		case <-late:
			assert.Fail(t, "not refused", what)
			refused = true
		}
	}
	stop()
	<-done
}

func bucketOf(name string) jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{Bucket: name, History: 1, Storage: jetstream.FileStorage, LimitMarkerTTL: time.Minute}
}

func TestMachinesWorkForEachOther(t *testing.T) {
	g, lines := newRig(t, "blue", "blue", "blue")
	g.serve()
	open := func(i Invitation, machine string) *queue.Queue {
		conn, err := client.Connect(g.ctx, g.join(i, machine))
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		claims, err := conn.Claims(g.ctx)
		require.NoError(t, err)
		require.NoError(t, claims.Claim(g.ctx, "frame-of-"+machine))
		q, err := queue.Open(g.ctx, conn)
		require.NoError(t, err)
		q.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
		return q
	}
	desk, couch := open(lines[0], "desk"), open(lines[1], "couch")
	body := json.RawMessage(`{}`)
	for _, id := range []string{"job-1", "job-2"} {
		require.NoError(t, desk.Submit(g.ctx, queue.Job{ID: id, Queue: "gpu", Body: body}))
	}
	require.NoError(t, desk.Order(g.ctx, "job-1", queue.Command{Cancel: true}))
	lease, job, err := couch.Claim(g.ctx, "gpu")
	require.NoError(t, err)
	assert.Equal(t, "job-2", job.ID)
	require.NoError(t, desk.Order(g.ctx, "job-2", queue.Command{Cancel: true}))
	o, err := couch.SendHeartbeat(g.ctx, &lease, body)
	require.NoError(t, err)
	assert.True(t, o.Cancel)
	require.NoError(t, couch.PutObject(g.ctx, "changes", strings.NewReader(strings.Repeat("x", 300_000))))
	require.NoError(t, couch.PutObject(g.ctx, "changes", strings.NewReader("a patch")))
	require.NoError(t, couch.Finish(g.ctx, &lease, body))
	require.NoError(t, desk.Follow(g.ctx, "job-2", func(run queue.JobRecord) error { assert.Equal(t, queue.Ended, run.State); return nil }))
	var got strings.Builder
	require.NoError(t, desk.Object(g.ctx, "changes", &got, 100))
	assert.Equal(t, "a patch", got.String())
	info, err := g.connect(g.join(lines[2], "sofa")).Stream(g.ctx, "FLAME_blue_JOBS")
	require.NoError(t, err)
	assert.Zero(t, info.CachedInfo().State.Msgs, "cancelled jobs were removed")
}

func TestAMachineReachesNothingOutsideItsProject(t *testing.T) {
	g, lines := newRig(t, "blue", "blue", "red")
	g.serve()
	desk, other, foreign := g.join(lines[0], "desk"), g.join(lines[1], "couch"), g.join(lines[2], "desk")
	theirs, err := g.connect(foreign).CreateKeyValue(g.ctx, bucketOf("flame_red_tree"))
	require.NoError(t, err)
	_, err = theirs.Create(g.ctx, "frame-1", []byte("red"))
	require.NoError(t, err)
	c := g.connect(desk)
	ours, err := c.CreateKeyValue(g.ctx, bucketOf("flame_blue_tree"))
	require.NoError(t, err)
	_, err = ours.Create(g.ctx, "frame-1", []byte("blue"))
	require.NoError(t, err)
	for what, tt := range map[string]struct {
		subject string
		f       func(context.Context) // nil: a message to the subject
	}{
		"read a foreign project": {"$JS.API.STREAM.INFO.KV_flame_red_tree", func(ctx context.Context) { _, _ = c.KeyValue(ctx, "flame_red_tree") }},
		"make a foreign bucket": {"$JS.API.STREAM.CREATE.KV_flame_red_runs", func(ctx context.Context) {
			_, _ = c.CreateKeyValue(ctx, bucketOf("flame_red_runs"))
		}},
		"make another bucket": {"$JS.API.STREAM.CREATE.KV_mine", func(ctx context.Context) { _, _ = c.CreateKeyValue(ctx, bucketOf("mine")) }},
		"delete its bucket":   {"$JS.API.STREAM.DELETE.KV_flame_blue_tree", func(ctx context.Context) { _ = c.DeleteKeyValue(ctx, "flame_blue_tree") }},
		"change its bucket": {"$JS.API.STREAM.UPDATE.KV_flame_blue_tree", func(ctx context.Context) {
			_, _ = c.UpdateKeyValue(ctx, bucketOf("flame_blue_tree"))
		}},
		"write a foreign project": {"$KV.flame_red_tree.frame-1", nil},
		"purge its stream":        {"$JS.API.STREAM.PURGE.KV_flame_blue_tree", nil},
		"delete a message":        {"$JS.API.STREAM.MSG.DELETE.KV_flame_blue_tree", nil},
		"restore a stream":        {"$JS.API.STREAM.RESTORE.KV_flame_blue_tree", nil},
		"list streams":            {"$JS.API.STREAM.LIST", nil},
		"answer for another":      {client.InboxOf(other.Machine) + ".x", nil},
		"invite":                  {joinSubject + "X", nil},
		"remove another machine":  {leaveSubject + publicOf(t, other.Seed), nil},
		"read another's answers": {client.InboxOf(other.Machine) + ".>", func(context.Context) {
			_, _ = c.SubscribeSync(client.InboxOf(other.Machine) + ".>")
		}},
		"read all":                {">", func(context.Context) { _, _ = c.SubscribeSync(">") }},
		"read the bucket past it": {"$KV.>", func(context.Context) { _, _ = c.SubscribeSync("$KV.>") }},
	} {
		if tt.f == nil {
			tt.f = func(context.Context) { assert.NoError(t, c.Conn.Publish(tt.subject, nil)) }
		}
		c.refuses(t, what, tt.subject, tt.f)
	}
	// A stream that copies is within what a machine may make, but sees its own project alone.
	_, err = c.CreateStream(g.ctx, jetstream.StreamConfig{Name: "FLAME_blue_JOBS", Sources: []*jetstream.StreamSource{{Name: "KV_flame_red_tree"}}})
	if err == nil {
		s, err := c.Stream(g.ctx, "FLAME_blue_JOBS")
		require.NoError(t, err)
		assert.Zero(t, s.CachedInfo().State.Msgs)
	}
	got, err := theirs.Get(g.ctx, "frame-1")
	require.NoError(t, err)
	assert.Equal(t, "red", string(got.Value()))
}

func publicOf(t *testing.T, seed string) string {
	pair, err := nkeys.FromSeed([]byte(seed))
	require.NoError(t, err)
	public, err := pair.PublicKey()
	require.NoError(t, err)
	return public
}

func TestAnInvitationWorksOnce(t *testing.T) {
	g, lines := newRig(t, "blue", "red")
	g.serve()
	_, err := lines[0].Accept(g.ctx, "desk", 1) // the server knows the invitation still
	require.NoError(t, err)
	_, err = lines[0].Accept(g.ctx, "couch", 1)
	require.ErrorContains(t, err, "already used")
	g.reload()
	_, err = lines[0].Accept(g.ctx, "couch", 1)
	require.ErrorContains(t, err, "does not know this key")

	g.run.Now = func() time.Time { return start.Add(time.Hour) }
	_, err = lines[1].Accept(g.ctx, "desk", 1)
	require.ErrorContains(t, err, "expired")
	l, err := g.folder.load()
	require.NoError(t, err)
	require.Len(t, l.Machines, 1)
	assert.Equal(t, []string{"desk", "blue"}, []string{l.Machines[0].ID, l.Machines[0].Project})
}

func TestAGuestCanOnlyJoin(t *testing.T) {
	g, lines := newRig(t, "blue", "blue")
	guest := client.Identity{URL: lines[0].server(), Seed: lines[0].seed, Pin: lines[0].pin, Inbox: client.InboxOf(publicOf(t, lines[0].seed))}
	c := visitor{refused: make(chan error, 100)}
	var err error
	c.Conn, err = guest.Dial(g.ctx, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.refused <- err }))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	for _, subject := range []string{
		joinSubject + publicOf(t, lines[1].seed), "$JS.API.INFO", "$KV.flame_blue_tree.x", leaveSubject + "x", client.InboxOf(publicOf(t, lines[1].seed)) + ".x",
	} {
		c.refuses(t, "a guest publishes", subject, func(context.Context) { assert.NoError(t, c.Conn.Publish(subject, nil)) })
	}
	c.refuses(t, "others' requests", "flame.join.*", func(context.Context) { _, _ = c.SubscribeSync("flame.join.*") })
}

func TestAMachineThatLeftCannotConnect(t *testing.T) {
	g, lines := newRig(t, "blue", "blue")
	g.serve()
	link, other := g.join(lines[0], "desk"), g.join(lines[1], "couch")
	leaving, staying := g.connect(link), g.connect(other)
	require.NoError(t, GiveBack(g.ctx, link))
	g.reload()
	require.Eventually(t, leaving.IsClosed, patience, time.Millisecond)
	_, err := staying.RTT()
	require.NoError(t, err, "other machines stay connected")
	_, err = client.IdentityOf(link).Dial(g.ctx)
	require.ErrorContains(t, err, "does not know this key")
	g.connect(other)
	removed, err := g.folder.Remove(g.ctx, "blue/couch")
	require.NoError(t, err)
	require.Len(t, removed, 1)
	_, err = g.folder.Remove(g.ctx, "couch")
	require.ErrorIs(t, err, core.ErrNotFound)
}

// TestAMachineCannotRemoveAnother has the server send a request for a machine: an answer of its own
// goes to any subject that the sender of a request chooses.
func TestAMachineCannotRemoveAnother(t *testing.T) {
	g, lines := newRig(t, "blue", "red")
	g.serve()
	victim, evil := g.join(lines[0], "desk"), g.join(lines[1], "couch")
	c := g.connect(evil)
	kv, err := c.CreateKeyValue(g.ctx, bucketOf("flame_red_tree"))
	require.NoError(t, err)
	_, err = kv.Put(g.ctx, "x", []byte(`{"version":1}`))
	require.NoError(t, err)
	ask := &nats.Msg{Subject: "$JS.API.DIRECT.GET.KV_flame_red_tree.$KV.flame_red_tree.x", Reply: leaveSubject + publicOf(t, victim.Seed)}
	require.NoError(t, c.Conn.PublishMsg(ask))
	require.NoError(t, c.Conn.Flush())
	require.NoError(t, GiveBack(g.ctx, evil), "earlier requests have been handled")
	g.reload()
	known, err := g.folder.Machines()
	require.NoError(t, err)
	require.Len(t, known, 1)
	assert.Equal(t, "desk", known[0].ID)
}

func TestAnotherServerIsNotTrusted(t *testing.T) {
	g, lines := newRig(t, "blue")
	lines[0].pin = strings.Repeat("0", 64)
	_, err := lines[0].Accept(g.ctx, "desk", 1)
	require.ErrorContains(t, err, "another server")

	own := &tls.Config{InsecureSkipVerify: true}
	_, err = nats.Connect(g.admin.URL, nats.Secure(own))
	require.ErrorIs(t, err, nats.ErrAuthorization, "without a key there is no connection")
}

func TestJoiningWithoutFlameHubReportsThat(t *testing.T) {
	g, lines := newRig(t, "blue")
	_, err := lines[0].Accept(g.ctx, "desk", 1)
	require.ErrorContains(t, err, "`flame hub` does not answer")
	g.server.Shutdown()
	g.server.WaitForShutdown()
	_, err = lines[0].Accept(g.ctx, "desk", 1)
	require.ErrorContains(t, err, "no hub answers at "+g.admin.URL)
}

func TestInvalidRequestsAreRefused(t *testing.T) {
	g, lines := newRig(t, "blue", "blue")
	g.serve()
	g.join(lines[0], "desk")
	guest := publicOf(t, lines[1].seed)
	by := client.Identity{URL: lines[1].server(), Seed: lines[1].seed, Pin: lines[1].pin, Inbox: client.InboxOf(guest)}
	_, key, err := newKey()
	require.NoError(t, err)
	for want, q := range map[string]joining{
		"has version 9":        {Version: 9, Machine: "couch", Key: key},
		"cannot be a machine":  {Version: protocol, Machine: "a.>", Key: key},
		"is not a public key":  {Version: protocol, Machine: "couch", Key: "U\" }"},
		"machine desk already": {Version: protocol, Machine: "desk", Key: key},
		"a key of its own":     {Version: protocol, Machine: "couch", Key: guest},
	} {
		require.ErrorContains(t, ask(g.ctx, by, joinSubject+guest, q), want)
	}
	require.NoError(t, ask(g.ctx, by, joinSubject+guest, joining{Version: protocol, Machine: "couch", Key: key}), "the invitation can still be used")
}

func TestAnInvitationIsALine(t *testing.T) {
	f := Folder{Path: filepath.Join(t.TempDir(), "hub"), Temporary: true}
	_, err := f.Invite(t.Context(), InviteOptions{Project: "blue", For: time.Hour}, start)
	require.ErrorContains(t, err, f.Path+" contains no hub")
	require.NoError(t, f.prepare())
	_, err = f.certificate(start)
	require.NoError(t, err)
	_, err = f.edit(t.Context(), func(l *ledger) error { l.Listen = "10.1.2.3:4222"; return nil })
	require.NoError(t, err)
	made, err := f.Invite(t.Context(), InviteOptions{Project: "blue", For: time.Hour}, start)
	require.NoError(t, err)
	read, err := ParseInvitation(made.String())
	require.NoError(t, err)
	assert.Equal(t, made, read)
	assert.Equal(t, "10.1.2.3:4222", read.Address)

	line := made.String()
	for name, text := range map[string]string{
		"cut at the #":     line[:strings.IndexByte(line, '#')] + "#",
		"cut in the key":   line[:strings.IndexByte(line, '#')+20],
		"cut in the pin":   line[:len(line)-2],
		"another scheme":   "http" + strings.TrimPrefix(line, "tls"),
		"with a user":      strings.Replace(line, "//", "//me@", 1),
		"no project":       strings.Replace(line, "/blue", "", 1),
		"a strange one":    strings.Replace(line, "/blue", "/a.b", 1),
		"no port":          strings.Replace(line, ":4222", "", 1),
		"a letter changed": strings.Replace(line, "#SU", "#SA", 1),
		"long":             line + strings.Repeat("0", maxLine),
		"empty":            "#",
	} {
		_, err := ParseInvitation(text)
		require.ErrorIs(t, err, core.ErrInvalid, name)
		assert.NotContains(t, err.Error(), made.seed, name)
	}
	for what, g := range map[string]InviteOptions{
		"lasts longer than 0 seconds": {Project: "blue"},
		"cannot be a project":         {Project: "a b", For: time.Hour},
		"differs from blue in case":   {Project: "BLUE", For: time.Hour},
		"is not HOST:PORT":            {Project: "blue", For: time.Hour, Address: "host"},
	} {
		_, err := f.Invite(t.Context(), g, start)
		require.ErrorContains(t, err, what)
	}
}

func TestAFolderWithoutAHubIsReported(t *testing.T) {
	empty := t.TempDir()
	require.NoError(t, os.Chmod(empty, 0o700))
	for _, path := range []string{empty, filepath.Join(empty, "missing")} {
		f := Folder{Path: path, Temporary: true}
		_, machines := f.Machines()
		_, remove := f.Remove(t.Context(), "desk")
		_, invite := f.Invite(t.Context(), InviteOptions{Project: "blue", For: time.Hour}, start)
		for what, err := range map[string]error{"machines": machines, "remove": remove, "invite": invite} {
			require.ErrorIs(t, err, core.ErrNotFound, what)
			assert.Regexp(t, "--data.*`flame hub`|`flame hub`.*--data", core.HintOf(err), what)
		}
	}
	for _, span := range []time.Duration{0, maxInvitation + 1} {
		_, err := Folder{Path: empty, Temporary: true}.Invite(t.Context(), InviteOptions{Project: "blue", For: span}, start)
		assert.Contains(t, core.HintOf(err), "--expires")
	}
}

func TestAFolderIsTheUsersOwn(t *testing.T) {
	base := t.TempDir()
	f := Folder{Path: filepath.Join(base, "hub"), Temporary: true}
	require.NoError(t, f.prepare())
	info, err := os.Stat(f.Path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	pin, err := f.certificate(start)
	require.NoError(t, err)
	again, err := f.certificate(start.Add(time.Hour))
	require.NoError(t, err)
	assert.Equal(t, pin, again, "machines know the certificate")
	for _, name := range []string{keyName, certName} {
		info, err := os.Stat(f.file(name))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
	}
	assert.ErrorContains(t, Folder{Path: f.Path}.prepare(), "is temporary")
	require.NoError(t, os.Chmod(f.Path, 0o755))
	assert.ErrorContains(t, f.prepare(), "other users can read")
	require.NoError(t, os.Chmod(f.Path, 0o700))
	link := Folder{Path: filepath.Join(base, "link"), Temporary: true}
	require.NoError(t, os.Symlink(f.Path, link.Path))
	err = link.prepare()
	require.ErrorContains(t, err, "link")
	assert.Contains(t, core.HintOf(err), "--data")
	assert.ErrorContains(t, Folder{Path: base + "/a\"b", Temporary: true}.prepare(), "cannot contain the path")

	lock, err := f.own()
	require.NoError(t, err)
	assert.True(t, f.Running())
	_, err = f.own()
	require.ErrorContains(t, err, "a hub runs in "+f.Path+" already")
	lock.Release()
	assert.False(t, f.Running())
}

func TestALedgerIsCheckedAndHasNoDuplicates(t *testing.T) {
	_, key, err := newKey()
	require.NoError(t, err)
	_, other, err := newKey()
	require.NoError(t, err)
	good := `{"version":1,"projects":["p"],"machines":[{"key":"` + key + `","id":"m","project":"p"}]}`
	_, err = parseLedger([]byte(good))
	require.NoError(t, err)
	for name, edit := range map[string][2]string{
		"another version":       {`"version":1`, `"version":2`},
		"a space below nothing": {`"version":1`, `"version":1,"space":-1`},
		"a boundless space":     {`"version":1`, `"version":1,"space":1000000000000000000`},
		"a project's name":      {`["p"]`, `["p","a } b"]`},
		"an unknown project":    {`["p"]`, `["q"]`},
		"a machine's name":      {`"id":"m"`, `"id":"m.>"`},
		"a key":                 {key, key[:55] + " }"},
		"a key of another kind": {key, "A" + key[1:]},
		"no JSON":               {`{`, `[`},
	} {
		_, err := parseLedger([]byte(strings.Replace(good, edit[0], edit[1], 1)))
		require.Error(t, err, name)
	}
	for says, parts := range map[string][3]string{ // projects, machines, invites
		"":                                     {`"p","q"`, `{"key":"K","id":"m","project":"p"},{"key":"O","id":"m","project":"q"}`, ``},
		"p/m and p/n have the same key":        {`"p"`, `{"key":"K","id":"m","project":"p"},{"key":"K","id":"n","project":"p"}`, ``},
		"p/m and q/m have the same key":        {`"p","q"`, `{"key":"K","id":"m","project":"p"},{"key":"K","id":"m","project":"q"}`, ``},
		"project p has a machine m already":    {`"p"`, `{"key":"K","id":"m","project":"p"},{"key":"O","id":"m","project":"p"}`, ``},
		"p/m and an invitation to p have":      {`"p"`, `{"key":"K","id":"m","project":"p"}`, `{"key":"K","project":"p"}`},
		"and an invitation to p have the same": {`"p"`, ``, `{"key":"K","project":"p"},{"key":"K","project":"p"}`},
		"the project p twice":                  {`"p","p"`, ``, ``},
		"differs from P in case alone":         {`"P","p"`, ``, ``},
	} {
		text := fmt.Sprintf(`{"version":1,"projects":[%s],"machines":[%s],"invites":[%s]}`, parts[0], parts[1], parts[2])
		f := Folder{Path: t.TempDir(), Temporary: true}
		require.NoError(t, f.write(ledgerName, []byte(strings.NewReplacer(`"K"`, strconv.Quote(key), `"O"`, strconv.Quote(other)).Replace(text))))
		_, err := f.load()
		if says == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, core.ErrInvalid, says)
		require.ErrorContains(t, err, says)
		assert.Contains(t, core.HintOf(err), "repair it")
	}
}

func TestTheServerThatIsFound(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GOBIN", "")
	t.Setenv("GOPATH", "")
	t.Setenv("PATH", dir)
	_, err := FindProgram(t.Context(), dir)
	require.ErrorIs(t, err, core.ErrNotFound)
	assert.Contains(t, core.HintOf(err), "go install github.com/nats-io/nats-server/v2@v"+client.ServerVersion)
	place := filepath.Join(dir, "go", "bin")
	require.NoError(t, os.MkdirAll(place, 0o700))
	for said, want := range map[string]string{
		"nats-server: v2.15.2":  "",
		"nats-server: v2.12.0":  "",
		"nats-server: v3.0.1-x": "",
		"nats-server: v2.11.9":  "needs 2.12 or newer",
		"gnatsd 1":              "does not print its version",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(place, "nats-server"), []byte("#!/bin/sh\necho '"+said+"'\n"), 0o700))
		p, err := FindProgram(t.Context(), dir)
		if want != "" {
			require.ErrorContains(t, err, want, said)
			continue
		}
		require.NoError(t, err, said)
		assert.Equal(t, said == "nats-server: v"+client.ServerVersion, p.Pinned())
	}
}

func TestAUnitQuotesItsWords(t *testing.T) {
	unit := Unit([]string{"/opt/a b/flame", "hub", "--data", `/x%y/$HOME/"`}, "/bin")
	assert.Contains(t, unit, `ExecStart="/opt/a b/flame" "hub" "--data" "/x%%y/$$HOME/\""`+"\n")
	assert.Contains(t, unit, "Environment=\"PATH=/bin\"\n")
}

func TestTheServerReportsWhetherItAcceptsAConfiguration(t *testing.T) {
	g, _ := newRig(t)
	line := g.invite("blue")
	_, err := client.Identity{URL: line.server(), Seed: line.seed, Pin: line.pin, Inbox: client.InboxOf("x")}.Dial(g.ctx)
	require.ErrorContains(t, err, "does not know this key")
	require.NoError(t, g.run.refresh(g.ctx))
	require.NoError(t, Await(g.ctx, hub.Link{URL: line.server(), Seed: line.seed, Pin: line.pin, Machine: "x"}))

	require.NoError(t, g.folder.write(confName, []byte("no such option: 1")))
	err = g.run.reload(g.ctx)
	require.ErrorIs(t, err, core.ErrUnavailable)
	assert.ErrorContains(t, err, "refuses the new configuration")
	assert.Contains(t, core.HintOf(err), "machines that joined since cannot connect")
	g.stop()
	assert.ErrorIs(t, g.run.reload(g.ctx), core.ErrUnavailable)
	g.start()
}
