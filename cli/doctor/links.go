package doctor

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/samber/lo"

	"flame/cli/app"
	"flame/config/env"
	"flame/core"
	"flame/hosts"
	"flame/hub"
	"flame/project"
	"flame/render"
)

// host checks one host: whether it is installed, which parts of flame it has, and whether the
// programs that it starts answer. It reports whether the host has any part of flame.
func (c *checkup) host(ctx context.Context, h hosts.Host, machine hosts.Machine, links []project.LastHook) (connected bool) {
	first := len(c.found) + 1
	defer func() { // of what is well in a host, the first line is enough
		for i := first; i < len(c.found); i++ {
			c.found[i].Detail = c.found[i].Hint == "" && !c.found[i].Broken
		}
	}()
	status, err := h.Client(machine).Status(ctx)
	if err != nil {
		c.problem(h.Title+": ", err)
		return true // as far as anybody knows
	}
	setup := "`flame setup " + h.Name
	if status.Program == "" {
		c.note("to use it, install it and run "+setup+"`", "%s: not on PATH", h.Title)
		return false
	}
	where := fmt.Sprintf("%s %s at %s", h.Title, status.Version, status.Program)
	if len(status.Installed) == 0 && len(status.ByHand) == 0 {
		c.note("run "+setup+"`", "%s: flame is not set up", where)
		return false
	}
	c.ok("%s", where)
	for _, in := range status.Installed {
		what, again := fmt.Sprintf("%s: set up for the %s by %s", h.Title, in.Scope, in.Where), setup+" --scope "+string(in.Scope)+"`"
		switch {
		case in.Off:
			c.note("its hooks do not run; "+again+" turns it on again", "%s, and turned off there", what)
		case !in.Current:
			c.note("its version differs; "+again+" updates it", "%s", what)
		default:
			c.ok("%s", what)
		}
	}
	if status.Refused != "" {
		c.broken(setup+"` installs one that this version loads", "%s does not load flame's plugin: %s", h.Title, status.Refused)
	}
	if consent := status.Consent; consent.What != "" {
		consent.What = h.Title + ": " + strings.TrimPrefix(consent.What, h.Title+" ")
		c.found = append(c.found, consent)
	}
	c.byHand(h.Title, status)
	if len(status.Installed) == 0 {
		return true
	}
	c.tryServer(ctx, h, machine.Binary(), cmp.Or(machine.Getenv(env.Tools), status.Tools))
	c.tryHook(ctx, h, machine.Binary())
	if h.Events.Streams {
		c.tryStream(ctx, h, machine.Binary())
	}
	last, _ := lo.Find(links, func(l project.LastHook) bool { return l.Host == h.Name })
	c.link(h, last, status.AvailableVersion, len(links) > 0)
	return true
}

// byHand reports registrations that the user made.
func (c *checkup) byHand(host string, status hosts.Status) {
	for _, entry := range status.ByHand {
		what := fmt.Sprintf("%s: registered by hand as %q in %s", host, entry.Name, entry.File)
		if entry.Plugin {
			what = fmt.Sprintf("%s: plugin %q in %s", host, entry.Name, entry.File)
		}
		switch {
		case !status.RegisteredTwice():
			c.ok("%s", what)
		case status.ManualWins:
			c.note(entry.Undo, "%s, and set up as well: %s", what, DoubleRegistration(status, entry))
		default:
			c.broken(entry.Undo, "%s, and set up as well: %s", what, DoubleRegistration(status, entry))
		}
	}
}

// DoubleRegistration describes the effect of a registration beside the one of setup.
func DoubleRegistration(status hosts.Status, entry hosts.Registration) string {
	switch {
	case status.ManualWins && entry.Plugin:
		return "the one that it loads last is in use"
	case status.ManualWins:
		return "the entry by hand is the one in use"
	}
	return "it starts flame twice"
}

// patience is how long an installed program may take to answer.
const patience = 5 * time.Second

// try runs a program as a host does, and reports the time or the error.
func (c *checkup) try(ctx context.Context, h hosts.Host, kind, line string, run func(ctx context.Context) (did string, err error)) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	started := time.Now()
	did, err := run(ctx)
	if err != nil {
		c.broken("run `flame setup "+h.Name+"` to install the program again", "%s: the %s it starts, %s, does not work: %v", h.Title, kind, line, err)
		return
	}
	c.ok("%s: %s %s %s", h.Title, line, did, core.Span(time.Since(started).Milliseconds()))
}

