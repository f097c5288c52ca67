package git

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSettingsThatRunProgramsAreSwitchedOff(t *testing.T) {
	list := strings.Join([]string{
		"core.editor", "filter.clean", "filter.x.y.clean", "filter.x.y.clean", "filter..process", `filter.a"\ b.required`,
		"hook.x.event", "hook.x.command", "merge.x.name", "merge.x.driver", "branch.clean.merge", "nodot", "",
	}, "\x00")
	assert.Equal(t, strings.Join([]string{
		`[filter ""]`, "\tprocess = ",
		`[filter "a\"\\ b"]`, "\trequired = false",
		`[filter "x.y"]`, "\tclean = ",
		`[hook "x"]`, "\tcommand = true",
		`[hook "x"]`, "\tevent = ",
		`[merge "x"]`, "\tdriver = false", "",
	}, "\n"), switchedOff(list))
}
