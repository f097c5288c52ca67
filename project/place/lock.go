package place

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"flame/core"
)

// lockName is the file whose lock is held to make, set aside, adopt and delete data
// folders: usually once in a project's life.
const lockName = ".lock"

// lockPatience is how long to wait for the lock.
const lockPatience = 10 * time.Second

// lock makes the folder of all data, if need be, and takes the lock in it.
func (f *Folder) lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(f.base, 0o700); err != nil {
		return nil, cannotMake(f.Path, err)
	}
	ctx, stop := context.WithTimeout(ctx, lockPatience)
	defer stop()
	file, err := os.OpenFile(filepath.Join(f.base, lockName), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, cannotMake(f.Path, err)
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return func() { file.Close() }, nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			file.Close()
			return nil, cannotMake(f.Path, err)
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, core.Unavailablef(ctx.Err(), "another process is changing the data folders in %s", f.base).WithHint("try again")
		case <-time.After(2 * time.Millisecond):
		}
	}
}
