package transfer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/project"
)

// ImportResult is the result of an import.
type ImportResult struct {
	Added     int      `json:"added"`     // frames that did not exist
	Unchanged int      `json:"unchanged"` // frames that existed and are the same
	Grown     int      `json:"grown"`     // frames of past sessions of which their logs tell more, or other numbers, than before
	Kept      []string `json:"kept"`      // ids of frames that existed and differ; ours stay
	Repaired  []string `json:"repaired"`  // the repairs, in words
	Unread    []string `json:"unread"`    // logs that could not be read to their end, and why
}

const stateName = "state.json"

// IsState reports whether Import can read path; if not, path may be a log of a host.
func IsState(path string) bool {
	if _, err := os.Stat(filepath.Join(path, stateName)); err == nil {
		return true
	}
	var file struct {
		Frames map[string]json.RawMessage `json:"frames"`
	}
	return filepath.Ext(path) == ".json" && readJSON(path, &file) == nil && file.Frames != nil
}

// Import reads a folder in the first description's format: state.json and frames/*.json. It also accepts
// the path of such a state file, with any name, with the frames beside it. Frames keep their
// ids; a repeated import changes nothing. Import works in batches, each complete in itself,
// so an interrupted import can be repeated.
func Import(ctx context.Context, p *project.Project, dir string) (done ImportResult, err error) {
	state, err := readState(dir)
	if err != nil {
		return done, err
	}
	return importState(ctx, p, state, importFrame)
}

// ImportHistory imports frames made from the logs of past sessions. Frames of sessions that
// flame saw itself already exist, under other ids, and count as unchanged.
func ImportHistory(ctx context.Context, p *project.Project, state State) (ImportResult, error) {
	return importState(ctx, p, state, func(tx project.Tx, f StateFrame, done *ImportResult) error {
		session, err := tx.Session(f.Session)
		if err == nil && session.HasFrame() {
			done.Unchanged++
			return nil
		}
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return err
		}
		have, err := tx.Frame(f.ID)
		if err != nil || have.IsRemote() {
			return importFrame(tx, f, done)
		}
		now := grown(have, f.Frame)
		if same(now, have) {
			return importFrame(tx, f, done)
		}
		done.Grown++
		return tx.SaveFrame(now)
	})
}

// grown returns the frame of a past session with what its log tells now, unless that is an older copy of the
// log, or people changed the frame: the session went on, or an older flame read the log less well.
func grown(have, now core.Frame) core.Frame {
	if have.IsOpen() || now.EndedAt < have.EndedAt || have.UpdatedAt > have.EndedAt {
		return have
	}
	have.Goal, have.Status, have.Summary, have.Results, have.Usage = now.Goal, now.Status, now.Summary, now.Results, now.Usage
	have.EndedAt, have.UpdatedAt = now.EndedAt, now.UpdatedAt
	return have
}

func importState(ctx context.Context, p *project.Project, state State, take func(project.Tx, StateFrame, *ImportResult) error) (done ImportResult, err error) {
	frames, repaired, err := orderState(state)
	if err != nil {
		return done, err
	}
	done.Repaired = repaired
	err = project.InBatches(ctx, p, frames, func(tx project.Tx, f StateFrame) (part ImportResult, err error) {
		return part, take(tx, f, &part)
	}, func(part ImportResult) {
		done.Added += part.Added
		done.Unchanged += part.Unchanged
		done.Grown += part.Grown
		done.Kept = append(done.Kept, part.Kept...)
	})
	if err != nil || done.Added == 0 {
		return done, err
	}
	return done, activate(ctx, p, state.ActiveFrameID)
}

// activate makes the active frame of the imported state current for people at a shell, unless
// a session works in another frame.
func activate(ctx context.Context, p *project.Project, active string) error {
	return p.Store.Update(ctx, func(tx project.Tx) error {
		frame, err := tx.Frame(active)
		if err != nil || !frame.IsOpen() {
			return project.IgnoreMissing(err)
		}
		recent, err := tx.FindSessions(project.SessionQuery{Limit: maxRecent})
		if err != nil {
			return err
		}
		s := p.Step(tx, project.Caller{})
		for _, session := range recent {
			if open, err := s.NearestOpen(session.Current); open != "" || err != nil {
				return err
			}
		}
		shell := core.Session{ID: project.CommandLine, Host: project.CommandLine, State: core.SessionActive, CreatedAt: s.Now}
		if known, err := tx.Session(shell.ID); err == nil {
			shell = known
		}
		shell.Current, shell.LastActivityAt = active, s.Now
		return tx.SaveSession(shell)
	})
}

// maxRecent limits the sessions among which activate looks for one that works in a frame.
const maxRecent = 20

