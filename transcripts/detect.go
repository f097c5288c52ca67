package transcripts

import (
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
	"syscall"

	"flame/core"
)

// The names and sizes by which flame finds logs.
const (
	agentPrefix = "agent-"     // of the names of subagents' logs
	metaSuffix  = ".meta.json" // of the name of the file beside such a log
	sniffed     = 1 << 20      // bytes of whole lines by which flame recognizes a format
	// sniffedLines is the same with a line that is not whole: a prompt may contain pictures.
	sniffedLines = 32 << 20
)

// A Log is one log of a host.
type Log struct {
	Format  *Format
	Path    string // "-" is standard input
	Session string // of a subagent's file, its session; of a database, the wanted session, empty for all
	Agent   string // of a subagent's file, the subagent, by the file's name; else empty

	input io.Reader // of "-"
}

// Host returns the name of the host.
func (l Log) Host() string { return l.Format.Host }

// IsAppendOnly reports whether the host only appends to the log.
func (l Log) IsAppendOnly() bool { return l.Format.inLines() }

// CompanionPath returns the path of the file that belongs to the log: a subagent's description, or
// a database's write-ahead log.
func (l Log) CompanionPath() string {
	if l.Format.Database != nil {
		return l.Path + "-wal"
	}
	return strings.TrimSuffix(l.Path, ".jsonl") + metaSuffix
}

// Messages returns the whole log; a subagent's log follows its description. An incomplete last
// line ends it with an ErrIncompleteLine.
func (l Log) Messages(ctx context.Context) iter.Seq2[core.Message, error] {
	return func(yield func(core.Message, error) bool) {
		if l.Agent != "" {
			m, err := metaEntry(l.CompanionPath(), l.Session, l.Agent)
			if !errors.Is(err, fs.ErrNotExist) && (!yield(m, err) || err != nil) {
				return
			}
		}
		read, unknown := false, 0
		for m, err := range l.body(ctx) {
			if read = read || m.Role != core.RoleOther; m.Unknown() {
				unknown++
			}
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
		if !read && unknown > 0 {
			yield(core.Message{}, core.Invalidf("%s is one of %s, but this flame knows none of its %d entries", l.Path, l.Format.Name, unknown).
				WithHint("its client may be newer or older than those that this flame reads; install the newest flame"))
		}
	}
}

// Payers are the sessions that paid for answers, by host and id of the answer. A session that was
// forked or resumed under a new id begins with copies of the other's answers.
type Payers map[[2]string]string

// Own returns a message of a host's log as it is, or as a copy if another session paid for that answer.
func (p Payers) Own(host string, m core.Message) core.Message {
	if m.Role != core.RoleAssistant || m.ID == "" || m.Usage == (core.Usage{}) {
		return m
	}
	key := [2]string{host, m.ID}
	payer, known := p[key]
	if !known {
		p[key] = m.Session
	} else if payer != m.Session {
		return m.Copy()
	}
	return m
}

// Complete returns the messages of logs, one log after another, with their hosts. It leaves out an incomplete last
// line: a host still writes it.
func Complete(ctx context.Context, logs ...Log) iter.Seq2[core.Message, error] {
	return Readable(ctx, nil, logs...)
}

// Readable is Complete, but adds a log that it cannot read to unread and goes on, if there is another one.
func Readable(ctx context.Context, unread *[]string, logs ...Log) iter.Seq2[core.Message, error] {
	return func(yield func(core.Message, error) bool) {
		paid := Payers{}
		for _, log := range logs {
			for m, err := range log.Messages(ctx) {
				if errors.Is(err, ErrIncompleteLine) {
					break
				}
				if err != nil && ctx.Err() == nil && unread != nil && len(*unread) < len(logs)-1 {
					*unread = append(*unread, log.Path+": "+core.OneLine(err.Error(), 300))
					break
				}
				m.Host = log.Host()
				if !yield(paid.Own(log.Host(), m), err) || err != nil {
					return
				}
			}
		}
	}
}

func (l Log) body(ctx context.Context) iter.Seq2[core.Message, error] {
	if l.Format.Database != nil {
		return l.Format.Database(ctx, l.Path, l.Session)
	}
	return func(yield func(core.Message, error) bool) {
		r := l.input
		if r == nil {
			file, _, err := open(l.Path, core.LogPosition{})
			if err != nil {
				yield(core.Message{}, err)
				return
			}
			defer file.Close()
			r = file
		}
		if l.Format.Document != nil {
			l.Format.Document(r)(yield)
			return
		}
		Messages(r, l.Format)(yield)
	}
}

// Detect finds the logs at path: a file, a folder, or "-" for input. With a session's file of
// Claude Code it returns the files of its subagents; with a folder, all logs below it. Parents
// come before children if names show them. If it finds no log, the error is a core.Problem.
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
		err = core.Invalidf("%s is neither a file nor a folder", path).WithHint("pass a pipe as standard input, with - as its name")
	}
	if err == nil && len(logs) == 0 {
		err = f.unknownLog(path)
	}
	return logs, err
}

