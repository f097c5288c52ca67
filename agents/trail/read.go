package trail

import (
	"context"
	"errors"

	"flame/transcripts"
)

// Read reads logs and returns what they say together. A log that cannot be read
// is named in the result; it is an error only if none can.
func Read(ctx context.Context, logs ...transcripts.Log) (Trail, error) {
	t := NewTracker()
	var failed []error
	for _, log := range logs {
		if err := t.read(ctx, log); err != nil {
			failed = append(failed, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return Trail{}, err
	}
	if len(failed) > 0 && len(failed) == len(logs) {
		return Trail{}, errors.Join(failed...)
	}
	return t.Trail(), nil
}
