package top

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/render/board"
)

func TestADeletedFrameLeavesTheModel(t *testing.T) {
	t.Parallel()
	m := newModel()
	m.take(board.Change{Whole: true, Frames: []board.Row{
		{ID: "a", Status: "completed"}, {ID: "b", Parent: "a", Status: "completed"}, {ID: "c", Parent: "b", Status: "completed"},
	}})
	m.take(board.Change{Gone: []string{"b", "unknown"}})
	assert.Nil(t, m.frames.Find("b"))
	assert.Len(t, m.frames.All(), 2)
	assert.Len(t, m.frames.Tops(), 2, "what was below it is at the top")
	assert.Equal(t, 2, m.counts["completed"])
	m.take(board.Change{Frames: []board.Row{{ID: "b", Parent: "a", Status: "completed"}}, Gone: []string{"a"}})
	assert.Len(t, m.frames.Tops(), 1)
	assert.Len(t, m.frames.Tops()[0].Below, 1)
}
