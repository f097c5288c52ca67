package hubcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	findings = append(findings, present(ctx, conn, link.Machine)...)
	if link.Pin == "" {
		findings = append(findings, core.Finding{
			What: "flame cannot see whether that server writes to disk what it acknowledges",
			Hint: "set sync_interval: always in its jetstream block; by default a power cut loses the last two minutes, until every machine has connected again",
		})
	}
	return findings
}

// maxNamed is how many machines a finding names.
const maxNamed = 12

// present says which machines are connected.
func present(ctx context.Context, conn *hub.Conn, own string) []core.Finding {
	there, err := conn.Machines(ctx)
	if err != nil {
		return []core.Finding{problemOf("the hub: ", err)}
	}
	list, err := there.List(ctx)
	if err != nil {
		return []core.Finding{problemOf("the hub: ", err)}
	}
	var others []string
	here := false
	for _, m := range list {
		if m.ID == own {
			here = true
			continue
		}
		others = append(others, m.ID+" (flame "+m.Version+")")
	}
	what := "no other machine was connected in the last minutes"
	if n := len(others); n > 0 {
		what = "connected in the last minutes: " + strings.Join(others[:min(n, maxNamed)], ", ")
		if n > maxNamed {
			what += fmt.Sprintf(" and %d others", n-maxNamed)
		}
	}
	findings := []core.Finding{{What: what}}
	if !here {
		findings = append(findings, core.Finding{
			What: "nothing on this machine shares its frames now",
			Hint: "start a session of your host in this project, or `flame serve --http 127.0.0.1:0`, and leave it running",
		})
	}
	return findings
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
