// Package tokens counts tokens without a network, with the tokenizer o200k: the models' own are
// not public, and this one comes near them.
package tokens

import (
	"fmt"
	"sync"

	"github.com/tiktoken-go/tokenizer"
)

// A Counter remembers its counts: requests repeat the conversation so far.
type Counter struct {
	codec tokenizer.Codec

	mu    sync.Mutex
	known map[string]int
}

// New returns a Counter that remembers nothing.
func New() (*Counter, error) {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	return &Counter{codec: codec, known: map[string]int{}}, nil
}

// Count returns the number of tokens of a text.
func (c *Counter) Count(text string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.known[text]
	if !ok {
		n, _ = c.codec.Count(text) // it takes any text as bytes
		c.known[text] = n
	}
	return n
}
