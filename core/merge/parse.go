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

// Limits of a document from elsewhere.
const (
	maxID       = 256                             // bytes of an id
	maxText     = 1 << 20                         // bytes of another text, as of those that are given to flame (see project.Clean)
	maxSet      = 10_000                          // elements of a set
	maxTerm     = math.MaxInt32                   // of takeovers
	maxMachines = 1000                            // that may have used something in one frame: sums stay numbers
	maxTime     = core.Millis(1 << 53)            // of a time that a frame tells: what numbers in JSON hold
	maxAhead    = core.Millis(365 * 24 * 3600000) // how far ahead of this machine's clock a stamp may be: a wrong clock, but no mischief
)

// ErrNewer is a document of a version that this program does not know.
var ErrNewer = core.Invalidf("it was written by a newer flame")

// ValidMachine reports whether id can be the id of a machine: letters from a to z,
// digits, and hyphens that do not begin it.
func ValidMachine(id string) bool {
	return id != "" && len(id) <= 63 && id[0] != '-' && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// ValidID reports whether a document may have this id. Ids are shown to models as they are,
// so that none may read like a text of flame's own, or be written backwards.
func ValidID(id string) bool {
	return id != "" && len(id) <= maxID && !strings.ContainsFunc(id, func(r rune) bool {
		return r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsPrint(r) || unicode.Is(unicode.Bidi_Control, r)
	})
}

// Parse reads a document that may come from anybody. It returns ErrNewer, or an error that
// says what is wrong. now is the time of this machine.
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

// inOrder returns the document in the form in which two that say the same are the same.
func (d Doc) inOrder(now core.Millis) Doc {
	for _, t := range []*core.Millis{&d.CreatedAt, &d.UpdatedAt} {
		*t = min(*t, now+maxAhead) // what is later than all else would stay first in every list
	}
	d.Artifacts, d.Decisions, d.Planned = union(d.Artifacts, nil), union(d.Decisions, nil), union(d.Planned, nil)
	d.Usage = spent(d.Usage, nil)
	return d
}

// check reports what no flame writes.
func (d Doc) check(now core.Millis) error {
	switch {
	case d.V != Version:
		return core.Invalidf("it has the version %d", d.V)
	case d.ID == "" || d.Work.Parent == d.ID:
		return core.Invalidf("its ids are not those of a frame and its parent")
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

// checkTexts refuses texts that flame refuses elsewhere too, and ids that are none.
func (d Doc) checkTexts() error {
	ids, all := []string{d.ID, d.Work.Parent, d.Work.Session}, []string{d.Work.Goal, d.Work.SuccessCriteria, d.Work.Summary, d.Work.Results}
	for _, e := range d.Planned {
		ids = append(ids, e.Text)
	}
	for _, e := range slices.Concat(d.Artifacts, d.Decisions) {
		all = append(all, e.Text)
	}
	if d.Invalid != nil {
		all = append(all, d.Invalid.Reason)
	}
	for _, id := range ids {
		if id != "" && !ValidID(id) {
			return core.Invalidf("an id in it is none")
		}
	}
	for _, text := range all {
		if len(text) > maxText || strings.ContainsRune(text, 0) {
			return core.Invalidf("a text in it is longer than %d bytes, or is none", maxText)
		}
	}
	return nil
}

// checkTimes refuses stamps that no clock gives out, and times beyond all reckoning. Those of
// imported frames may be odd.
func (d Doc) checkTimes(now core.Millis) error {
	for _, t := range d.times() {
		if t < -maxTime || t > maxTime {
			return core.Invalidf("it has a time, %d ms, that no clock shows", t)
		}
	}
	for _, s := range d.Stamps() {
		switch {
		case !ValidMachine(s.Machine) || s.Count < 0 || s.Count > maxCount:
			return core.Invalidf("a stamp of it is of no machine")
		case s.At < 0 || s.At > now+maxAhead:
			return core.Invalidf("it was written at %d ms, which no clock shows", s.At)
		}
	}
	return nil
}

// times returns all points in time that the document tells.
func (d Doc) times() []core.Millis {
	all := []core.Millis{d.CreatedAt, d.UpdatedAt, d.Work.StartedAt, d.Work.EndedAt, d.Archived.At}
	if d.Invalid != nil {
		all = append(all, d.Invalid.At)
	}
	return all
}

// checkUsage refuses what would make sums nonsense.
func (d Doc) checkUsage() error {
	const (
		most        = 1 << 50
		mostDollars = 1e9
	)
	for machine, s := range d.Usage {
		u := s.Usage
		if !ValidMachine(machine) || math.Abs(u.CostUSD) > mostDollars ||
			min(u.TokensIn, u.TokensOut, u.CacheRead, u.CacheWritten, u.ToolCalls) < -most ||
			max(u.TokensIn, u.TokensOut, u.CacheRead, u.CacheWritten, u.ToolCalls) > most {
			return core.Invalidf("its usage is that of no machine")
		}
	}
	return nil
}
