package store_test

import (
	"testing"

	"flame/project"
	"flame/store"
	"flame/tests/projecttest"
	"flame/tests/storetest"
)

func TestSQLite(t *testing.T) {
	for name, opts := range map[string]store.Options{"short process": {}, "server": {LongLived: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) project.Store {
				return projecttest.Open(t, t.TempDir()+"/data", opts)
			})
		})
	}
}
