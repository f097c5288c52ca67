package app

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"flame/core"
)

// A value is the value of a flag.
type value struct {
	kind string // of its values, as help shows it
	text string // as given, else the default
	set  func(text string) error
}

// Set parses the text and sets the value.
func (v *value) Set(text string) error {
	err := v.set(text)
	if err == nil {
		v.text = text
	}
	return err
}

// String returns the text.
func (v *value) String() string { return v.text }

// Type returns the kind.
func (v *value) Type() string { return v.kind }

// EnumFlag defines a flag with a fixed set of words, and completes them.
func EnumFlag[T ~string](cmd *cobra.Command, word *T, name, meaning string, of ...string) {
	kind := strings.Join(of, "|")
	cmd.Flags().Var(&value{kind, string(*word), func(text string) error {
		if !slices.Contains(of, text) {
			return errors.New("not one of " + kind)
		}
		*word = T(text)
		return nil
	}}, name, meaning)
	// The error is for an unknown flag, which this one is not.
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(of, cobra.ShellCompDirectiveNoFileComp))
}

// NameFlag defines a flag that takes a name. It refuses a blank name, as from an unset shell
// variable, which could otherwise mean everything.
func NameFlag(cmd *cobra.Command, target *string, name, of, meaning string) {
	cmd.Flags().Var(&value{kind: of, set: func(text string) error {
		if strings.TrimSpace(text) == "" {
			return errors.New("it is blank")
		}
		*target = text
		return nil
	}}, name, meaning)
}

// SizeFlag defines a flag that takes a size in bytes (default: 0).
func SizeFlag(cmd *cobra.Command, bytes *int64, name, meaning string) {
	cmd.Flags().Var(&value{kind: "SIZE", set: func(text string) (err error) {
		*bytes, err = parseSize(text)
		return err
	}}, name, meaning)
}

// parseSize parses a whole number with its unit, such as 500MB or 20GB.
func parseSize(text string) (int64, error) {
	for i, unit := range []string{"MB", "GB", "TB"} {
		if number, is := strings.CutSuffix(strings.ToUpper(strings.TrimSpace(text)), unit); is {
			n, err := strconv.ParseUint(strings.TrimSpace(number), 10, 63)
			if shift := 20 + 10*i; err == nil && n > math.MaxInt64>>shift {
				err = errors.New("it is too large")
			}
			return int64(n) << (20 + 10*i), err
		}
	}
	return 0, errors.New("it has no unit")
}

// DurationFlag defines a flag that takes a duration. An empty default is 0.
func DurationFlag(cmd *cobra.Command, d *time.Duration, name, otherwise, meaning string) {
	v := &value{kind: "seconds|duration", set: func(text string) (err error) {
		*d, err = parseSpan(text)
		return err
	}}
	if otherwise != "" && v.Set(otherwise) != nil {
		panic(fmt.Sprintf("flag --%s: its default is not a duration", name))
	}
	cmd.Flags().Var(v, name, meaning)
}

// parseSpan parses seconds or a duration that is not negative.
func parseSpan(text string) (time.Duration, error) {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += "s"
	}
	d, err := parseDuration(text)
	if err == nil && d < 0 {
		err = errors.New("it is negative")
	}
	return d, err
}

// parseDuration parses a duration, including days such as 7d.
func parseDuration(text string) (time.Duration, error) {
	if days, is := strings.CutSuffix(text, "d"); is {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

// A TimeValue returns a point in time, relative to now if the flag was; 0 without the flag.
type TimeValue func(now core.Millis) core.Millis

// TimeFlag defines a flag that takes a time, or a duration before now.
func TimeFlag(cmd *cobra.Command, moment *TimeValue, name, meaning string) {
	*moment = func(core.Millis) core.Millis { return 0 }
	cmd.Flags().Var(&value{kind: "90m|7d|2026-05-31|2026-05-31T10:00:00Z", set: func(text string) error {
		ago, err := parseDuration(text)
		if err == nil && ago <= 0 {
			return errors.New("it is not in the past")
		}
		if err == nil {
			*moment = func(now core.Millis) core.Millis { return max(1, now-core.Millis(ago.Milliseconds())) }
			return nil
		}
		// A time without a zone is local.
		for _, form := range []string{time.RFC3339, time.DateTime, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
			if at, err := time.ParseInLocation(form, text, time.Local); err == nil {
				*moment = func(core.Millis) core.Millis { return max(1, core.MillisOf(at)) }
				return nil
			}
		}
		return errors.New("it is not a time")
	}}, name, meaning)
}
