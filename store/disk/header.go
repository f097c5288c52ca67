package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"flame/local/place"
)

// ErrDamaged is returned for a file that is not a sound database.
var ErrDamaged = errors.New("damaged")

// A header has data from the first 100 bytes of the database, in SQLite's file format.
type header struct {
	// The file stays open: on systems where locks belong to processes, closing any
	// descriptor of it would drop SQLite's locks.
	file *os.File
	info os.FileInfo

	pageSize int64
	pages    int64 // at the last checkpoint; 0 if the header does not say
}

const (
	headerSize  = 100
	headerMagic = "SQLite format 3\x00"
)

// readHeader opens the database at path; it returns nil if there is none. An empty file is new
// and counts as none, unless it has a log, or the folder what only follows a database.
func readHeader(path string) (*header, error) {
	h, err := openHeader(path)
	if h != nil || err != nil {
		return h, err
	}
	if Size(path+"-wal") == 0 {
		if _, missing := os.Lstat(path); missing == nil && followed(path) {
			err = fmt.Errorf("%w: it is empty, but the folder is not", ErrDamaged)
		}
		return nil, err
	}
	// Another process may have created it, and then its log, after the first look.
	if h, err = openHeader(path); h == nil && err == nil {
		err = fmt.Errorf("%w: it is missing or empty, but its log is not", ErrDamaged)
	}
	return h, err
}

// followed reports whether beside the database at path stands what flame makes only when it has one:
// folders of agents and logs, the key of stamps, a copy of an older database.
func followed(path string) bool {
	for _, name := range []string{"agents", "logs", place.StampKeyName} {
		if _, err := os.Lstat(filepath.Join(filepath.Dir(path), name)); err == nil {
			return true
		}
	}
	copies, _ := filepath.Glob(path + BeforeMigration + "*")
	return len(copies) > 0
}

func openHeader(path string) (*header, error) {
	file, err := place.OpenOwn(path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	h := &header{file: file}
	empty, err := h.read()
	if err == nil && !empty {
		err = h.examine(path + "-wal")
	}
	if err != nil || empty {
		return nil, errors.Join(err, file.Close())
	}
	return h, nil
}

// read reports whether the file is empty, and reads its header if not.
func (h *header) read() (empty bool, err error) {
	b := make([]byte, headerSize)
	n, err := h.file.ReadAt(b, 0)
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		return true, nil
	case ignoreEOF(err) != nil:
		return false, err
	case !strings.HasPrefix(string(b), headerMagic):
		return false, fmt.Errorf("%w: it is not an SQLite database", ErrDamaged)
	case n < headerSize:
		return false, fmt.Errorf("%w: it ends within its header", ErrDamaged)
	}
	if h.pageSize = int64(binary.BigEndian.Uint16(b[16:])); h.pageSize == 1 {
		h.pageSize = 65536
	}
	if h.pageSize < 512 || h.pageSize&(h.pageSize-1) != 0 {
		return false, fmt.Errorf("%w: it has pages of %d bytes", ErrDamaged, h.pageSize)
	}
	h.pages = int64(binary.BigEndian.Uint32(b[28:]))
	if string(b[24:28]) != string(b[92:96]) { // the number of pages is out of date
		h.pages = 0
	}
	return false, nil
}

// examine compares the header with the file and with its log at path. SQLite would read pages
// that are in neither as zeros if the log has any content, and would restart a log that is not
// its own.
//
// A checkpoint, running or killed, may have recorded pages in the header that are still only
// in the log. If the log restarts meanwhile, these pages are in the file: hence the second
// look at the file.
func (h *header) examine(path string) (err error) {
	if h.info, err = h.file.Stat(); err != nil {
		return err
	}
	if err := checkLogHeader(path); err != nil || h.missing() == 0 {
		return err
	}
	logged, err := pagesInLog(path, h.pageSize)
	if err != nil {
		return err
	}
	if h.info, err = h.file.Stat(); err != nil {
		return err
	}
	for page := h.missing(); page > 0 && page <= h.pages; page++ {
		if !logged[page] {
			return fmt.Errorf("%w: it has lost its pages from %d on, of %d", ErrDamaged, page, h.pages)
		}
	}
	return nil
}

// missing returns the number of the first page that is not in the file, or 0 if all are.
func (h *header) missing() int64 {
	if there := h.info.Size() / h.pageSize; there < h.pages {
		return there + 1
	}
	return 0
}

// Sizes in bytes of SQLite's write-ahead log.
const (
	logHeaderSize   = 32
	frameHeaderSize = 24
)

// openLog opens the log at path; it returns nil if there is none.
func openLog(path string) (*os.File, error) {
	log, err := place.OpenOwn(path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return log, err
}

// The log begins with one of two numbers, by the byte order of its checksums. After a power
// cut it may begin with zeros: then it is empty.
var logMagics = []uint32{0x377f0682, 0x377f0683, 0}

// checkLogHeader refuses a log that SQLite did not write.
func checkLogHeader(path string) error {
	log, err := openLog(path)
	if log == nil {
		return err
	}
	defer log.Close()
	magic := make([]byte, 4)
	n, err := log.ReadAt(magic, 0)
	if err := ignoreEOF(err); err != nil {
		return err
	}
	if n > 0 && (n < len(magic) || !slices.Contains(logMagics, binary.BigEndian.Uint32(magic))) {
		return fmt.Errorf("%w: %s is not a log of SQLite", ErrDamaged, path)
	}
	return nil
}

// pagesInLog returns the numbers of the pages in the log at path, up to the first page that
// does not have the salt of the log's header.
func pagesInLog(path string, pageSize int64) (map[int64]bool, error) {
	pages := map[int64]bool{}
	log, err := openLog(path)
	if log == nil {
		return pages, err
	}
	defer log.Close()
	head := make([]byte, logHeaderSize)
	frame := make([]byte, frameHeaderSize)
	if _, err := log.ReadAt(head, 0); err != nil {
		return pages, ignoreEOF(err)
	}
	for at := int64(logHeaderSize); ; at += frameHeaderSize + pageSize {
		if _, err := log.ReadAt(frame, at); err != nil || string(frame[8:16]) != string(head[16:24]) {
			return pages, ignoreEOF(err)
		}
		pages[int64(binary.BigEndian.Uint32(frame))] = true
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
