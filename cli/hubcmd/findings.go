package hubcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"flame/core"
	"flame/hub"
	"flame/project/place"
	"flame/render"
)

// lookTime is how long the doctor waits for a hub.
const lookTime = 2 * time.Second

// Findings returns what is worth saying about the hub of a project.
func Findings(ctx context.Context, at place.Place) []core.Finding {
	if there, err := at.Data.Ready(ctx, false); err != nil || !there {
		return nil // said elsewhere
	}
	link, err := hub.Load(at.Data.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return []core.Finding{{What: "this project has joined no hub: its tree is this machine's alone"}}
	}
	if err != nil {
		f := problemOf("", err)
		f.Broken = true
		return []core.Finding{f}
	}
	findings := []core.Finding{{What: fmt.Sprintf("joined project %s at %s, as machine %s", link.Project, hub.Shown(link.URL), link.Machine)}}
	ctx, stop := context.WithTimeout(ctx, lookTime)
	defer stop()
	conn, err := hub.Connect(ctx, link)
	if err != nil {
		return append(findings, problemOf("the hub: ", err))
	}
	defer conn.Close()
	latency, err := conn.Latency()
	if err != nil {
		return append(findings, problemOf("the hub: ", err))
	}
	findings = append(findings, core.Finding{
		What: fmt.Sprintf("the hub answers in %v; nats-server %s", latency.Round(10*time.Microsecond), conn.Version()),
	})
	findings = append(findings, shares(at, link)...)
	if link.Pin == "" {
		findings = append(findings, core.Finding{
			What: "flame cannot see whether that server writes to disk what it acknowledges",
			Hint: "set sync_interval: always in its jetstream block; by default a power cut loses the last two minutes, until every machine has connected again",
		})
	}
	return findings
}

// maxNamed is how many machines or frames a finding names.
const maxNamed = 12

// shares says how far the process is that keeps the project connected.
func shares(at place.Place, link hub.Link) []core.Finding {
	status, err := hub.LoadStatus(at.Data.Path)
	if err == nil && status.Holds(core.MillisOf(time.Now())) {
		return told(status, link)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return []core.Finding{problemOf("", err)}
	}
	return []core.Finding{{
		What: "no process of this machine shares its frames now",
		Hint: "start a session of your host in this project, or `flame serve --http 127.0.0.1:0`, and leave it running",
	}}
}

// told says in words what a status does.
func told(s hub.Status, link hub.Link) (findings []core.Finding) {
	note := func(hint, format string, args ...any) {
		findings = append(findings, core.Finding{What: fmt.Sprintf(format, args...), Hint: hint})
	}
	switch {
	case s.Since == 0:
		note(cmp.Or(s.Hint, "it is tried again every few seconds"), "process %d is not connected to the hub: %s", s.PID, s.Error)
		return findings
	case !s.Complete:
		note("wait a moment", "process %d is connected, and still reads what the hub has", s.PID)
	default:
		note("", "process %d is connected: %d changes sent, %d received", s.PID, s.Sent, s.Taken)
	}
	if s.Error != "" {
		note(cmp.Or(s.Hint, "it is tried again"), "the hub: %s", s.Error)
	}
	if s.Waiting > 0 {
		note("they are sent again; if the number stays, the hub may be full", "%d changes wait until the hub takes them", s.Waiting)
	}
	if s.Skipped > 0 {
		note("use the same version of flame on all machines; is the clock of this machine right?",
			"%d frames of other machines are of a newer version, or cannot be read, and are left as they are", s.Skipped)
	}
	if len(s.TooLarge) > 0 {
		note("shorten their results, or have max_payload of the server raised", "the hub has no room for what these frames hold: %s", named(s.TooLarge))
	}
	var others []string
	for _, m := range s.Machines {
		if m.ID != link.Machine {
			others = append(others, m.ID+" (flame "+m.Version+")")
		}
	}
	if len(others) > 0 {
		note("", "connected in the last minutes: %s", named(others))
	} else {
		note("", "no other machine was connected in the last minutes")
	}
	if served := queues(s.Machines); len(served) > 0 {
		note("", "queues: %s", named(served))
	}
	return findings
}

// queues says who serves which queue.
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

// problemOf turns an error into a finding. Nothing that flame does on this machine needs a
// hub.
func problemOf(what string, err error) core.Finding {
	f := core.Finding{What: what + err.Error(), Hint: "frames of this machine are not affected; what it has is sent once the hub is there"}
	var problem *core.Problem
	if errors.As(err, &problem) && problem.Hint != "" {
		f.Hint = render.ForShell(problem.Hint)
	}
	return f
}
