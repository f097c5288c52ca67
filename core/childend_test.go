package core_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/core"
)

func TestHowAChildEndedDecidesItsFramesStatus(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		end    core.ChildEnd
		status core.Status
		event  string
	}{
		"one that came to its last message is done": {core.ChildCompleted, core.Completed, core.SubagentCompleted},
		"one that an error ended has failed":        {core.ChildFailed, core.Failed, core.SubagentError},
		"one that took too long has failed":         {core.ChildTimedOut, core.Failed, core.SubagentTimeout},
		"the work of one that was stopped is kept":  {core.ChildCancelled, core.Blocked, core.SubagentCancelled},
		"the work of one that was lost is kept":     {core.ChildOrphaned, core.Blocked, core.SubagentOrphaned},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.status, tt.end.Status())
			assert.Equal(t, tt.event, tt.end.Event())
			assert.NotEmpty(t, tt.end.Note(), "a frame that ended says why")
		})
	}
}

func TestTheEndThatAStatusStandsFor(t *testing.T) {
	t.Parallel()
	for _, status := range []core.Status{core.Completed, core.Failed, core.Blocked} {
		assert.Equal(t, status, core.EndOf(status).Status())
	}
	assert.Equal(t, core.ChildCancelled, core.EndOf(core.Blocked), "someone said so: it was not lost")
}
