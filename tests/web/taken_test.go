package web

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Open pages never give their token to a program that takes the port of a server that has ended.
func TestAProgramOnTheOldPortNeverGetsTheToken(t *testing.T) {
	_, _, s, tb := harvest(t)
	tb.expect("ERR_")
	tb.expect("404")
	tb.open(s.address)
	tb.until(`document.querySelector(".live.is-live")`)
	tb.settled() // between the proof of a server and the request that follows it are some milliseconds
	s.kill()
	listener, err := net.Listen("tcp", strings.TrimPrefix(s.base, "http://"))
	require.NoError(t, err)
	var mu sync.Mutex
	var paths, told []string
	another := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		paths = append(paths, r.URL.Path)
		told = append(told, r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"proof":"` + strings.Repeat("0", 64) + `"}`))
	})}
	go another.Serve(listener)
	t.Cleanup(func() { another.Close() })
	tb.until(`document.querySelector("#state")?.innerText.includes("Another server answers here")`)
	refused := eval[string](tb, `import("./net.js").then((net) => net.ask("projects")).then(String, String)`)
	assert.Contains(t, refused, "the server is gone")
	mu.Lock()
	defer mu.Unlock()
	assert.Contains(t, paths, "/hello")
	for i, header := range told {
		assert.Empty(t, header, paths[i])
	}
}

// Long after a server has ended, another one has other keys. An open page does not give it the old
// token, until a person gives the page the new address.
func TestAServerWithOtherKeysNeedsItsNewAddress(t *testing.T) {
	u, root, s, tb := harvest(t)
	tb.expect("ERR_")
	tb.open(s.address)
	tb.until(`document.querySelector(".live.is-live")`)
	tb.settled() // as above
	s.kill()
	long := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(u.flame("where"), "web.json"), long, long))
	again := u.serve("--http", strings.TrimPrefix(s.base, "http://"))
	assert.Equal(t, s.base, again.base)
	assert.NotEqual(t, s.token, again.token)
	tb.until(`document.querySelector("#state")?.innerText.includes("Another server answers here")`)
	eval[bool](tb, `(location.hash = "#t=`+again.token+`") !== ""`)
	tb.until(fmt.Sprintf(`document.querySelector(".live.is-live") && document.getElementById("line-%s")`, root))
	tb.until(`document.querySelector("#state").hidden`)
}