// tryServer starts the server and lists its tools, as the host does first.
func (c *checkup) tryServer(ctx context.Context, h hosts.Host, program, profile string) {
	c.try(ctx, h, "server", program+" serve", func(ctx context.Context) (offers string, err error) {
		client, err := app.StartServer(ctx, program, []string{env.Tools + "=" + profile}, "flame doctor")
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, client.Close()) }()
		listed, err := client.ListTools(ctx, mcp.ListToolsRequest{})
		if err != nil {
			return "", err
		}
		offers = "offers " + render.Count(len(listed.Tools), "tool")
		if profile != "" {
			offers += fmt.Sprintf(" (%s=%s)", env.Tools, profile)
		}
		return offers + " after", nil
	})
}

// probe is an event that hooks ignore.
const probe = `{"hook_event_name": "flame doctor", "event": "flame doctor", "session_id": "doctor", "session": "doctor"}`

// tryHook starts the program as the host's hooks do.
func (c *checkup) tryHook(ctx context.Context, h hosts.Host, program string) {
	c.try(ctx, h, "hook", program+" hook "+h.Name, func(ctx context.Context) (string, error) {
		cmd := exec.CommandContext(ctx, program, "hook", h.Name)
		cmd.Stdin = strings.NewReader(probe)
		out, err := cmd.CombinedOutput()
		if err != nil || len(out) > 0 {
			err = fmt.Errorf("%v %s", err, core.OneLine(string(out), 200))
		}
		return "ran in", err
	})
}

// tryStream starts the program as the host's plugin does, and reports two events to it, one
// after the other.
func (c *checkup) tryStream(ctx context.Context, h hosts.Host, program string) {
	c.try(ctx, h, "hook", program+" hook "+h.Name+" --stream", func(ctx context.Context) (string, error) {
		return "answered two events in", converse(exec.CommandContext(ctx, program, "hook", h.Name, "--stream"), 2)
	})
}

// converse sends events to a stream, each after the answer to the one before, and ends it.
func converse(stream *exec.Cmd, events int) (err error) {
	in, err := stream.StdinPipe()
	if err != nil {
		return err
	}
	out, err := stream.StdoutPipe()
	if err != nil {
		return err
	}
	if err := stream.Start(); err != nil {
		return err
	}
	answers := bufio.NewScanner(out)
	for n := 1; n <= events && err == nil; n++ {
		_, err = fmt.Fprintf(in, `{"n": %d, "source": "doctor", "event": %s}`+"\n", n, probe)
		if want := fmt.Sprintf(`{"n":%d}`, n); err == nil && (!answers.Scan() || answers.Text() != want) {
			err = fmt.Errorf("its answer is %q instead of %s", core.OneLine(answers.Text(), 200), want)
		}
	}
	err = errors.Join(err, in.Close())
	_, _ = io.Copy(io.Discard, out) // with a full pipe it would not end
	return errors.Join(err, stream.Wait())
}

// link reports when a hook of the host last reached this project, and whether the host has
// loaded the plugin that is installed now.
func (c *checkup) link(h hosts.Host, last project.LastHook, offers string, others bool) {
	if last.At == 0 {
		say := lo.Ternary(others, c.note, c.todo) // few people use every host in each project
		say("say something to "+h.Title+" in this project and run this again; flame.log has the errors, if any",
			"%s: no hook has reached this project yet", h.Title)
		return
	}
	hint := ""
	if last.Plugin != offers {
		hint = fmt.Sprintf("this flame has plugin %s: restart %s, or run `flame setup %s`", offers, h.Title, h.Name)
	}
	c.note(hint, "%s: its last hook here was %s, %s in session %s, through plugin %s", h.Title, last.Event,
		render.Ago(core.MillisOf(time.Now()), last.At), last.Session, cmp.Or(last.Plugin, "of no version"))
}

// lookTime is how long the doctor waits for a hub.
const lookTime = 2 * time.Second

