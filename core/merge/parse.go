package merge

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"flame/core"
)

// Limits of a document from another machine.
const (
	maxID       = 256                             // bytes of an id
	maxText     = 1 << 20                         // bytes of another text: the limit of project.RequiredText
	maxSet      = 10_000                          // elements of a set
	maxTerm     = math.MaxInt32                   // of takeovers
	maxMachines = 1000                            // with usage in one frame, so that sums stay finite
	maxTime     = core.Millis(1 << 53)            // of a time in a frame: the largest exact number in JSON
	maxAhead    = core.Millis(365 * 24 * 3600000) // how far ahead of this machine's clock a stamp may be: room for a wrong clock, not for mischief
)

// ErrNewer says that this program does not know a document's version.
var ErrNewer = core.Invalidf("it was written by a newer flame")

// ValidMachine reports whether id can be the id of a machine: letters from a to z,
// digits, and hyphens that do not begin it.
func ValidMachine(id string) bool {
	return id != "" && len(id) <= 63 && id[0] != '-' && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// ValidID reports whether a document may have this id. Models see ids unquoted, so an id must not
// read like flame's own text or change the direction of writing.
func ValidID(id string) bool {
	return id != "" && len(id) <= maxID && !strings.ContainsFunc(id, func(r rune) bool {
		return r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsPrint(r) || unicode.Is(unicode.Bidi_Control, r)
	})
}

// Parse reads an untrusted document. Its error is ErrNewer or says what is wrong. now is the time
// of this machine.
func Parse(text []byte, now core.Millis) (Doc, error) {
	var d Doc
	var version struct{ V int }
	if err := json.Unmarshal(text, &version); err != nil {
		return d, core.Invalidf("it is not a document of a frame: %v", err)
	}
	if version.V > Version {
		return d, ErrNewer
	}
	if !utf8.Valid(text) {
		return d, core.Invalidf("it is not UTF-8")
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return d, core.Invalidf("it is not a document of a frame: %v", err)
	}
	if err := d.check(now); err != nil {
		return d, err
	}
	return d.inOrder(now), nil
}

// inOrder returns the document in normal form: documents that say the same become equal.
func (d Doc) inOrder(now core.Millis) Doc {
	for _, t := range []*core.Millis{&d.CreatedAt, &d.UpdatedAt} {
		*t = min(*t, now+maxAhead) // a later frame would stay first in every list
	}
	d.Artifacts, d.Decisions, d.Planned = union(d.Artifacts, nil), union(d.Decisions, nil), union(d.Planned, nil)
	d.Usage = spent(d.Usage, nil)
	return d
}

// check returns an error for a document that flame cannot have written.
func (d Doc) check(now core.Millis) error {
	switch {
	case d.V != Version:
		return core.Invalidf("it has the version %d", d.V)
	case d.ID == "" || d.Work.Parent == d.ID:
		return core.Invalidf("its id or its parent's id is not valid")
	case !ValidMachine(d.Work.Machine):
		return core.Invalidf("it belongs to no machine")
	case !d.Work.Stamp.IsZero() && d.Work.Stamp.Machine != d.Work.Machine:
		return core.Invalidf("machine %s wrote it in the name of %s", d.Work.Stamp.Machine, d.Work.Machine)
	case !d.Work.Status.Valid() || d.Work.Status == core.Invalidated && d.Invalid == nil:
		return core.Invalidf("its status is %q", d.Work.Status)
	case d.Work.Term < 0 || d.Work.Term > maxTerm:
		return core.Invalidf("it was taken over %d times", d.Work.Term)
	case max(len(d.Artifacts), len(d.Decisions), len(d.Planned)) > maxSet || len(d.Usage) > maxMachines:
		return core.Invalidf("its lists are longer than %d, or it was used by more than %d machines", maxSet, maxMachines)
	}
	return errors.Join(d.checkTexts(), d.checkTimes(now), d.checkUsage())
}

// checkTexts refuses invalid ids, and the texts that project.RequiredText refuses.
func (d Doc) checkTexts() error {
	ids, all := []string{d.ID, d.Work.Parent, d.Work.Session}, []string{d.Work.Goal, d.Work.SuccessCriteria, d.Work.Summary, d.Work.Results}
	ids, all = append(ids, texts(d.Planned)...), slices.Concat(all, texts(d.Artifacts), texts(d.Decisions))
	if d.Invalid != nil {
		all = append(all, d.Invalid.Reason)
	}
	for _, id := range ids {
		if id != "" && !ValidID(id) {
			return core.Invalidf("it contains an invalid id")
		}
	}
	for _, text := range all {
		if len(text) > maxText || strings.ContainsRune(text, 0) {
			return core.Invalidf("it contains a text that is longer than %d bytes or not valid", maxText)
		}
	}
	return nil
}

// checkTimes refuses stamps that no clock can have made, and times beyond maxTime. Other odd times
// pass, because imported frames may have them.
func (d Doc) checkTimes(now core.Millis) error {
	for _, t := range d.times() {
		if t < -maxTime || t > maxTime {
			return core.Invalidf("its time %d ms is out of range", t)
		}
	}
	for _, s := range d.Stamps() {
		switch {
		case !ValidMachine(s.Machine) || s.Count < 0 || s.Count > maxCount:
			return core.Invalidf("it has a stamp without a valid machine")
		case s.At < 0 || s.At > now+maxAhead:
			return core.Invalidf("its stamp of %d ms is out of range", s.At)
		}
	}
	return nil
}

// times returns all points in time in the document, without stamps.
func (d Doc) times() []core.Millis {
	all := []core.Millis{d.CreatedAt, d.UpdatedAt, d.Work.StartedAt, d.Work.EndedAt, d.Archived.At}
	if d.Invalid != nil {
		all = append(all, d.Invalid.At)
	}
	return all
}

// checkUsage refuses usage that would make sums meaningless.
func (d Doc) checkUsage() error {
	const (
		most        = 1 << 50
		mostDollars = 1e9
	)
	for machine, s := range d.Usage {
		if !ValidMachine(machine) || math.Abs(s.Usage.CostUSD) > mostDollars || !s.Usage.Within(-most, most) {
			return core.Invalidf("it has usage without a valid machine")
		}
	}
	return nil
}
