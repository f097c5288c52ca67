package disk

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"flame/config/env"
	"flame/core"
	"flame/local/lock"
)

// A CheckResult is the result of a check.
type CheckResult struct {
	Frames, Events int
	Found          []core.Finding
}

// A RowCheck examines all rows of a database that has tables, in a separate transaction.
type RowCheck func(ctx context.Context, c *Conn) (CheckResult, error)

// Check examines the data folder dir, an absolute path, and changes nothing. It reads the
// whole database.
func Check(ctx context.Context, dir string, look RowCheck) []core.Finding {
	there, err := CheckFolder(dir)
	if err != nil {
		return []core.Finding{broken(ctx, dir, err)}
	}
	if !there {
		return []core.Finding{{What: "there is no data yet; the first write makes " + dir}}
	}
	findings := checkAccess(dir)
	findings = append(findings, checkLock(ctx, filepath.Join(dir, LockName))...)
	findings = append(findings, checkDatabase(ctx, filepath.Join(dir, Name), look)...)
	return append(findings, checkBackups(dir)...)
}

// broken turns an error into a finding.
func broken(ctx context.Context, path string, err error) core.Finding {
	err = ExplainError(ctx, path, err)
	finding := core.Finding{What: err.Error(), Broken: true}
	var told *core.Problem
	if !errors.As(err, &told) {
		return finding
	}
	finding.Hint = told.Hint
	if told.Cause != nil {
		finding.What = fmt.Sprintf("%s: %v", path, told.Cause)
	}
	return finding
}

// repair is the hint about a damaged database, for a user of `flame doctor`.
const repair = "keep a copy of the folder; then put a backup in the place of %[1]s, " +
	"save what can be read with `sqlite3 %[1]s .recover`, or move the folder away to start afresh"

// Bits of access(2).
const mayWrite, mayEnter = 2, 1

func checkAccess(dir string) []core.Finding {
	if err := syscall.Access(dir, mayWrite|mayEnter); err != nil {
		return []core.Finding{{What: fmt.Sprintf("%s cannot be written: %v", dir, err), Broken: true,
			Hint: "make it writable, or name another folder with " + env.Dir}}
	}
	var findings []core.Finding
	for _, path := range []string{Name, LockName, Name + "-wal", Name + "-shm"} {
		err := syscall.Access(filepath.Join(dir, path), mayWrite)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			findings = append(findings, core.Finding{What: fmt.Sprintf("%s cannot be written: %v", filepath.Join(dir, path), err),
				Hint: "give it to the user who runs flame", Broken: true})
		}
	}
	if _, inodes := DiskFull(dir); inodes {
		findings = append(findings, core.Finding{What: fmt.Sprintf("%s cannot be written: %v", dir, ErrNoInodes), Broken: true,
			Hint: "delete files on that disk"})
	}
	if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o077 != 0 {
		findings = append(findings, core.Finding{What: fmt.Sprintf("%s can be read by others (mode %o)", dir, info.Mode().Perm()),
			Hint: "chmod 700 " + dir})
	}
	return findings
}

// lockHeldLong is longer than any running write holds the lock: writes take milliseconds.
const lockHeldLong = time.Second

func checkLock(ctx context.Context, path string) []core.Finding {
	wait, cancel := context.WithTimeout(ctx, lockHeldLong)
	defer cancel()
	pid, held := lock.HolderOf(wait, path)
	if !held {
		return nil // or not made yet, or reported by checkAccess
	}
	return []core.Finding{{What: fmt.Sprintf("process %d has held %s for over a second", pid, path), Broken: true,
		Hint: "if it is stopped, let it continue (kill -CONT) or end it; the lock ends with the process"}}
}

func checkDatabase(ctx context.Context, path string, look RowCheck) []core.Finding {
	f, err := OpenReadOnly(path)
	if err != nil {
		return []core.Finding{damage(ctx, path, err)}
	}
	if f == nil {
		return []core.Finding{{What: "there is no data yet; the first write makes " + path}}
	}
	findings, err := describe(ctx, f, checkPatience+time.Duration(float64(Size(path))/1e9*float64(checkPatienceGB)), look)
	if err := errors.Join(err, f.Close()); err != nil {
		return []core.Finding{damage(ctx, path, err)}
	}
	return findings
}

// damage turns an error in reading the database into a finding.
func damage(ctx context.Context, path string, err error) core.Finding {
	finding := broken(ctx, path, err)
	if finding.Hint == seeDoctor {
		finding.Hint = fmt.Sprintf(repair, path)
	}
	return finding
}

// openPatience is how long a check waits for other processes before it can read.
const openPatience = 10 * time.Second

