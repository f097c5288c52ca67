// Package client speaks to flame's own server as a host does.
package client

import (
	"context"
	"errors"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

// Start starts `program serve` with these variables added to the environment
// and does the handshake as the client called name. The caller closes the
// client.
func Start(ctx context.Context, program string, env []string, name string) (*client.Client, error) {
	c, err := client.NewStdioMCPClient(program, env, "serve")
	if err != nil {
		return nil, err
	}
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: name, Version: "1"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
