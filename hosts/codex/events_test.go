package codex_test

import (
	"testing"

	"flame/hosts/codex"
	"flame/tests/hooktest"
)

func TestHook(t *testing.T) { hooktest.Run(t, codex.Host(nil), "testdata") }
