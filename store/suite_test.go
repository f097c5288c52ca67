package store_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/project"
	"flame/store"
	"flame/tests/storetest"
)

func TestSQLite(t *testing.T) {
	for name, opts := range map[string]store.Options{"short process": {}, "server": {LongLived: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) project.Store {
				kept := store.Open(t.TempDir()+"/data", opts)
				t.Cleanup(func() { assert.NoError(t, kept.Close()) })
				return kept
			})
		})
	}
}
