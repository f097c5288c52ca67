package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"flame/config/env"
	"flame/core"
	"flame/intake/inbox"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/place"
)

// checkEvents reports hosts' events that came late, that wait, and that are lost.
func (d Doctor) checkEvents(ctx context.Context, at place.Place) (findings []core.Finding) {
	note := func(hint, what string, args ...any) {
		findings = append(findings, core.Finding{What: fmt.Sprintf(what, args...), Hint: hint})
	}
	box := inbox.Inbox{Dir: at.Data.Path}
	state, err := box.State()
	if err != nil {
		return []core.Finding{problemFinding("the inbox: ", err)}
	}
	if state.Bytes > 0 {
		note("the next command takes them in; if they stay, one of the findings about the data says why",
			"%d KB of hosts' events wait to be taken in, of at most %d MB", state.Bytes>>10+1, state.Limit>>20)
	}
	if state.Lost > 0 {
		findings = append(findings, core.Finding{
			What: fmt.Sprintf("%d events of hosts are lost: neither the store nor the inbox could be written", state.Lost),
			Hint: "the log says why; delete " + box.LostFile() + " to forget them", Broken: true,
		})
	}
	if state.Aside != "" {
		note("a newer flame may have written them; delete the file if they do not matter", "%s holds events that could not be read", state.Aside)
	}
	late, err := d.lateEvents(ctx, at)
	if err != nil {
		return findings // the store cannot be used, which is a finding of its own
	}
	for _, l := range late {
		since := l.First.Time().Local().Format(time.DateTime)
		if l.Count > 0 {
			note("nothing is lost; a busy machine or a locked store makes them late",
				"%d events of %s could not be handled in time and were taken in later, since %s", l.Count, l.Host, since)
		}
		if l.MadeUp > 0 {
			note("the server of a session was killed or switched off; if it goes on, `"+env.Hooks+"="+env.Commands+" flame setup` has each event start a process",
				"%d events of %s never came, and flame made them up from its files, since %s", l.MadeUp, l.Host, since)
		}
	}
	return findings
}

// lateEvents returns the late events since they were last asked for.
func (d Doctor) lateEvents(ctx context.Context, at place.Place) (late []project.LateEvents, err error) {
	p, closeProject, err := d.Open(at, false)
	if err != nil {
		return nil, err
	}
	late, err = p.TakeLate(ctx)
	return late, errors.Join(err, closeProject())
}

// checkLearned tells of counts that the project cannot learn from.
func (d Doctor) checkLearned(ctx context.Context, at place.Place) []core.Finding {
	p, closeProject, err := d.Open(at, false)
	if err != nil {
		return nil // a finding of its own
	}
	lessons, err := autonomy.Learned(ctx, p)
	if errors.Join(err, closeProject()) != nil || lessons.Damage == "" {
		return nil
	}
	return []core.Finding{{
		What: "what the project learned is not used: " + lessons.Damage,
		Hint: "a newer flame may have written it; `flame learned --forget` begins anew, and nothing else depends on it",
	}}
}
