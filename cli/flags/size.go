package flags

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// A size is the value of a flag that takes a number of bytes.
type size int64

// units of sizes, the largest first.
var units = []struct {
	name  string
	bytes int64
}{{"TB", 1 << 40}, {"GB", 1 << 30}, {"MB", 1 << 20}}

// Set accepts a whole number with its unit, such as 500MB or 20GB.
func (s *size) Set(text string) error {
	for _, u := range units {
		if number, is := strings.CutSuffix(strings.ToUpper(strings.TrimSpace(text)), u.name); is {
			n, err := strconv.ParseUint(strings.TrimSpace(number), 10, 63)
			if err == nil && int64(n) > math.MaxInt64/u.bytes {
				err = errors.New("it is too large")
			}
			*s = size(int64(n) * u.bytes)
			return err
		}
	}
	return errors.New("it has no unit")
}

// String returns the size, or "" for 0.
func (s *size) String() string {
	for _, u := range units {
		if n := int64(*s); n > 0 && n%u.bytes == 0 {
			return fmt.Sprint(n/u.bytes, u.name)
		}
	}
	return ""
}

// Type returns what help shows.
func (s *size) Type() string { return "SIZE" }

// Holds defines a flag that takes a size in bytes, of 0 unless it is given.
func Holds(cmd *cobra.Command, bytes *int64, name, meaning string) {
	cmd.Flags().Var((*size)(bytes), name, meaning)
}
