package gemini_test

import (
	"testing"

	"flame/hosts/gemini"
	"flame/tests/hooktest"
)

func TestHook(t *testing.T) { hooktest.Run(t, gemini.Host(nil), "testdata") }
