package claudecode_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/hosts"
	"flame/hosts/claudecode"
)

func TestTheInputOfTheStatusLine(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		document string
		want     hosts.LinePlace
		ok       bool
	}{
		"all":                {`{"session_id":"s","cwd":"/p/sub","workspace":{"project_dir":"/p"}}`, hosts.LinePlace{Session: "s", Folder: "/p"}, true},
		"an older one":       {`{"session_id":"s","cwd":"/p/sub"}`, hosts.LinePlace{Session: "s", Folder: "/p/sub"}, true},
		"a folder somewhere": {`{"session_id":"s","cwd":"../p","workspace":{"project_dir":"p"}}`, hosts.LinePlace{Session: "s"}, true},
		"another document":   {`{"sessionID":"s"}`, hosts.LinePlace{}, false},
		"of other types":     {`{"session_id":{},"cwd":1}`, hosts.LinePlace{}, false},
		"a list":             {`[]`, hosts.LinePlace{}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := claudecode.Host().Gateway.StatusLine([]byte(tt.document))
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.ok, ok)
		})
	}
}
