package transport

import (
	"context"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOrder(t *testing.T) {
	t.Parallel()
	givenUp, giveUp := context.WithCancel(t.Context())
	giveUp()

	t.Run("each waits for all before it, in whatever order they end", func(t *testing.T) {
		t.Parallel()
		var order order
		first, second, third := order.take(true), order.take(true), order.take(true)
		second.end()
		assert.ErrorIs(t, third.wait(givenUp), context.Canceled)
		assertBehind(t, third)
		first.end()
		require.NoError(t, third.wait(t.Context()))
	})
	t.Run("a call that gave up lets no other overtake", func(t *testing.T) {
		t.Parallel()
		var order order
		first, second, third := order.take(true), order.take(true), order.take(true)
		require.ErrorIs(t, second.wait(givenUp), context.Canceled)
		second.end()
		assertBehind(t, third)
		first.end()
		require.NoError(t, third.wait(t.Context()))
	})
	t.Run("a reader waits for what was before it and holds up none", func(t *testing.T) {
		t.Parallel()
		var order order
		first := order.take(true)
		reader, second := order.take(false), order.take(true)
		assertBehind(t, reader)
		first.end()
		require.NoError(t, reader.wait(t.Context()))
		require.NoError(t, second.wait(t.Context()))
		reader.end()
	})
	t.Run("ending twice is ending once", func(t *testing.T) {
		t.Parallel()
		var order order
		first, second, third := order.take(true), order.take(true), order.take(true)
		first.end()
		first.end()
		require.NoError(t, second.wait(t.Context()))
		assertBehind(t, third)
	})
	t.Run("one whose time has come, but whose call is cancelled, does not begin", func(t *testing.T) {
		t.Parallel()
		var order order
		assert.ErrorIs(t, order.take(true).wait(givenUp), context.Canceled)
	})
}

// assertBehind checks that the slots before behind are not over.
func assertBehind(t *testing.T, behind *slot) {
	t.Helper()
	select {
	case <-behind.before:
		assert.Fail(t, "a slot began too early")
	default:
	}
}

func TestWithoutASlotThereIsNothingToWaitFor(t *testing.T) {
	t.Parallel()
	begin := func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("done"), nil
	}
	result, err := InOrder(begin)(t.Context(), mcp.CallToolRequest{})
	require.NoError(t, err)
	assert.NotNil(t, result)
}