func importFrame(tx project.Tx, f StateFrame, done *ImportResult) error {
	have, err := tx.Frame(f.ID)
	if err == nil {
		f.Machine = have.Machine // a frame belongs to the machine that works in it
		if same(have, f.Frame) {
			done.Unchanged++
		} else {
			done.Kept = append(done.Kept, have.ID)
		}
		return nil
	}
	if !errors.Is(err, core.ErrNotFound) {
		return err
	}
	done.Added++
	if len(f.Extra) > 0 {
		if err := recordImported.Save(tx, f.ID, f.Extra); err != nil {
			return err
		}
	}
	f.Machine = ""
	return tx.SaveFrame(f.Frame)
}

// readState reads state.json and the frame files beside it. If both contain a frame,
// state.json wins, as in the reference.
func readState(path string) (state State, err error) {
	main, dir := filepath.Join(path, stateName), path
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		main, dir = path, filepath.Dir(path)
	}
	if err := readJSON(main, &state); err != nil {
		return state, err
	}
	if state.Version > StateVersion {
		return state, core.Invalidf("%s has version %d, this flame reads version %d", main, state.Version, StateVersion).
			WithHint("use a newer flame")
	}
	if state.Frames == nil {
		state.Frames = map[string]StateFrame{}
	}
	files, err := fs.Glob(os.DirFS(dir), "frames/*.json")
	if err != nil {
		return state, err
	}
	for _, file := range files {
		var f StateFrame
		if err := readJSON(filepath.Join(dir, file), &f); err != nil {
			return state, err
		}
		if _, known := state.Frames[f.ID]; !known {
			state.Frames[f.ID] = f
		}
	}
	return state, nil
}

func readJSON(file string, v any) error {
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return core.NotFoundf("%s does not exist", file).WithHint("name the folder that holds state.json (of the original plugin, it is called flame or stack)")
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return core.Invalidf("%s cannot be read: %v", file, err).WithHint("repair or remove the file; this import wrote nothing after it")
	}
	return nil
}

// orderState returns the frames, parents first and each with an existing parent, and
// descriptions of the repairs that this needed.
func orderState(state State) (ordered []StateFrame, repaired []string, err error) {
	ids, err := idsByAge(state)
	if err != nil {
		return nil, nil, err
	}
	placed := make(map[string]bool, len(ids))
	for _, id := range ids {
		var way []StateFrame // from the frame up to a placed one, or to a root
		for onWay := map[string]bool{}; id != "" && !placed[id]; {
			onWay[id] = true
			f := state.Frames[id]
			if wrong := wrongParent(state, onWay, f); wrong != "" {
				repaired = append(repaired, fmt.Sprintf("%s: %s; it is a root now", id, wrong))
				f.Parent = ""
			}
			if missing := lo.Reject(f.PlannedChildren, func(child string, _ int) bool { return lo.HasKey(state.Frames, child) }); len(missing) > 0 {
				repaired = append(repaired, fmt.Sprintf("%s: without its planned children %s, which are missing", id, core.List(missing)))
				f.PlannedChildren = lo.Without(f.PlannedChildren, missing...)
			}
			way = append(way, f)
			id = f.Parent
		}
		for _, f := range slices.Backward(way) {
			placed[f.ID] = true
			ordered = append(ordered, f)
		}
	}
	return ordered, repaired, nil
}

// idsByAge returns the ids of all frames, the oldest first. It sets missing ids
// and checks the frames.
func idsByAge(state State) ([]string, error) {
	ids := make([]string, 0, len(state.Frames))
	for id, f := range state.Frames {
		if f.ID == "" {
			f.ID = id
			state.Frames[id] = f
		}
		if err := checkState(id, f); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	rank := ranks(state)
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(state.Frames[a].CreatedAt, state.Frames[b].CreatedAt), cmp.Compare(rank[a], rank[b]), cmp.Compare(a, b))
	})
	return ids, nil
}

// wrongParent describes why a frame cannot stay below its parent; empty if it can. The set
// below holds the frame itself and the frames visited below it.
func wrongParent(state State, below map[string]bool, f StateFrame) string {
	parent := f.Parent
	_, known := state.Frames[parent]
	switch {
	case parent == "":
		return ""
	case !known:
		return fmt.Sprintf("its parent %s is missing", parent)
	case below[parent]:
		return "it lies below itself by way of " + parent
	}
	return ""
}

// ranks returns the order of frames made in the same millisecond, according to the lists
// of roots and of planned children.
func ranks(state State) map[string]int {
	rank := map[string]int{}
	for _, f := range state.Frames {
		for i, id := range f.PlannedChildren {
			rank[id] = len(state.RootFrameIDs) + i
		}
	}
	for i, id := range state.RootFrameIDs {
		rank[id] = i
	}
	return rank
}

func checkState(id string, f StateFrame) error {
	switch {
	case f.ID != id:
		return core.Invalidf("state.json lists a frame as %q that calls itself %q", id, f.ID).WithHint("make the two the same")
	case strings.TrimSpace(id) == "":
		return core.Invalidf("state.json has a frame without an id").WithHint("give it a sessionID")
	case !f.Status.Valid():
		return core.Invalidf("frame %s has the unknown status %q", id, f.Status).WithHint("use planned, in_progress, completed, failed, blocked or invalidated")
	}
	return nil
}
