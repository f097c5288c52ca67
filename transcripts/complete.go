package transcripts

import (
	"context"
	"errors"
	"iter"

	"flame/core"
)

// Complete yields the messages of logs, one log after the other. A last line that is not
// complete yet is left out: a host is still writing it.
func Complete(ctx context.Context, logs ...Log) iter.Seq2[core.Message, error] {
	return func(yield func(core.Message, error) bool) {
		for _, log := range logs {
			for m, err := range log.Messages(ctx) {
				if errors.Is(err, ErrTorn) {
					break
				}
				if !yield(m, err) || err != nil {
					return
				}
			}
		}
	}
}
