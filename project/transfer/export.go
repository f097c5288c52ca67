package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"flame/core"
	"flame/core/outline"
	"flame/local/place"
	"flame/project"
)

// ExportResult is the result of an export.
type ExportResult struct {
	Frames int      // written ones
	Left   []string // what was left out, in words: imports would refuse it
}

// An export is an export in progress. It holds no more than a page of frames in memory, and
// reads each page in a separate View.
type export struct {
	p       *project.Project
	dir     string // target
	folder  string // of the frames' files in dir
	written int
	left    []string // see Exported
}

// Export writes the project as a folder in the first description's format. It replaces existing files
// whole, and deletes files of an earlier export whose frames are gone. It writes the state
// file after the frames and before the deletions, so the state never names frames without
// files.
func Export(ctx context.Context, p *project.Project, by project.Caller, dir string) (done ExportResult, err error) {
	e := &export{p: p, dir: dir, folder: filepath.Join(dir, "frames")}
	if err := os.MkdirAll(e.folder, 0o755); err != nil {
		return done, err
	}
	var state State
	var all, roots []outline.Link
	err = p.View(ctx, by, func(s *project.Op) (err error) {
		if state, err = empty(s); err != nil {
			return err
		}
		if all, err = s.Tx.Links(project.FrameQuery{Archived: true}); err != nil {
			return err
		}
		roots, err = s.Tx.Links(project.FrameQuery{Archived: true, Roots: true})
		return err
	})
	if err != nil {
		return done, err
	}
	err = place.WriteAtomic(filepath.Join(dir, "state.json"), 0o644, func(to io.Writer) error { return e.writeState(ctx, to, state, roots) })
	if err == nil {
		err = e.dropStale(ctx)
	}
	if nameless := len(all) - e.written - len(e.left); nameless > 0 {
		e.left = append(e.left, fmt.Sprintf("frames without an id: %d", nameless))
	}
	return ExportResult{e.written, e.left}, err
}

// writeState writes the state in the form of encoding/json with an indent of two spaces, and
// at the same time a file for each frame.
func (e *export) writeState(ctx context.Context, to io.Writer, state State, roots []outline.Link) error {
	raw, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return err
	}
	// Each of these occurs once, because quotes in texts are escaped.
	head, rest, _ := strings.Cut(string(raw), `"frames": {}`)
	middle, tail, _ := strings.Cut(rest, `"rootFrameIDs": []`)
	frames := &members{to: to, begin: head + `"frames": {`, end: "}" + middle}
	err = e.eachFrame(ctx, func(f StateFrame) error {
		name, err := json.Marshal(f.ID)
		if err != nil {
			return err
		}
		if err := frames.write(string(name)+": ", f); err != nil {
			return err
		}
		return writeJSON(filepath.Join(e.folder, fileName(f.ID)), f)
	})
	if err = errors.Join(err, frames.close()); err != nil {
		return err
	}
	ids := &members{to: to, begin: `"rootFrameIDs": [`, end: "]" + tail + "\n"}
	err = e.p.Store.View(ctx, func(tx project.Tx) error {
		return project.EachFrame(tx, roots, func(f core.Frame) error {
			if f.ID == "" || !f.Status.Valid() {
				return nil
			}
			return ids.write("", f.ID)
		})
	})
	return errors.Join(err, ids.close())
}

// eachFrame calls f for every sound frame, in the order of ids.
func (e *export) eachFrame(ctx context.Context, f func(StateFrame) error) error {
	for last := ""; ; {
		var page []StateFrame
		var left []string
		next := ""
		err := e.p.Store.View(ctx, func(tx project.Tx) error {
			frames, err := tx.FindFrames(project.FrameQuery{Archived: true, Order: project.ByID, After: last, Limit: project.PageSize})
			if err != nil {
				return err
			}
			page, left, next = page[:0], left[:0], ""
			for _, frame := range frames {
				if next = frame.ID; !frame.Status.Valid() {
					left = append(left, fmt.Sprintf("%s: its status is %s", frame.ID, core.OneLine(string(frame.Status), 40)))
					continue
				}
				state, err := stateOf(tx, frame)
				if err != nil {
					return err
				}
				page = append(page, state)
			}
			return nil
		})
		if err != nil || next == "" {
			return err
		}
		for _, frame := range page {
			if err := f(frame); err != nil {
				return err
			}
		}
		e.written, e.left, last = e.written+len(page), append(e.left, left...), next
	}
}

// members writes the members of a JSON object or list one by one, indented as
// values of an outermost object.
type members struct {
	to         io.Writer
	begin, end string // the text before and after them
	begun      bool
}

func (m *members) write(name string, value any) error {
	raw, err := json.MarshalIndent(value, "    ", "  ")
	if err != nil {
		return err
	}
	before := ","
	if !m.begun {
		m.begun, before = true, m.begin
	}
	_, err = fmt.Fprintf(m.to, "%s\n    %s%s", before, name, raw)
	return err
}

func (m *members) close() error {
	before := "\n  "
	if !m.begun {
		before = m.begin
	}
	_, err := io.WriteString(m.to, before+m.end)
	return err
}

// dropStale deletes the files that an earlier export wrote for frames that no longer
// exist: a later import would bring them back. Other files stay.
func (e *export) dropStale(ctx context.Context) error {
	folder, err := os.Open(e.folder)
	if err != nil {
		return err
	}
	defer folder.Close()
	for {
		entries, err := folder.ReadDir(project.PageSize)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = e.dropStaleOf(ctx, entries)
		}
		if err != nil {
			return err
		}
	}
}

// dropStaleOf deletes those files among entries whose frames are gone.
func (e *export) dropStaleOf(ctx context.Context, entries []fs.DirEntry) error {
	var stale []string
	err := e.p.Store.View(ctx, func(tx project.Tx) error {
		stale = stale[:0]
		for _, entry := range entries {
			var f StateFrame
			file := filepath.Join(e.folder, entry.Name())
			if filepath.Ext(file) != ".json" || readJSON(file, &f) != nil || f.ID == "" || entry.Name() != fileName(f.ID) {
				continue
			}
			_, err := tx.Frame(f.ID)
			if errors.Is(err, core.ErrNotFound) {
				stale, err = append(stale, file), nil
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, file := range stale {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// LogFile returns the path of a frame's log in the data folder, and makes the folder for
// it.
func LogFile(data, frame, extension string) (string, error) {
	dir := filepath.Join(data, "logs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return filepath.Join(dir, strings.TrimSuffix(fileName(frame), ".json")+"."+extension), nil
}

// fileName returns the name of a frame's file. It keeps lower-case letters, digits and '-',
// and writes every other byte as '_' and two hex digits, so that no two ids share a name. It
// escapes capitals because some file systems ignore case.
func fileName(id string) string {
	var b strings.Builder
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	name := b.String()
	if len(name) > 200 {
		name = fmt.Sprintf("%s_%x", name[:120], sha256.Sum256([]byte(id)))
	}
	return name + ".json"
}

func writeJSON(file string, v any) error {
	return place.WriteAtomic(file, 0o644, func(to io.Writer) error {
		raw, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return err
		}
		_, err = to.Write(append(raw, '\n'))
		return err
	})
}
