// Package usage counts the tokens and USD that sessions used, by the frames that they
// worked in: from hosts' events, from their logs, which are read later, and from what a
// gateway between them and their models measures.
package usage

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"flame/core"
	"flame/project"
	"flame/project/autonomy"
	"flame/project/files"
)

const recordCounted project.Kind[string] = "counted" // by session: id of the last message whose usage the host told

// CountLater has the host's log of the caller's session at path counted soon, by any
// process that sweeps with a TranscriptReader. A session that flame never saw stays
// unknown.
func CountLater(ctx context.Context, p *project.Project, by project.Caller, path string) error {
	return p.IfKnown(ctx, by, func(s *project.Step) error { return s.CountLater(path) })
}

// A Message is the usage of one answer of a session's agent.
type Message struct {
	ID      string      // of the host; ids of later messages sort after those of earlier ones
	At      core.Millis // when
	Usage   core.Usage
	Context int // tokens that were in the session's context then
}

// Add counts answers that a host reports of the caller's session, each of them once.
// Before the session has a frame, or a parent with one, nothing is counted: the host has
// to report the answers again.
func Add(s *project.Step, usages []Message) error {
	home, err := homeOf(s, s.Session)
	if err != nil || home == "" {
		return err
	}
	var last string
	if _, err := recordCounted.Load(s.Tx, s.Session.ID, &last); err != nil {
		return err
	}
	fresh := slices.DeleteFunc(slices.Clone(usages), func(u Message) bool { return u.ID <= last })
	slices.SortFunc(fresh, func(a, b Message) int { return cmp.Compare(a.ID, b.ID) })
	fresh = slices.CompactFunc(fresh, func(a, b Message) bool { return a.ID == b.ID })
	if len(fresh) == 0 {
		return nil
	}
	var log project.Transcript
	if _, err := project.RecordTranscript.Load(s.Tx, s.Session.ID, &log); err != nil {
		return err
	}
	var spent []spending
	for _, u := range fresh {
		if u.At >= log.Since {
			spent = append(spent, spending{at: u.At, usage: u.Usage, context: u.Context, messages: 1})
		}
	}
	if err := errors.Join(spend(s, s.Session.ID, home, spent), forgetWorked(s, s.Session.ID, spent, s.Now)); err != nil {
		return err
	}
	if s.Session.Tracked {
		s.Session.MessageCount += len(spent)
	}
	return recordCounted.Save(s.Tx, s.Session.ID, fresh[len(fresh)-1].ID)
}

// AddSupervised counts what the supervisor of an agent saw it use since the last call:
// tokens, USD, tool calls and answers. It is charged to the frame that the agent's
// session works in, or to the agent's own if the session is not known.
func AddSupervised(s *project.Step, session, own string, used core.Usage, answers int) error {
	worked, err := project.TimelineOf(s.Tx, session)
	if err != nil || used == (core.Usage{}) {
		return err
	}
	return charge(s, worked.At(s.Now, own), spending{usage: used, messages: answers})
}

// A spending is the usage of some messages or requests at one time.
type spending struct {
	at       core.Millis
	answer   string // id of the answer that it is of; empty for other messages
	usage    core.Usage
	context  int // tokens in the session's context; 0: not reported
	messages int
	classes  tallies // of requests that a gateway saw
}

// homeOf returns the id of the frame that a session's work counts for by default: its
// root, or for a child without a frame the one that its parent works in; empty without
// one.
func homeOf(s *project.Step, session core.Session) (string, error) {
	if session.HasFrame() || session.Parent == "" {
		return session.Root, nil
	}
	parent, err := s.Tx.Session(session.Parent)
	if err != nil {
		return "", project.IgnoreMissing(err)
	}
	open, err := s.NearestOpen(parent.Current)
	return cmp.Or(open, parent.Root), err
}

// spend adds spent to the frames that a session worked in at the time. Their UpdatedAt
// stays, because nobody changed them.
func spend(s *project.Step, session, home string, spent []spending) error {
	worked, err := project.TimelineOf(s.Tx, session)
	if err != nil {
		return err
	}
	byFrame := map[string]spending{}
	for _, one := range spent {
		id := worked.At(one.at, home)
		sum := byFrame[id]
		sum.usage, sum.messages = sum.usage.Add(one.usage), sum.messages+one.messages
		sum.context, sum.classes = cmp.Or(one.context, sum.context), sum.classes.add(one.classes)
		byFrame[id] = sum
	}
	for id, sum := range byFrame {
		if err := charge(s, id, sum); err != nil {
			return err
		}
	}
	return nil
}

// forgetWorked drops what precedes spent in the timeline of a session, but not what
// precedes upto.
func forgetWorked(s *project.Step, session string, spent []spending, upto core.Millis) error {
	if len(spent) == 0 {
		return nil
	}
	worked, err := project.TimelineOf(s.Tx, session)
	if err != nil {
		return err
	}
	newest := slices.MaxFunc(spent, func(a, b spending) int { return cmp.Compare(a.at, b.at) })
	return project.ForgetBefore(s.Tx, session, worked, min(newest.at, upto))
}

// charge adds sum to one frame. If the frame was deleted, its usage is lost with it.
func charge(s *project.Step, id string, sum spending) error {
	frame, err := s.Tx.Frame(id)
	if err != nil {
		return project.IgnoreMissing(err)
	}
	if sum.usage != (core.Usage{}) {
		frame.Usage = frame.Usage.Add(sum.usage)
		if err := s.Tx.SaveFrame(frame); err != nil {
			return err
		}
	}
	if err := note(s.Tx, recordByFrame, id, sum.classes); err != nil {
		return err
	}
	return autonomy.UpdateActivity(s, id, func(a *autonomy.Activity) {
		a.Messages += sum.messages
		a.Tokens = cmp.Or(sum.context, a.Tokens)
	})
}

// Forget drops the records of how far a session's usage was counted. What its requests
// came to stays in the sums of the project and of its frames.
func Forget(tx project.Tx, session string) error {
	return errors.Join(
		project.RecordTranscript.Delete(tx, session), recordCounted.Delete(tx, session), tx.ClearDeadline(project.UsageDeadline, session),
		recordJoined.Delete(tx, session), recordBySession.Delete(tx, session), files.Forget(tx, session),
	)
}