// isOldOpenCode reports whether a folder, or its folder storage, has the files that OpenCode kept before
// 1.2, one for each session, message and part.
func isOldOpenCode(dir string) bool {
	for _, dir := range []string{dir, filepath.Join(dir, "storage")} {
		_, sessions := os.Stat(filepath.Join(dir, "session"))
		if _, messages := os.Stat(filepath.Join(dir, "message")); sessions == nil && messages == nil {
			return true
		}
	}
	return false
}

func (f Formats) unknownLog(path string) error {
	if isOldOpenCode(path) {
		return core.Invalidf("%s has the files of OpenCode before 1.2, which flame cannot read", path).
			WithHint("a newer OpenCode moves them into its database when it starts, and flame reads that")
	}
	return core.Invalidf("%s is not a log that flame can read", path).WithHint(
		"flame reads %s, and folders of these", f)
}

func (f Formats) detectInput(input io.Reader) ([]Log, error) {
	begin, format, err := f.head(input)
	if err != nil {
		return nil, err
	}
	if format == nil || format.Database != nil {
		return nil, f.unknownLog("the input")
	}
	return []Log{{Format: format, Path: "-", input: io.MultiReader(bytes.NewReader(begin), input)}}, nil
}

// head reads a log until a line shows its format: not all first lines do, and prompts may be long. It reads
// no further, and little of what is not JSON: a folder may have thousands of files.
func (f Formats) head(log io.Reader) (text []byte, format *Format, err error) {
	for seen := 0; seen < sniffed && len(text) < sniffedLines; {
		text = slices.Grow(text, max(4<<10, len(text)))
		n, err := log.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, err
		}
		end := bytes.LastIndexByte(text, '\n') + 1
		if format = f.ofLines(text[seen:max(seen, end)]); format != nil {
			return text, format, nil
		}
		if seen = max(seen, end); err != nil || seen > 0 && !bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(text, mark)), []byte("{")) {
			break
		}
	}
	return text, f.sniff(text), nil
}

// ours is flame's data folder. The hosts have logs of flame's agents.
const ours = ".flame"

// detectDir finds the logs below a folder, except in flame's own folder. An unreadable folder is
// an error: it must not look like an empty folder.
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
	slices.SortStableFunc(logs, func(a, b Log) int { return cmp.Compare(min(1, len(a.Agent)), min(1, len(b.Agent))) }) // subagents last
	if len(logs) == 1 && logs[0].Format == ClaudeSession && logs[0].Agent == "" || err != nil {
		return logs, err
	}
	return beside(dir, logs)
}

// beside adds the session that dir belongs to. The session's file is beside dir.
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

// detectFile finds the log in a file, and the logs of its subagents.
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
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
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
	for _, path := range old { // files of all sessions
		if l, err := f.detectOne(path); err != nil {
			return nil, err
		} else if l.Agent != "" && l.Session == session {
			logs = append(logs, l)
		}
	}
	return logs, nil
}

// quoteGlob returns a folder's path for use in a pattern.
func quoteGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// detectOne recognizes the log in a file. It returns the zero Log for another file.
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
	begin, format, err := f.head(file)
	if err != nil {
		return Log{}, err
	}
	log := Log{Format: format, Path: path}
	if agent, is := strings.CutPrefix(name, agentPrefix); is && log.Format == ClaudeSession {
		log.Agent = strings.TrimSuffix(agent, ".jsonl")
		log.Session = sessionOf(path, begin)
	}
	return log, nil
}

// sessionOf returns the session of a subagent's file. The folder names it or, in the old layout,
// the lines do.
func sessionOf(path string, head []byte) string {
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "subagents" {
			return filepath.Base(filepath.Dir(dir))
		}
	}
	for line := range bytes.Lines(head) {
		if m := new(claudeSession).line(line); m.Session != "" {
			return m.Session
		}
	}
	return ""
}
