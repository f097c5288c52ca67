package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMisspeltVariablesNameTheNearestSetting(t *testing.T) {
	got := UnknownIn([]string{
		"FLAME_AGENT=agent-1", "FLAME_PUSH_TRESHOLD=60", "FLAME_TOOLS=core", "FLAMEDIR=/x", "FLAME_EMPTY=", "HOME=/h", "FLAME_QUITE_ELSEWHERE=1", "flame_off=1",
	}, "FLAME_AGENT")
	assert.Equal(t, []UnknownVariable{
		{"FLAMEDIR", "FLAME_DIR"}, {"FLAME_PUSH_TRESHOLD", "FLAME_PUSH_THRESHOLD"}, {"FLAME_QUITE_ELSEWHERE", ""}, {"flame_off", "FLAME_OFF"},
	}, got)
}
