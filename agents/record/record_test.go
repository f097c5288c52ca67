package record

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/agents/supervise"
	"flame/core"
)

func TestAnAgentOfAnotherContainerLivesWhileItGivesSigns(t *testing.T) {
	far := supervise.Self()
	far.Started += "0" // another pid namespace
	if far.IsVisible() {
		t.Skip("this system has no pid namespaces")
	}
	const begun, minute = core.Millis(1_000_000_000), core.Millis(60_000)
	for name, tt := range map[string]struct {
		live ActiveAgent
		now  core.Millis
		want bool
	}{
		"it has just begun":           {ActiveAgent{Since: begun, Seen: begun}, begun + minute, true},
		"a sign came lately":          {ActiveAgent{Since: begun, Seen: begun + 600*minute}, begun + 605*minute, true},
		"progress came lately":        {ActiveAgent{Since: begun, Seen: begun, LastProgressAt: begun + 20*minute}, begun + 25*minute, true},
		"no sign came for long":       {ActiveAgent{Since: begun, Seen: begun + 5*minute}, begun + 16*minute, false},
		"it is of an older version":   {ActiveAgent{Since: begun}, begun + 60*minute, true},
		"so is this, and it is a day": {ActiveAgent{Since: begun}, begun + 1440*minute, false},
		"the clock went back":         {ActiveAgent{Since: begun, Seen: begun}, begun - 60*minute, true},
	} {
		tt.live.Supervisor, tt.live.Starter = far, far
		assert.Equal(t, tt.want, tt.live.Watched(tt.now), name)
	}
}
