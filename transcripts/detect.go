package transcripts

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"flame/core"
)

// How logs are found.
const (
	agentPrefix = "agent-"     // begins the names of subagents' files
	metaSuffix  = ".meta.json" // ends that of the file beside
	sniffed     = 1 << 20      // bytes within which a format can be recognized
)

// A Log is one log of a host.
type Log struct {
	Format  *Format
	Path    string // "-" is standard input
	Session string // the session that a subagent's file belongs to; of a database the session wanted, empty for all
	Agent   string // the subagent whose file it is, by its name; else empty

	input io.Reader // of "-"
}

// Host returns the name of the host.
func (l Log) Host() string { return l.Format.Host }

// Grows reports whether the log is append-only.
func (l Log) Grows() bool { return l.Format.inLines() }

// Beside returns the file that belongs to the log: a subagent's description, or
// what SQLite has not yet put into a database.
func (l Log) Beside() string {
	if l.Format.Database != nil {
		return l.Path + "-wal"
	}
	return strings.TrimSuffix(l.Path, ".jsonl") + metaSuffix
}

// Messages returns the whole log; a subagent's follows its description. A torn
// last line ends it with an ErrTorn.
func (l Log) Messages(ctx context.Context) iter.Seq2[core.Message, error] {
	return func(yield func(core.Message, error) bool) {
		for entry, err := range l.Entries(ctx, core.LogPosition{}) {
			if !yield(entry.Message, err) {
				return
			}
		}
	}
}

// Entries returns what the log has after position from; only logs in lines have
// positions, others are returned whole. At the beginning comes the description
// beside a subagent's log.
func (l Log) Entries(ctx context.Context, from core.LogPosition) iter.Seq2[core.LogEntry, error] {
	return func(yield func(core.LogEntry, error) bool) {
		if l.Agent != "" && from.Offset == 0 && !l.giveMeta(yield) {
			return
		}
		for entry, err := range l.body(ctx, from) {
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			if !yield(entry, err) || err != nil {
				return
			}
		}
	}
}

func (l Log) giveMeta(yield func(core.LogEntry, error) bool) bool {
	m, err := l.Meta()
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	return yield(core.LogEntry{Message: m}, err) && err == nil
}

// Meta returns the current description beside a subagent's log, or
// fs.ErrNotExist.
func (l Log) Meta() (core.Message, error) { return metaEntry(l.Beside(), l.Session, l.Agent) }

func (l Log) body(ctx context.Context, from core.LogPosition) iter.Seq2[core.LogEntry, error] {
	if l.Format.Database != nil {
		return unplaced(l.Format.Database(ctx, l.Path, l.Session))
	}
	return func(yield func(core.LogEntry, error) bool) {
		r, from, closeLog, err := l.open(from)
		if err != nil {
			yield(core.LogEntry{Next: from}, err)
			return
		}
		defer closeLog()
		if l.Format.Document != nil {
			unplaced(l.Format.Document(r))(yield)
			return
		}
		entries(r, l.Format, from, true)(yield)
	}
}

func (l Log) open(from core.LogPosition) (io.Reader, core.LogPosition, func() error, error) {
	if l.input != nil {
		return l.input, core.LogPosition{}, func() error { return nil }, nil
	}
	file, from, err := open(l.Path, from)
	if err != nil {
		return nil, from, nil, err
	}
	return file, from, file.Close, nil
}

// unplaced returns messages of a log without positions.
func unplaced(messages iter.Seq2[core.Message, error]) iter.Seq2[core.LogEntry, error] {
	return func(yield func(core.LogEntry, error) bool) {
		for m, err := range messages {
			if !yield(core.LogEntry{Message: m}, err) {
				return
			}
		}
	}
}

