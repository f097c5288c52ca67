package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/outline"
)

// A nested is a node of a tree in JSON with what is below it, as encoding/json
// writes it.
type nested struct {
	treeNode
	Children []*nested           `json:"children,omitempty"`
	More     map[core.Status]int `json:"more,omitempty"`
}

// nest puts lines below each other.
func nest(lines []outline.Line, current string) []*nested {
	top := &nested{Children: []*nested{}}
	way := []*nested{top}
	for _, line := range lines {
		above := way[line.Depth]
		if line.More != nil {
			if above.More == nil {
				above.More = map[core.Status]int{}
			}
			for status, n := range line.More {
				above.More[status] += n
			}
			continue
		}
		node := &nested{treeNode: treeNode{whole(line.Frame), line.Frame.ID == current, line.Agent, line.Turn, line.Fault.String()}}
		above.Children = append(above.Children, node)
		way = append(way[:line.Depth+1], node)
	}
	return top.Children
}

// randomLines makes a tree of n lines, no deeper than so many levels.
func randomLines(r *rand.Rand, n int, levels int32) []outline.Line {
	lines := make([]outline.Line, n)
	for i := range lines {
		line := &lines[i]
		if i > 0 {
			line.Depth = min(r.Int32N(lines[i-1].Depth+2), levels)
		}
		if i > 0 && lines[i-1].More != nil {
			line.Depth = r.Int32N(lines[i-1].Depth + 1) // nothing lies below what was left out
		}
		if line.Depth > 0 && r.IntN(6) == 0 {
			line.More = map[core.Status]int{core.Planned: 1 + r.IntN(9), core.Failed: 1}
			continue
		}
		line.Frame = core.Frame{ID: fmt.Sprint("f", i), Goal: "a <b> & c \u2028", Artifacts: []string{"x"}}
		if line.Depth == 0 && r.IntN(4) == 0 {
			line.Fault = outline.InCycle
		}
	}
	return lines
}

func TestATreeInJSONEqualsTheOutputOfEncodingJSON(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		lines := randomLines(r, r.IntN(50), 20)
		got, _, err := TreeJSON(lines, "f3")
		require.NoError(t, err)
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		require.NoError(t, encoder.Encode(nest(lines, "f3")))
		require.True(t, want.String() == string(got)+"\n", "seed %d:\n%s", seed, got)
	}
}

func TestADeepTreeInJSONIsCutAndCounted(t *testing.T) {
	const n = 3000
	lines := make([]outline.Line, n)
	for i := range lines {
		lines[i] = outline.Line{Branch: outline.Branch{Depth: int32(i)}, Frame: core.Frame{ID: fmt.Sprint(i), Status: core.Statuses[i%2]}}
	}
	raw, _, err := TreeJSON(lines, "")
	require.NoError(t, err)
	assert.Less(t, len(raw), jsonLevels*6000, "bytes: the indent is bounded")
	var at []nested
	require.NoError(t, json.Unmarshal(raw, &at))
	depth := 0
	for ; len(at) > 0 && len(at[0].Children) > 0; depth++ {
		at = []nested{*at[0].Children[0]}
	}
	assert.Equal(t, jsonLevels-1, depth)
	assert.Equal(t, map[core.Status]int{core.InProgress: 1250, core.Planned: 1250}, at[0].More)
}

func TestALineWithADeletedParentStaysInTheTree(t *testing.T) {
	raw, _, err := TreeJSON([]outline.Line{
		{Frame: core.Frame{ID: "root"}}, {Branch: outline.Branch{Depth: 2}, Frame: core.Frame{ID: "below one that was deleted"}},
	}, "")
	require.NoError(t, err)
	var nodes []nested
	require.NoError(t, json.Unmarshal(raw, &nodes))
	assert.Equal(t, "below one that was deleted", nodes[0].Children[0].ID)
}
