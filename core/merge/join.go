package merge

import "flame/core"

// ApplyRemote returns the document of a frame after another machine's document came. It merges that
// document with was and with this machine's changes since. was is as for UpdateLocal; f is the frame in
// the store, the zero Frame if there is none. Afterwards the clock has seen all stamps that came.
//
// If this machine's data were restored from an older copy, came may contain what this machine
// said after that copy was made. Changes since the restore come on top of that.
func ApplyRemote(was Doc, f core.Frame, came Doc, c *Clock, now core.Millis) Doc {
	for _, s := range came.Stamps() {
		if s.Machine == c.Machine {
			c.Observe(s, now)
		}
	}
	tick := func() Timestamp { return c.Tick(now) }
	here := f
	if was.ID == "" && f.ID != "" && f.Machine == "" {
		here.Machine = elsewhere(came, c.Machine) // as of frames that were imported
	}
	if i := came.Invalid; i != nil && was.Invalid == nil && f.InvalidationReason == i.Reason && f.InvalidatedAt == i.At {
		was.Invalid = i // by the same cascade, which runs on each machine
	}
	mine := was
	switch {
	case f.ID != "":
		mine = onTop(was, UpdateLocal(was, here, c.Machine, tick), f, came, c.Machine, tick)
	case was.ID != "" && was.Deleted.IsZero() && was.Work.Machine == c.Machine:
		mine = Delete(was, c.Machine, tick)
	}
	for _, s := range came.Stamps() {
		c.Observe(s, now)
	}
	merged := Merge(mine, came)
	if merged.IsDeleted() && f.Status == core.InProgress && f.Machine == "" && merged.Work.Machine == c.Machine {
		merged.Work.Stamp = tick() // another machine must not take a frame away while someone works in it
	}
	return merged
}

// elsewhere returns the machine that a frame belongs to by its document; empty if it is this
// machine.
func elsewhere(d Doc, machine string) string {
	if d.Work.Machine == machine {
		return ""
	}
	return d.Work.Machine
}

// Delete returns the document of a frame that was deleted on machine. Usage of that machine is
// deleted too: it counts in another frame, or not at all.
func Delete(was Doc, machine string, tick func() Timestamp) Doc {
	d := was
	d.Deleted = tick()
	if used, is := was.Usage[machine]; is && used.Usage != (core.Usage{}) {
		d = d.withUsage(machine, MachineUsage{Stamp: tick()})
	}
	return d
}

// IsDeleted reports whether the frame was deleted and no work in it would be lost: flame only deletes
// empty roots. A frame with children stays anyway.
func (d Doc) IsDeleted() bool {
	w := d.Work
	isEmpty := w.Parent == "" && len(d.Artifacts)+len(d.Decisions)+len(w.Summary)+len(w.Results) == 0
	return !d.Deleted.IsZero() && d.Deleted.Machine == w.Machine && isEmpty && w.Stamp.Compare(d.Deleted) < 0
}

// onTop returns mine, this machine's document, with its changes since was on top of what came
// says in this machine's name, if was does not have that.
func onTop(was, mine Doc, f core.Frame, came Doc, machine string, tick func() Timestamp) Doc {
	said, before := came.Usage[machine], was.Usage[machine]
	since := mine.Usage[machine].Usage.Minus(before.Usage)
	switch {
	case was.ID != "" && said.Stamp.Compare(before.Stamp) <= 0, f.Machine != "" && was.ID == "":
		return mine
	case was.ID == "": // this machine has the frame without a document: it owns everything that came does not give to another
		since = f.Usage.Minus(came.used("")).Max(core.Usage{})
		if came.Work.Machine == machine {
			mine.Work.Term = max(mine.Work.Term, came.Work.Term)
		}
	}
	if sameUsage(since, core.Usage{}, f.Usage.CostUSD) {
		return mine.withUsage(machine, said)
	}
	return mine.withUsage(machine, MachineUsage{said.Usage.Add(since), tick()})
}
