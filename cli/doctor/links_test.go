package doctor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/hub"
)

func TestTheDoctorReportsTheStatusOfTheHub(t *testing.T) {
	many := hub.Status{PID: 7, Since: 1, Progress: hub.Progress{Complete: true}}
	for i := range maxNamed + 3 {
		many.Machines = append(many.Machines, hub.Machine{ID: fmt.Sprintf("m-%02d", i), Version: "1"})
	}
	for name, tt := range map[string]struct {
		status hub.Status
		says   string
		hint   string
	}{
		"it is not connected": {hub.Status{PID: 7, Error: "no hub answers"}, "process 7 is not connected to the hub: no hub answers", "tries again"},
		"it knows what to do": {hub.Status{PID: 7, Error: "refused", Hint: "join anew"}, "refused", "join anew"},
		"it reads":            {hub.Status{PID: 7, Since: 1}, "still reads the data of the hub", "wait"},
		"all is well":         {hub.Status{PID: 7, Since: 1, Progress: hub.Progress{Complete: true, Sent: 3, Taken: 4}}, "3 changes sent, 4 received", ""},
		"it is alone":         {hub.Status{Since: 1, Machines: []hub.Machine{{ID: "me"}}}, "no other machine was connected", ""},
		"others are there":    {hub.Status{Since: 1, Machines: []hub.Machine{{ID: "me"}, {ID: "you", Version: "2"}}}, "last minutes: you (flame 2)", ""},
		"a queue is served": {hub.Status{Since: 1, Machines: []hub.Machine{{ID: "me"}, {ID: "desk", Serves: []hub.QueueStatus{{Queue: "gpu", Slots: 3, Free: 2}}}}},
			"queues: gpu by desk (2 of 3 slots free)", ""},
		"very many":       {many, "m-11 (flame 1) and 3 others", ""},
		"the hub is full": {hub.Status{Since: 1, Progress: hub.Progress{Complete: true, Waiting: 5}}, "5 changes wait", "full"},
		"others are newer": {hub.Status{Since: 1, Progress: hub.Progress{Complete: true, Skipped: 2}},
			"flame skipped 2 frames of other machines", "same version"},
		"a frame is too large": {hub.Status{Since: 1, Progress: hub.Progress{Complete: true, TooLarge: []string{"frame-1"}}},
			"these frames are too large for the hub: frame-1", "max_payload"},
		"something is wrong now": {hub.Status{Since: 1, Error: "full", Hint: "make room", Progress: hub.Progress{Complete: true}}, "the hub: full", "make room"},
	} {
		said, c := false, &checkup{}
		c.sharing(tt.status, hub.Link{Machine: "me"})
		for _, f := range c.found {
			assert.False(t, f.Broken, "%s: flame works without a hub", name)
			if assert.NotEmpty(t, f.What) && strings.Contains(f.What, tt.says) && strings.Contains(f.Hint, tt.hint) {
				said = true
			}
		}
		assert.True(t, said, "%s: %v", name, c.found)
	}
}
