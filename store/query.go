package store

import (
	"flame/core"
	"flame/project"
	"flame/store/disk"
	"flame/store/form"
)

// FindFrames returns the frames that q describes. An After that does not exist is
// core.ErrNotFound.
func (t *tx) FindFrames(q project.FrameQuery) ([]core.Frame, error) {
	var after core.Frame
	if q.After != "" && q.Order != project.ByID {
		var err error
		if after, err = t.Frame(q.After); err != nil {
			return nil, err
		}
	}
	var v *voiding
	if cascadesMatter(q) {
		var err error
		if v, err = t.voiding(); err != nil {
			return nil, err
		}
	}
	list := listFrames(q, after, nil)
	if v == nil {
		return readFrames(t, list.query(), list.args...)
	}
	if q.Order == project.RecentFirst && q.Limit > 0 {
		frames, err := readFrames(t, list.query(), list.args...)
		if err != nil || len(frames) == q.Limit && v.before(frames) {
			return frames, err
		}
	}
	voided, err := v.voidedIn(q)
	if err != nil {
		return nil, err
	}
	list = listFrames(q, after, voided)
	return readFrames(t, list.query(), list.args...)
}

// listFrames returns the SQL of FindFrames: frames as stored, and then those
// voided ones that q describes as they read.
func listFrames(q project.FrameQuery, after core.Frame, voided []voidedSet) *selection {
	list := &selection{}
	for i, part := range parts(q) {
		if i > 0 {
			list.add(" UNION ALL ")
		}
		list.add("SELECT " + frameColumns())
		list.frames(part)
		list.without(voided)
		list.after(q, after)
	}
	for _, set := range voided {
		if wants(q, core.Invalidated) {
			list.add(" UNION ALL SELECT "+voidedColumns(), set.cascade.changes()...)
			list.frames(set.within(q))
			list.after(q, after)
		}
	}
	order := orders[q.Order]
	if inOrder, is := textOrders[q.Order]; is && q.Text != "" && len(voided) == 0 {
		order = inOrder
	}
	list.add(" ORDER BY "+order+form.AtMost, form.LimitOf(q.Limit))
	return list
}

// after adds q's After, which is the given frame.
func (s *selection) after(q project.FrameQuery, frame core.Frame) {
	if q.After != "" && q.Order != project.ByID {
		s.add(" AND (f.created_at, f.key) > (?, "+form.KeyOf+")", frame.CreatedAt, frame.ID)
	}
}

// parts splits a query for several statuses by last change into one for each:
// every part then comes in order from an index, and SQLite merges them.
func parts(q project.FrameQuery) []project.FrameQuery {
	if q.Order != project.RecentFirst || len(q.Statuses) < 2 {
		return []project.FrameQuery{q}
	}
	statuses := form.Unique(q.Statuses)
	list := make([]project.FrameQuery, len(statuses))
	for i, status := range statuses {
		list[i] = q
		list[i].Statuses = []core.Status{status}
	}
	return list
}

// orders is the SQL of each order of frames.
var orders = map[project.FrameOrder]string{
	project.OldestFirst: "created_at, key",
	project.NewestFirst: "created_at DESC, key DESC",
	project.RecentFirst: "updated_at DESC, key DESC",
	project.ByID:        "d.id",
}

// textOrders are the orders of a search: the word index returns its matches by
// key, so that the newest of very many are found without looking at the others.
var textOrders = map[project.FrameOrder]string{
	project.OldestFirst: "d.key",
	project.NewestFirst: "d.key DESC",
}

// CountFrames counts the frames that q describes, by status.
func (t *tx) CountFrames(q project.FrameQuery) (map[core.Status]int, error) {
	counts, err := t.sql.counts(q)
	if err != nil || q.Roots || !wants(q, core.Planned) && !wants(q, core.Invalidated) {
		return counts, err
	}
	v, err := t.voiding()
	if err == nil && v != nil {
		err = v.moveVoided(q, counts)
	}
	return counts, err
}

// counts is CountFrames of the frames as they are stored.
func (s *statements) counts(q project.FrameQuery) (map[core.Status]int, error) {
	if len(q.Statuses) == 0 {
		q.Statuses = core.Statuses // so that an index by status can be used
	}
	sel := countFrames(q)
	counts := map[core.Status]int{}
	err := s.each(func(rows *disk.Rows) error {
		var status core.Status
		var n int
		err := rows.Scan(&status, &n)
		if n > 0 {
			counts[status] = n
		}
		return err
	}, sel.query(), sel.args...)
	return counts, err
}

// countFrames is the SQL of CountFrames. An index has the frames of each status side by side
// where there may be very many: SQLite counts those in a third of the steps that it takes to
// group them.
func countFrames(q project.FrameQuery) *selection {
	count := &selection{}
	if q.Parent != "" || len(keySets(q)) > 0 {
		count.add("SELECT f.status, count(*)")
		count.frames(q)
		count.add(" GROUP BY f.status")
		return count
	}
	count.add("SELECT s.value, (SELECT count(*) FROM frames f INDEXED BY " + index(q) + " WHERE f.status = s.value")
	if q.Roots {
		count.add(" AND f.parent IS NULL")
	}
	if !q.Archived {
		count.add(" AND f.archived_at = 0")
	}
	count.add(") FROM json_each(?) s", form.JSONOf(core.Words(q.Statuses...)))
	return count
}