// How long a check may take: it reads the whole file, about 50 MB a second on a slow machine.
// It might never end in a damaged file.
const (
	checkPatience   = time.Minute
	checkPatienceGB = time.Minute // for each 10^9 bytes more
)

// describe reads the whole database, if it can within patience, and describes its content.
func describe(ctx context.Context, f *File, patience time.Duration, look RowCheck) ([]core.Finding, error) {
	wait, cancel := context.WithTimeout(ctx, openPatience)
	defer cancel()
	c, err := f.Reader(wait)
	if ExtendedCode(err) == sqlite3.SQLITE_READONLY_ROLLBACK {
		return []core.Finding{{What: f.Path + " was left in the middle of a write; the next use undoes that"}}, nil
	}
	if err != nil {
		return nil, err
	}
	version, err := NewestSchema.Of(ctx, c)
	if errors.Is(err, ErrOlder) {
		return []core.Finding{{What: fmt.Sprintf("%s is of version %d; the next write brings it to %d and keeps a copy",
			f.Path, version, NewestSchema.Version)}}, nil
	}
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	findings, err := inspect(limited, f.Path, c, version, look)
	if limited.Err() != nil && ctx.Err() == nil {
		return []core.Finding{{What: fmt.Sprintf("%s could not be read to its end within %s", f.Path, core.Span(patience.Milliseconds())), Broken: true,
			Hint: "unless the disk is just slow, the file is damaged: " + fmt.Sprintf(repair, f.Path)}}, nil
	}
	return findings, err
}

// RowsHint is the hint for findings about rows.
const RowsHint = "another program wrote that; flame reads it as far as possible. `flame export` writes what is sound, " +
	"and `flame import` takes that into a new data folder"

// inspect checks the file, then its rows.
func inspect(ctx context.Context, path string, c *Conn, version int, look RowCheck) (findings []core.Finding, err error) {
	rows, indexes, err := integrity(ctx, c)
	if err != nil {
		return nil, err
	}
	if len(indexes) > 0 {
		findings = append(findings, core.Finding{What: "the indexes do not match the tables: " + strings.Join(indexes, "; "),
			Hint: fmt.Sprintf("`sqlite3 %s REINDEX` builds them anew; end all flames before", path), Broken: true})
	}
	if len(rows) > 0 {
		findings = append(findings, core.Finding{What: "rows break the constraints: " + strings.Join(rows, "; "), Hint: RowsHint, Broken: true})
	}
	var census CheckResult
	if version > 0 {
		census, err = look(ctx, c)
	}
	state := "is sound"
	if findings = append(findings, census.Found...); len(findings) > 0 {
		state = "can be read"
	}
	all := core.Finding{What: fmt.Sprintf("%s %s: version %d, frames: %d, events: %d, %s and %s of log",
		path, state, version, census.Frames, census.Events, core.Size(Size(path)), core.Size(Size(path+"-wal")))}
	return append([]core.Finding{all}, findings...), err
}

// integrity returns the faults that SQLite finds in rows and in the indexes, including that of
// words. It returns any other fault as an error.
func integrity(ctx context.Context, c *Conn) (inRows, inIndexes []string, err error) {
	rows, err := c.QueryOnce(ctx, "PRAGMA integrity_check(5)") // which may take long
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	var wrong []string
	for rows.Next() {
		var text sql.NullString
		if err := rows.Scan(&text); err != nil {
			return nil, nil, err
		}
		switch line := text.String; {
		case line == "ok":
		case strings.Contains(line, " index "):
			inIndexes = append(inIndexes, line)
		case strings.HasPrefix(line, "CHECK constraint failed"), strings.Contains(line, " value in "):
			inRows = append(inRows, line)
		default:
			wrong = append(wrong, line)
		}
	}
	if err = rows.Err(); err == nil && len(wrong) > 0 {
		err = fmt.Errorf("%w: %s", ErrDamaged, strings.Join(slices.Concat(wrong, inIndexes, inRows), "; "))
	}
	return inRows, inIndexes, err
}

// BeforeMigration is the suffix of the name of a copy of the database; the version that it had
// follows.
const BeforeMigration = ".backup-"

func checkBackups(dir string) []core.Finding {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // reported by checkAccess
	}
	var findings []core.Finding
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), Name+BeforeMigration) {
			path := filepath.Join(dir, entry.Name())
			what := fmt.Sprintf("%s (%s) is a copy from before a migration", path, core.Size(Size(path)))
			findings = append(findings, core.Finding{What: what, Hint: "remove it when you no longer need it"})
		}
	}
	return findings
}
