package opencode_test

import (
	"testing"

	"flame/hosts/opencode"
	"flame/tests/hooktest"
)

func TestHook(t *testing.T) { hooktest.Run(t, opencode.Host(nil), "testdata") }