// Detect finds the logs at path: a file, a folder of them, or "-" for input. A
// session's file of Claude Code includes those of its subagents, a folder all
// logs below it; parents come before children if names show them. If nothing
// can be read the error is a core.Problem.
func (f Formats) Detect(path string, input io.Reader) ([]Log, error) {
	if path == "-" {
		return f.detectInput(input)
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	var logs []Log
	switch {
	case info.IsDir():
		logs, err = f.detectDir(path)
	case info.Mode().IsRegular():
		logs, err = f.detectFile(path)
	default:
		err = core.Invalidf("%s is neither a file nor a folder", path).WithHint("give a pipe as the input, with - for its name")
	}
	if err == nil && len(logs) == 0 {
		err = f.unknownLog(path)
	}
	return logs, err
}

func (f Formats) unknownLog(path string) error {
	return core.Invalidf("%s is not a log that flame can read", path).WithHint(
		"it reads %s, and folders of these", f)
}

func (f Formats) detectInput(input io.Reader) ([]Log, error) {
	r := bufio.NewReaderSize(input, sniffed)
	format := f.sniff(firstLine(r))
	if format == nil || format.Database != nil {
		return nil, f.unknownLog("the input")
	}
	return []Log{{Format: format, Path: "-", input: r}}, nil
}

// firstLine returns a first line, or the beginning of a long one, and waits for
// no more than that. A line with only a bracket begins a document.
func firstLine(r *bufio.Reader) []byte {
	for size := 1; ; size = max(size*2, r.Buffered()) {
		text, err := r.Peek(min(size, r.Size()))
		if oneLine(text) || err != nil || size >= r.Size() {
			return text
		}
	}
}

// head is firstLine for a file. It reads no more than it must: a folder may
// have thousands of files.
func head(file io.Reader) ([]byte, error) {
	var text []byte
	for size := 4 << 10; ; size = len(text) {
		text = slices.Grow(text, size)
		n, err := io.ReadFull(file, text[len(text):len(text)+size])
		text = text[:len(text)+n]
		if oneLine(text) || len(text) >= sniffed || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func oneLine(text []byte) bool {
	line, _, whole := bytes.Cut(text, []byte("\n"))
	return whole && len(bytes.TrimSpace(line)) > 1
}

// ours is flame's data folder. Its agents are found in their hosts' logs.
const ours = ".flame"

// detectDir finds the logs below a folder, except in flame's own. A folder that
// cannot be read is an error: what is missing must not look like nothing.
func (f Formats) detectDir(dir string) (logs []Log, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ours && path != dir {
			return filepath.SkipDir
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		found, err := f.detectOne(path)
		if found.Format != nil {
			logs = append(logs, found)
		}
		return err
	})
	slices.SortStableFunc(logs, func(a, b Log) int { return cmp.Compare(rank(a), rank(b)) })
	if len(logs) == 1 && logs[0].Format == ClaudeSession && logs[0].Agent == "" || err != nil {
		return logs, err
	}
	return beside(dir, logs)
}

// rank sorts subagents after sessions.
func rank(l Log) int {
	if l.Agent != "" {
		return 1
	}
	return 0
}

// beside adds the session whose folder dir is; its file is next to dir.
func beside(dir string, logs []Log) ([]Log, error) {
	dir = filepath.Clean(dir)
	if filepath.Base(dir) == "subagents" {
		dir = filepath.Dir(dir)
	}
	root := Log{Format: ClaudeSession, Path: dir + ".jsonl"}
	if _, err := os.Stat(root.Path); err != nil || !slices.ContainsFunc(logs, func(l Log) bool { return l.Agent != "" }) {
		return logs, nil
	}
	return append([]Log{root}, logs...), nil
}

// detectFile finds the log in a file, with those of its subagents.
func (f Formats) detectFile(path string) ([]Log, error) {
	log, err := f.detectOne(path)
	if err != nil || log.Format == nil {
		return nil, err
	}
	logs := []Log{log}
	if log.Format != ClaudeSession || log.Agent != "" {
		return logs, nil
	}
	session := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	below, err := f.detectDir(filepath.Join(filepath.Dir(path), session, "subagents"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, l := range below {
		if l.Agent != "" {
			logs = append(logs, l)
		}
	}
	old, err := filepath.Glob(filepath.Join(quoteGlob(filepath.Dir(path)), agentPrefix+"*.jsonl"))
	if err != nil {
		return nil, err
	}
	for _, path := range old { // the files of all sessions are there
		if l, err := f.detectOne(path); err != nil {
			return nil, err
		} else if l.Agent != "" && l.Session == session {
			logs = append(logs, l)
		}
	}
	return logs, nil
}

// quoteGlob returns a folder's name for use in a pattern.
func quoteGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// detectOne looks into a file. It returns the zero Log for a file of another
// kind.
func (f Formats) detectOne(path string) (Log, error) {
	name := filepath.Base(path)
	if strings.HasSuffix(name, metaSuffix) || !slices.Contains([]string{".jsonl", ".ndjson", ".json", ".db", ".log", ".txt", ""}, filepath.Ext(name)) {
		return Log{}, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return Log{}, err
	}
	defer file.Close()
	begin, err := head(file)
	if err != nil {
		return Log{}, err
	}
	log := Log{Format: f.sniff(begin), Path: path}
	if agent, is := strings.CutPrefix(name, agentPrefix); is && log.Format == ClaudeSession {
		log.Agent = strings.TrimSuffix(agent, ".jsonl")
		log.Session = sessionOf(path, begin)
	}
	return log, nil
}

// sessionOf returns the session of a subagent's file: named by its folder, or
// in the old layout by its lines.
func sessionOf(path string, head []byte) string {
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "subagents" {
			return filepath.Base(filepath.Dir(dir))
		}
	}
	for line := range bytes.Lines(head) {
		if m := claudeSessionLine(line); m.Session != "" {
			return m.Session
		}
	}
	return ""
}
