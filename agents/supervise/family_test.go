package supervise

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Asked from outside, a failure would end every process of the machine's user.
func TestAFamilyOfNoAgentIsEmpty(t *testing.T) {
	t.Parallel()
	assert.Empty(t, family{}.living())
	assert.Empty(t, family{noted: []member{{}, {Process: Process{PID: 1}}, {Process: Process{PID: -1}}}}.living())
	assert.Empty(t, family{}.members())
}