// hub reports on the hub of the project. On this machine, flame works without it.
func (c *checkup) hub(ctx context.Context) {
	if there, err := c.at.Data.Ready(ctx, false); err != nil || !there {
		return // a finding about the data
	}
	link, err := hub.Load(c.at.Data.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.ok("this project has joined no hub: its tree is only on this machine")
		return
	case err != nil:
		c.broken(cmp.Or(render.Hint(err), unaffected), "%v", err)
		return
	}
	c.ok("joined project %s at %s, as machine %s", link.Project, hub.RedactURL(link.URL), link.Machine)
	ctx, stop := context.WithTimeout(ctx, lookTime)
	defer stop()
	if !c.reaches(ctx) {
		return
	}
	status, err := hub.LoadStatus(c.at.Data.Path)
	switch {
	case err == nil && status.IsFresh(core.MillisOf(time.Now())):
		c.sharing(status, link)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		c.hubProblem("", err)
	default:
		c.note("start a session of your host in this project, or `flame serve --http 127.0.0.1:0`, and leave it running",
			"no process on this machine shares its frames now")
	}
	if link.Pin == "" {
		c.note("set sync_interval: always in its jetstream block; by default a power cut loses the last two minutes, until every machine has connected again",
			"flame cannot check whether that server writes data to disk before it acknowledges them")
	}
}

// reaches reports whether the hub answers.
func (c *checkup) reaches(ctx context.Context) bool {
	own := c.app.Build.Version
	look, err := hub.Client{Root: c.at.Dir, Data: c.at.Data.Path, Version: own}.Look(ctx)
	if look.Version != "" && look.Version != own {
		c.note("install both from the same release, or build both from the same commit", "%s is version %s, and flame %s", hub.Program, look.Version, own)
	}
	if err != nil {
		c.hubProblem("the hub: ", err)
		return false
	}
	c.ok("the hub answers in %s; nats-server %s", core.Span(max(1, look.Latency.Milliseconds())), look.Server)
	return true
}

const unaffected = "frames on this machine are not affected; flame sends them once it reaches the hub"

// hubProblem adds an error of the hub.
func (c *checkup) hubProblem(what string, err error) {
	c.note(cmp.Or(render.Hint(err), unaffected), "%s%v", what, err)
}

// sharing reports on the process that keeps the project connected.
func (c *checkup) sharing(s hub.Status, link hub.Link) {
	switch {
	case s.Since == 0:
		c.note(cmp.Or(s.Hint, "flame tries again every few seconds"), "process %d is not connected to the hub: %s", s.PID, s.Error)
		return
	case !s.Complete:
		c.note("wait a moment", "process %d is connected, and still reads the data of the hub", s.PID)
	default:
		c.ok("process %d is connected: %d changes sent, %d received", s.PID, s.Sent, s.Taken)
	}
	if s.Error != "" {
		c.note(cmp.Or(s.Hint, "flame tries again"), "the hub: %s", s.Error)
	}
	if s.Waiting > 0 {
		c.note("flame sends them again; if the number stays, the hub may be full", "%d changes wait for the hub to accept them", s.Waiting)
	}
	if s.Skipped > 0 {
		c.note("use the same version of flame on all machines, and check the clock of this machine",
			"flame skipped %d frames of other machines: it cannot read them, or a newer version wrote them", s.Skipped)
	}
	if len(s.TooLarge) > 0 {
		c.note("shorten their results, or raise max_payload of the server", "these frames are too large for the hub: %s", named(s.TooLarge))
	}
	others := lo.FilterMap(s.Machines, func(m hub.Machine, _ int) (string, bool) {
		return m.ID + " (flame " + m.Version + ")", m.ID != link.Machine
	})
	if len(others) > 0 {
		c.ok("connected in the last minutes: %s", named(others))
	} else {
		c.ok("no other machine was connected in the last minutes")
	}
	if served := queues(s.Machines); len(served) > 0 {
		c.ok("queues: %s", named(served))
	}
}

// maxNamed is how many machines or frames a finding names.
const maxNamed = 12

// queues lists the queues, each with the machine that serves it.
func queues(machines []hub.Machine) (served []string) {
	for _, m := range machines {
		for _, q := range m.Serves {
			served = append(served, fmt.Sprintf("%s by %s (%d of %d slots free)", q.Queue, m.ID, q.Free, q.Slots))
		}
	}
	slices.Sort(served)
	return served
}

// named returns the first of many names.
func named(all []string) string {
	if n := len(all); n > maxNamed {
		return fmt.Sprintf("%s and %d others", strings.Join(all[:maxNamed], ", "), n-maxNamed)
	}
	return strings.Join(all, ", ")
}
