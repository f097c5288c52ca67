package front

import (
	"bytes"
	"errors"
)

// lastWords keeps the first line that a gateway wrote to stderr: why it died. What follows
// may hold memory of its requests.
type lastWords struct{ line []byte }

// maxWords bounds that line, in bytes.
const maxWords = 400

// Write takes everything, and keeps the first line.
func (w *lastWords) Write(p []byte) (int, error) {
	if !bytes.Contains(w.line, []byte("\n")) && len(w.line) < maxWords {
		w.line = append(w.line, p[:min(len(p), maxWords)]...)
	}
	return len(p), nil
}

func (w *lastWords) err() error {
	line, _, _ := bytes.Cut(w.line, []byte("\n"))
	if len(line) == 0 {
		return nil
	}
	return errors.New(string(line))
}
