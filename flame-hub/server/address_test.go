package server

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestURLsOfServers(t *testing.T) {
	t.Parallel()
	for url, right := range map[string]bool{
		"nats://h": true, "tls://h:4222,tls://g:65535": true, "nats://h:99999": false, "nats://h:4222,nats://h:65536": false, "http://h": false,
	} {
		assert.Equal(t, right, CheckURL(url) == nil, url)
	}
}
