package doctor

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"flame/agents"
	"flame/cli/client"
	"flame/config/env"
	"flame/core"
	"flame/hosts"
	"flame/project"
	"flame/project/place"
	"flame/render"
)

// checkHost checks one host: whether it is installed, what it has of flame, and
// whether the program it starts answers.
func checkHost(ctx context.Context, h hosts.Host, machine hosts.Machine, links map[string]project.LastHook) (findings []core.Finding) {
	status, err := h.On(machine).Status(ctx)
	if err != nil {
		return []core.Finding{problemFinding(h.Name+": ", err)}
	}
	if status.Program == "" {
		return []core.Finding{{What: h.Name + ": not on PATH", Hint: "if you use it: install it and run `flame setup " + h.Name + "`"}}
	}
	where := fmt.Sprintf("%s %s at %s", h.Name, status.Version, status.Program)
	if len(status.Installed) == 0 && len(status.ByHand) == 0 {
		return []core.Finding{{What: where + ": flame is not set up", Hint: "run `flame setup " + h.Name + "`"}}
	}
	findings = append(findings, core.Finding{What: where})
	for _, in := range status.Installed {
		f := core.Finding{What: fmt.Sprintf("%s: set up for the %s by %s", h.Name, in.Scope, in.Where)}
		if in.Off {
			f.What += ", and turned off there"
			f.Hint = "none of its hooks runs; `flame setup " + h.Name + " --scope " + string(in.Scope) + "` turns it on again"
		} else if !in.Current {
			f.Hint = "it is another version; `flame setup " + h.Name + " --scope " + string(in.Scope) + "` brings it up to date"
		}
		findings = append(findings, f)
	}
	if status.Refused != "" {
		findings = append(findings, core.Finding{
			What: fmt.Sprintf("%s: it does not load flame's plugin: %s", h.Name, status.Refused),
			Hint: "`flame setup " + h.Name + "` installs one that this version loads", Broken: true,
		})
	}
	for _, entry := range status.ByHand {
		f := core.Finding{What: fmt.Sprintf("%s: registered by hand as %q in %s", h.Name, entry.Name, entry.File)}
		if status.Double() {
			f.What += ", and set up as well: " + Doubly(status)
			f.Hint, f.Broken = entry.Undo, !status.GivesWay
		}
		findings = append(findings, f)
	}
	if len(status.Installed) > 0 {
		findings = append(findings, checkServer(ctx, h.Name, machine, status.Tools), checkHook(ctx, h.Name, machine.Binary()))
		if h.Streams {
			findings = append(findings, checkStream(ctx, h.Name, machine.Binary()))
		}
		findings = append(findings, checkLink(h.Name, links[h.Name], status.Offers, time.Now()))
	}
	return findings
}

// muchRoom is the size of agents' folders, in bytes, from which it is reported.
const muchRoom = 1 << 30

// checkRoom reports agents' folders that take much room.
func checkRoom(data string) []core.Finding {
	s := agents.Agents{Data: data}
	used := s.DiskUse()
	if used < muchRoom {
		return nil
	}
	return []core.Finding{{What: "what agents printed takes " + render.Megabytes(used),
		Hint: "`flame agents prune` deletes the output of those that ended over 30 days ago"}}
}

// Doubly says what a double registration means.
func Doubly(status hosts.Status) string {
	if status.GivesWay {
		return "the entry by hand is the one in use"
	}
	return "it starts flame twice"
}

// serverPatience is how long an installed server may take to list its tools.
const serverPatience = 5 * time.Second

// checkServer starts the program that a host would start and asks for its tools, as many
// as the host would.
func checkServer(ctx context.Context, host string, machine hosts.Machine, profile string) core.Finding {
	program := machine.Binary()
	profile = cmp.Or(machine.Getenv(env.Tools), profile)
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	started := time.Now()
	names, err := listTools(ctx, program, profile)
	if err != nil {
		return core.Finding{
			What: fmt.Sprintf("%s: the server it starts, %s serve, does not answer: %v", host, program, err),
			Hint: "run `flame setup " + host + "` to install the program again", Broken: true,
		}
	}
	took := render.Duration(time.Since(started).Milliseconds())
	offers := render.Count(len(names), "tool")
	if profile != "" {
		offers += fmt.Sprintf(" (%s=%s)", env.Tools, profile)
	}
	return core.Finding{What: fmt.Sprintf("%s: %s serve offers %s after %s", host, program, offers, took)}
}

