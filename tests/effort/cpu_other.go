//go:build !linux

package effort

import (
	"testing"
	"time"
)

// Quick runs f. Only Linux tells what one thread has used of the processor, and the clock
// alone is no measure on a busy machine.
func Quick(_ testing.TB, _ time.Duration, f func()) { f() }
