package claudecode_test

import (
	"testing"

	"flame/hosts/claudecode"
	"flame/tests/hooktest"
)

func TestHook(t *testing.T) { hooktest.Run(t, claudecode.Host(), "testdata") }