// listTools does what a host does first: start the server, do the handshake,
// ask for the tools.
func listTools(ctx context.Context, program, profile string) (names []string, err error) {
	c, err := client.Start(ctx, program, []string{env.Tools + "=" + profile}, "flame doctor")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	listed, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	for _, t := range listed.Tools {
		names = append(names, t.Name)
	}
	return names, nil
}

// probe is an event that hooks ignore.
const probe = `{"hook_event_name": "flame doctor", "event": "flame doctor", "session_id": "doctor", "session": "doctor"}`

// checkHook starts the program as the host's hooks do.
func checkHook(ctx context.Context, host, program string) core.Finding {
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	started := time.Now()
	cmd := exec.CommandContext(ctx, program, "hook", host)
	cmd.Stdin = strings.NewReader(probe)
	out, err := cmd.CombinedOutput()
	if err != nil || len(out) > 0 {
		return noHook(host, program, fmt.Sprintf("hook %s, does not work: %v %s", host, err, core.OneLine(string(out), 200)))
	}
	return core.Finding{What: fmt.Sprintf("%s: %s hook %s ran in %s", host, program, host, render.Duration(time.Since(started).Milliseconds()))}
}

// noHook says that what the host's hooks start does not do its work.
func noHook(host, program, wrong string) core.Finding {
	return core.Finding{
		What: fmt.Sprintf("%s: the hook it starts, %s %s", host, program, wrong),
		Hint: "run `flame setup " + host + "` to install the program again", Broken: true,
	}
}

// checkStream starts the program as the host's plugin does, and tells it two events one
// after the other.
func checkStream(ctx context.Context, host, program string) core.Finding {
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	started := time.Now()
	if err := converse(exec.CommandContext(ctx, program, "hook", host, "--stream"), 2); err != nil {
		return noHook(host, program, fmt.Sprintf("hook %s --stream, does not work: %v", host, err))
	}
	took := render.Duration(time.Since(started).Milliseconds())
	return core.Finding{What: fmt.Sprintf("%s: %s hook %s --stream answered two events in %s", host, program, host, took)}
}

// converse tells a stream events, each after the answer to the one before, and ends it.
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
	_, _ = io.Copy(io.Discard, out) // it may not be kept from ending
	return errors.Join(err, stream.Wait())
}

// checkLink reports when a hook of the host last reached this project, and
// whether the host has loaded the plugin that is installed now.
func checkLink(host string, last project.LastHook, offers string, now time.Time) core.Finding {
	if last.At == 0 {
		return core.Finding{
			What: host + ": none of its hooks has reached this project yet",
			Hint: "say something to " + host + " in this project and run this again; flame.log says what went wrong, if anything did",
		}
	}
	f := core.Finding{What: fmt.Sprintf("%s: its last hook here was %s, %s ago in session %s, through plugin %s", host, last.Event,
		render.Duration(now.Sub(last.At.Time()).Milliseconds()), last.Session, cmp.Or(last.Plugin, "of no version"))}
	if last.Plugin != offers {
		f.Hint = fmt.Sprintf("the plugin of this flame is %s: restart %s, or run `flame setup %s`", offers, host, host)
	}
	return f
}

// links returns when each host's hooks last reached the project; it is empty if
// the store cannot be read, which is a separate finding.
func (d Doctor) links(ctx context.Context, at place.Place) map[string]project.LastHook {
	found := map[string]project.LastHook{}
	p, closeProject, err := d.Open(at, false)
	if err != nil {
		return found
	}
	links, err := p.LastHooks(ctx)
	if errors.Join(err, closeProject()) != nil {
		return found
	}
	for _, link := range links {
		found[link.Host] = link
	}
	return found
}
