package disk

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"flame/config/env"
	"flame/core"
	"flame/local/lock"
)

// A Census is the result of a Look.
type Census struct {
	Frames, Events int
	Found          []core.Finding
}

// A Look examines all rows of a database that has tables, in a separate transaction.
type Look func(ctx context.Context, c *Conn) (Census, error)

// Check examines the data folder dir, an absolute path, and changes nothing. It reads the
// whole database.
func Check(ctx context.Context, dir string, look Look) []core.Finding {
	there, err := Examine(dir)
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
	err = Trouble(ctx, path, err)
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
	if _, inodes := UsedUp(dir); inodes {
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

func checkDatabase(ctx context.Context, path string, look Look) []core.Finding {
	f, err := OpenReadOnly(path)
	if err != nil {
		return []core.Finding{damage(ctx, path, err)}
	}
	if f == nil {
		return []core.Finding{{What: "there is no data yet; the first write makes " + path}}
	}
	findings, err := describe(ctx, f, checkPatience+time.Duration(megabytes(path)/1e3*float64(checkPatienceGB)), look)
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
func describe(ctx context.Context, f *File, patience time.Duration, look Look) ([]core.Finding, error) {
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
		return []core.Finding{{What: fmt.Sprintf("%s could not be read to its end within %v", f.Path, patience), Broken: true,
			Hint: "unless the disk is just slow, the file is damaged: " + fmt.Sprintf(repair, f.Path)}}, nil
	}
	return findings, err
}

// MendHint is the hint for repairable findings.
const MendHint = "`flame doctor --repair` can repair it, and asks first"

// inspect checks the file, then its rows.
func inspect(ctx context.Context, path string, c *Conn, version int, look Look) (findings []core.Finding, err error) {
	wrong, err := integrity(ctx, c)
	if err != nil {
		return nil, err
	}
	if len(wrong) > 0 {
		findings = append(findings, core.Finding{What: "the indexes do not match the tables: " + strings.Join(wrong, "; "),
			Hint: MendHint, Broken: true, Mend: "rebuild all indexes"})
	}
	var rows Census
	if version > 0 {
		rows, err = look(ctx, c)
	}
	state := "is sound"
	if findings = append(findings, rows.Found...); len(findings) > 0 {
		state = "can be read"
	}
	all := core.Finding{What: fmt.Sprintf("%s %s: version %d, %d frames, %d events, %.1f MB and %.1f MB of log",
		path, state, version, rows.Frames, rows.Events, megabytes(path), megabytes(path+"-wal"))}
	return append([]core.Finding{all}, findings...), err
}

// integrity returns the faults that SQLite finds in the indexes, including that of words, all
// of which Repair can rebuild. It returns any other fault as an error.
func integrity(ctx context.Context, c *Conn) (wrong []string, err error) {
	rows, err := c.Look(ctx, "PRAGMA integrity_check(5)") // which may take long
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	indexes := true
	for rows.Next() {
		var line sql.NullString
		if err := rows.Scan(&line); err != nil {
			return nil, err
		}
		if line.String != "ok" {
			wrong = append(wrong, line.String)
			indexes = indexes && strings.Contains(line.String, " index ")
		}
	}
	if err := rows.Err(); err != nil || indexes {
		return wrong, err
	}
	return nil, fmt.Errorf("%w: %s", ErrDamaged, strings.Join(wrong, "; "))
}

// Suffixes of the names of copies of the database.
const (
	BeforeMigration = ".backup-"        // followed by the version that it had
	BeforeRepair    = ".before-repair-" // followed by the time
)

func checkBackups(dir string) []core.Finding {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // reported by checkAccess
	}
	var findings []core.Finding
	for _, entry := range entries {
		for suffix, before := range map[string]string{BeforeMigration: "migration", BeforeRepair: "repair"} {
			if strings.HasPrefix(entry.Name(), Name+suffix) {
				path := filepath.Join(dir, entry.Name())
				what := fmt.Sprintf("%s (%.1f MB) is a copy from before a %s", path, megabytes(path), before)
				findings = append(findings, core.Finding{What: what, Hint: "remove it when you no longer need it"})
			}
		}
	}
	return findings
}

func megabytes(path string) float64 { return float64(Size(path)) / 1e6 }
