package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// errDamaged is what a file that is no sound database ends with.
var errDamaged = errors.New("damaged")

// A header is what the first 100 bytes of the database say, by SQLite's file
// format.
type header struct {
	// The file is kept open: where locks belong to processes, closing any
	// descriptor of it would drop those of SQLite.
	file *os.File
	info os.FileInfo

	pageSize int64
	pages    int64 // as of the last checkpoint; 0 if the header does not tell
}

const (
	headerSize  = 100
	headerMagic = "SQLite format 3\x00"
)

// readHeader opens the database at path. A missing file is made, or gives nil.
func readHeader(path string, create bool) (*header, error) {
	flags := os.O_RDONLY
	if create {
		flags = os.O_RDWR | os.O_CREATE
	}
	file, err := os.OpenFile(path, flags, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, newFile(path)
	}
	if err != nil {
		return nil, err
	}
	h := &header{file: file}
	if err := h.examine(path); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return h, nil
}

// newFile refuses to take for new what has left its log behind.
func newFile(path string) error {
	if size(path+"-wal") > 0 {
		return fmt.Errorf("%w: it is missing or empty, but its log is not", errDamaged)
	}
	return nil
}

// examine reads the header and compares it with the file. A checkpoint, running
// or killed, may have told of pages that are still in the log alone, and a log
// that ends under our eyes has put them into the file; hence the second look.
func (h *header) examine(path string) (err error) {
	for range 2 {
		if err := h.read(); err != nil {
			return err
		}
		if h.info.Size() == 0 {
			return newFile(path)
		}
		if err = h.missing(path + "-wal"); !errors.Is(err, errDamaged) {
			return err
		}
	}
	return err
}

func (h *header) read() (err error) {
	if h.info, err = h.file.Stat(); err != nil || h.info.Size() == 0 {
		return err
	}
	b := make([]byte, headerSize)
	if _, err := h.file.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !strings.HasPrefix(string(b), headerMagic) {
		return fmt.Errorf("%w: it is not an SQLite database", errDamaged)
	}
	if h.pageSize = int64(binary.BigEndian.Uint16(b[16:])); h.pageSize == 1 {
		h.pageSize = 65536
	}
	h.pages = int64(binary.BigEndian.Uint32(b[28:]))
	if string(b[24:28]) != string(b[92:96]) { // the number is that of an older state
		h.pages = 0
	}
	return nil
}

// missing says whether pages are neither in the file nor in the log at path.
// SQLite would take them for zeros if the log has anything in it.
func (h *header) missing(path string) error {
	there := h.info.Size() / max(h.pageSize, 1)
	if there >= h.pages {
		return nil
	}
	logged, err := pagesInLog(path, h.pageSize)
	if err != nil {
		return err
	}
	for page := there + 1; page <= h.pages; page++ {
		if !logged[page] {
			return fmt.Errorf("%w: it has lost its pages from %d on, of %d", errDamaged, page, h.pages)
		}
	}
	return nil
}

// Sizes in bytes of SQLite's write-ahead log.
const (
	logHeaderSize   = 32
	frameHeaderSize = 24
)

// pagesInLog gives the numbers of the pages in the log at path: those with the
// salt of its header, up to the first without.
func pagesInLog(path string, pageSize int64) (map[int64]bool, error) {
	pages := map[int64]bool{}
	log, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return pages, nil
	}
	if err != nil {
		return nil, err
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
