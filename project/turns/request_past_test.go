package turns_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/fold"
	"flame/tests/projecttest"
)

// says is a message of ten tokens; one of the user's has a name that begins with u.
func says(name string, at core.Millis) fold.Message {
	m := fold.Message{Name: name, Role: core.RoleAssistant, Tokens: 10, Time: at}
	if strings.HasPrefix(name, "u") {
		m.Role = core.RoleUser
	}
	return m
}

func TestMessagesKeptByACompactionHaveAnotherPast(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Fold = true
	f.Push(projecttest.Host("s"), "root")
	h := []fold.Message{says("u1", 1), says("a2", 2), says("u3", 3), says("a4", 4)}
	request(f, projecttest.Host("s"), h[:1], nil)
	request(f, projecttest.Host("s"), h[:3], map[core.Millis]int{2: 0})
	sum := fold.Message{Name: "a9", Role: core.RoleAssistant, Summary: true, Time: 9, Tokens: 5}
	a := request(f, projecttest.Host("s"), []fold.Message{says("u8", 8), sum, says("u3", 3), says("a4", 4), says("u10", 10)}, map[core.Millis]int{4: 0, 9: 0})
	assert.Contains(t, a.DropThinking, "a4", "its past was replaced by the summary")
}

func TestThinkingFitsWhereFoldingIsSwitchedOffAndOn(t *testing.T) {
	t.Parallel()
	f, h := inFrames(t)
	a := request(f, projecttest.Host("s"), h, nil) // folds
	h = append(h, says("a5", 5), says("u6", 6))
	f.Decide(projecttest.Shell, f.Current(projecttest.Host("s")), "by another")
	a = request(f, projecttest.Host("s"), h, map[core.Millis]int{5: a.Edition})
	require.NotEmpty(t, a.After)
	h = append(h, says("a7", 7))
	f.Fold = false
	off := request(f, projecttest.Host("s"), h, map[core.Millis]int{7: a.Edition})
	require.Empty(t, off.Drop)
	h = append(h, says("a8", 8)) // made with nothing folded
	off2 := request(f, projecttest.Host("s"), h, map[core.Millis]int{8: off.Edition})
	assert.NotContains(t, off2.DropThinking, "a8", "needless: made unfolded, sent unfolded")
	f.Fold = true
	on := request(f, projecttest.Host("s"), append(h, says("a9", 9)), map[core.Millis]int{8: off.Edition, 9: off2.Edition})
	require.NotEmpty(t, on.Drop)
	assert.Contains(t, on.DropThinking, "a8", "made with the whole past, sent with a folded one")
	assert.Contains(t, on.DropThinking, "a9", "made with the whole past, sent with a folded one")
}

func TestABranchWithoutFramesHasTheTextsOfItsOrigin(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Fold = true
	f.Prompt(projecttest.Host("s"), "u1", "work")
	h := []fold.Message{says("u1", 1), says("a2", 2), says("u3", 3)}
	request(f, projecttest.Host("s"), h[:1], nil)
	f.Decide(projecttest.Shell, f.Current(projecttest.Host("s")), "by another")
	a := request(f, projecttest.Host("s"), h, map[core.Millis]int{2: 0})
	require.NotEmpty(t, a.After)
	h = append(h, says("a4", 4))
	request(f, projecttest.Host("s"), h, map[core.Millis]int{4: a.Edition})
	f.Prompt(projecttest.Host("branch"), "u5", "go on")
	b := request(f, projecttest.Host("branch"), append(h, says("u5", 5)), nil)
	told := slices.ContainsFunc(b.After, func(i fold.Insert) bool { return i.Message == "u3" })
	assert.True(t, told || slices.Contains(b.DropThinking, "a4"), "a4 was made with an insert behind u3: %+v", b)
}

func TestABranchOfABranchContinuesFromIt(t *testing.T) {
	t.Parallel()
	f, h := inFrames(t)
	a := request(f, projecttest.Host("s"), h, nil)
	h = append(h, says("a5", 5))
	request(f, projecttest.Host("s"), h, map[core.Millis]int{5: a.Edition})
	// branch
	f.Prompt(projecttest.Host("b"), "u6", "go on")
	hb := append(h[:len(h):len(h)], says("u6", 6))
	b := request(f, projecttest.Host("b"), hb, nil)
	f.Decide(projecttest.Shell, f.Current(projecttest.Host("b")), "by another")
	hb = append(hb, says("a7", 7), says("u8", 8))
	b = request(f, projecttest.Host("b"), hb, map[core.Millis]int{7: b.Edition})
	require.NotEmpty(t, b.After)
	last := b.After[len(b.After)-1]
	hb = append(hb, says("a9", 9))
	b = request(f, projecttest.Host("b"), hb, map[core.Millis]int{9: b.Edition})
	// the origin goes on meanwhile
	hs := append(h[:len(h):len(h)], says("a20", 20))
	request(f, projecttest.Host("s"), hs, map[core.Millis]int{20: a.Edition})
	// branch of the branch
	f.Prompt(projecttest.Host("c"), "u21", "go on")
	c := request(f, projecttest.Host("c"), append(hb, says("u21", 21)), nil)
	has := slices.ContainsFunc(c.After, func(i fold.Insert) bool { return i.Message == last.Message && i.Text == last.Text })
	assert.True(t, has || slices.Contains(c.DropThinking, "a9"), "a9 was made with %+v: %+v", last, c)
}

func TestAFrameThatTheOriginEndsStaysInTheBranch(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.Fold = true
	f.Push(projecttest.Host("s"), "root")
	frame := f.Push(projecttest.Host("s"), "work")
	now := f.Clock
	h := []fold.Message{
		says("u1", now-10),
		{Name: "a2", Role: core.RoleAssistant, Tokens: 10, Time: now - 5, Moves: []fold.Move{{Kind: fold.Enter, Frame: frame.ID, First: true}}},
		{Name: "a3", Role: core.RoleAssistant, Tokens: 5000, Time: now + 1},
	}
	f.Clock = now + 10
	request(f, projecttest.Host("s"), h, nil)
	f.Prompt(projecttest.Host("b"), "u4", "in the branch")
	hb := append(h[:3:3], says("u4", now+20), fold.Message{Name: "a5-of-branch", Role: core.RoleAssistant, Tokens: 5000, Time: now + 30})
	f.Clock = now + 35
	request(f, projecttest.Host("b"), hb, nil)
	f.Clock = now + 100
	f.Pop(projecttest.Host("s"), "the origin's summary")
	f.Clock = now + 210
	hb = append(hb, fold.Message{Name: "a6", Role: core.RoleAssistant, Tokens: 10, Time: now + 200})
	b := request(f, projecttest.Host("b"), hb, nil)
	assert.NotContains(t, b.Drop, "a5-of-branch", "the origin's summary knows nothing of it: %+v", b)
}
