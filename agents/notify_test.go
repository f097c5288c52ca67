package agents_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/samber/lo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/agents/converge"
	"flame/agents/plan"
	"flame/core"
)

// A noticeFile has what all processes of a service told a person, a line each.
type noticeFile string

func noticesIn(data string) noticeFile { return noticeFile(filepath.Join(data, "notices")) }

func (file noticeFile) add(kind, text, id string) {
	line, err := json.Marshal([]string{kind, text, id})
	exit(err)
	f, err := os.OpenFile(string(file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	exit(err)
	defer f.Close()
	_, err = f.Write(append(line, '\n'))
	exit(err)
}

// notices returns the notices to a person about agents with these ids.
func (s *service) notices(ids ...string) (told [][]string) {
	s.t.Helper()
	raw, err := os.ReadFile(string(noticesIn(s.Data)))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(s.t, err)
	for line := range strings.Lines(string(raw)) {
		var notice []string
		require.NoError(s.t, json.Unmarshal([]byte(line), &notice))
		if lo.Contains(ids, notice[2]) {
			told = append(told, notice)
		}
	}
	return told
}

func TestFlameNotifiesAPersonOnceOfAnAgentsEnd(t *testing.T) {
	t.Parallel()
	s := newService(t, "name: hasty\ndescription: d\nflame: {timeout: 1}")
	done := s.over(s.spawn("done").ID, core.AgentCompleted, core.Completed)
	failed := s.over(s.spawn("fail").ID, core.AgentError, core.Failed)
	require.NoError(t, s.Recover(s.ctx))
	require.NoError(t, s.Recover(s.ctx))
	told := s.notices(done.ID, failed.ID)
	require.Len(t, told, 2)
	assert.Equal(t, "agent-ended", told[0][0])
	assert.Regexp(t, "^Agent builder ended, completed: ", told[0][1])
	assert.Equal(t, "agent-ended", told[1][0])
	assert.Regexp(t, `^Agent builder ended, error \(.+\): `, told[1][1])

	hasty := s.request(user, plan.Request{Type: "hasty", Prompt: "hang"})
	s.ended(hasty.ID)
	told = s.notices(hasty.ID)
	require.Len(t, told, 2)
	assert.Equal(t, "limit", told[0][0])
	assert.Regexp(t, "^Agent hasty reached a limit ", told[0][1])
	assert.Equal(t, "agent-ended", told[1][0])
}

func TestFlameNotifiesAPersonOfWaitingConflicts(t *testing.T) {
	t.Parallel()
	s := newService(t)
	ids := s.done(`done {"verdict": "yes"}`, `done {"verdict": "no"}`)
	settled := s.converged(ids, converge.Options{Strategy: converge.StrategyMerge, Resolution: converge.AutoAcceptLatest})
	assert.Empty(t, s.notices(settled.ID))
	c := s.converged(ids, converge.Options{Strategy: converge.StrategyMerge})
	told := s.notices(c.ID)
	require.Len(t, told, 1)
	assert.Equal(t, "conflict", told[0][0])
	assert.Contains(t, told[0][1], "flame agents review "+c.ID)
}
