package flags

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"flame/core"
)

// A span is the value of a flag that takes a duration.
type span time.Duration

// Set accepts seconds or a duration, but nothing negative.
func (s *span) Set(text string) error {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += "s"
	}
	d, err := parseDuration(text)
	if err == nil && d < 0 {
		err = errors.New("it is negative")
	}
	*s = span(d)
	return err
}

// String returns the duration, or "" for 0.
func (s *span) String() string {
	const day = 24 * time.Hour
	switch d := time.Duration(*s); {
	case d == 0:
		return ""
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	default:
		return d.String()
	}
}

// Type returns what help shows.
func (s *span) Type() string { return "seconds|duration" }

// Lasts defines a flag that takes a duration.
func Lasts(cmd *cobra.Command, d *time.Duration, name string, otherwise time.Duration, meaning string) {
	*d = otherwise
	cmd.Flags().Var((*span)(d), name, meaning)
}

// parseDuration parses a duration, including days such as 7d.
func parseDuration(text string) (time.Duration, error) {
	if days, is := strings.CutSuffix(text, "d"); is {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

// A Moment is the value of a flag that takes a time, or how long ago that was.
type Moment struct {
	text string
	ago  time.Duration
	at   time.Time // if ago is 0
}

// moments are the accepted forms of a time; without a zone it is local.
var moments = []string{time.RFC3339, time.DateTime, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly}

// Set accepts a duration, including days such as 7d, or a time.
func (m *Moment) Set(text string) error {
	*m = Moment{text: text}
	if ago, err := parseDuration(text); err == nil {
		if m.ago = ago; ago <= 0 {
			return errors.New("it is not in the past")
		}
		return nil
	}
	for _, form := range moments {
		if at, err := time.ParseInLocation(form, text, time.Local); err == nil {
			m.at = at
			return nil
		}
	}
	return errors.New("no time")
}

// String returns what was set.
func (m *Moment) String() string { return m.text }

// Type returns the accepted forms.
func (m *Moment) Type() string { return "90m|7d|2026-05-31|2026-05-31T10:00:00Z" }

// Before returns the moment as seen at time now, or 0 if none was set.
func (m *Moment) Before(now core.Millis) core.Millis {
	switch {
	case m.ago > 0:
		return max(1, now-core.Millis(m.ago.Milliseconds()))
	case m.text != "":
		return max(1, core.MillisOf(m.at))
	}
	return 0
}
