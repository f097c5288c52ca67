package cli

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"flame/cli/app"
	"flame/config"
	"flame/local/place"
	"flame/tests/hoststest"
)

func TestAHookThatCannotReadItsEventLogsWhy(t *testing.T) {
	for name, tt := range map[string]struct {
		stdin func() (in io.Reader, done func() error)
		line  string
		want  string
	}{
		"no event comes": {
			func() (io.Reader, func() error) { in, out := io.Pipe(); return in, out.Close }, "hook claude-code", "no event came within 4 s",
		},
		"the event is no document": {
			func() (io.Reader, func() error) { return strings.NewReader("{\"a\": }"), nil }, "hook claude-code", "what came is no event",
		},
		"the event breaks off": {
			func() (io.Reader, func() error) { return iotest.ErrReader(errors.New("broken")), nil }, "hook claude-code", "broken",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				var out, errs, log bytes.Buffer
				in, done := tt.stdin()
				a := &app.App{
					Hosts: hoststest.Known(), Stdin: in, Stdout: &out, Stderr: &errs, Settings: config.Settings{ProjectDir: dir}, Exit: func(int) {},
					Log: func(place.Place) *slog.Logger { return slog.New(slog.NewTextHandler(&log, nil)) },
				}
				assert.Equal(t, exitOK, Run(t.Context(), a, strings.Fields(tt.line)))
				assert.Equal(t, 1, strings.Count(log.String(), "\n"))
				assert.Contains(t, log.String(), tt.want)
				assert.Empty(t, out.String()+errs.String())
				if done != nil {
					assert.NoError(t, done())
				}
			})
		})
	}
}

// TestAnEventIsWholeBeforeItsInputEnds has what hosts and shells put around an event.
func TestAnEventIsWholeBeforeItsInputEnds(t *testing.T) {
	const event = `{"hook_event_name":"Stop","text":"}\"{"}`
	for name, sent := range map[string]string{
		"as it is": event, "with a byte order mark": byteOrderMark + event, "with blanks": "\r\n " + event + "\n", "with garbage": event + "\x00}{",
		"with another": event + event,
	} {
		t.Run(name, func(t *testing.T) {
			in, out := io.Pipe() // never closed
			go func() { _, _ = io.WriteString(out, sent) }()
			got, err := wholeEvent(in)
			assert.NoError(t, err)
			assert.Equal(t, event, string(got))
		})
	}
}
