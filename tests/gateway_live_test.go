package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/tests/model"
	"flame/tests/model/rules"
)

// behind returns a user of Claude Code with flame; the model binds its thinking and enforces the
// API's rules.
func behind(t *testing.T) (*user, *rules.Judge) {
	u := ready(t, claudeCode)
	judge := rules.New(rules.Options{Protocol: true, Bound: true, Cache: true})
	u.model.Enforce(judge)
	return u, judge
}

// claude runs Claude Code behind a gateway, in print mode.
func (u *user) claude(args ...string) string {
	return u.must(u.flame, append([]string{"claude"}, printed(args...)...)...)
}

// printed returns the arguments of print mode, with a model that binds its thinking.
func printed(args ...string) []string {
	return append([]string{"-p", "--model", "claude-opus-5-5", "--permission-mode", "bypassPermissions"}, args...)
}

// piece returns the turns of a frame with so many rounds, whose outputs contain the word.
func piece(word string, rounds int) (turns []model.Turn) {
	turns = append(turns, calls("flame_push", map[string]any{"goal": "piece " + word}))
	for range rounds {
		turns = append(turns, shell("IN-"+word))
	}
	return append(turns, pop(word+"-SUMMARY"))
}

// shell returns a call of Claude Code's shell that prints a word and a long text.
func shell(word string) model.Turn {
	return calls("Bash", map[string]any{"command": "head -c 4000 /dev/zero | tr '\\0' x; echo " + word, "description": "much output"})
}

// inOrder joins turns.
func inOrder(parts ...[]model.Turn) (all []model.Turn) {
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}

// newestOf returns the newest request that an actor answered.
func (u *user) newestOf(actor string) model.Request {
	requests := u.model.By(actor)
	require.NotEmpty(u.t, requests)
	return requests[len(requests)-1]
}

// counts checks that flame's counts equal the model's, to the token.
func (u *user) counts(judge *rules.Judge) {
	var told struct {
		Usage struct{ TokensIn, TokensOut, CacheRead, CacheWritten int }
	}
	require.NoError(u.t, json.Unmarshal([]byte(u.must(u.flame, "stats", "--json")), &told))
	s := judge.Stats()
	assert.Equal(u.t, [4]int{s.Uncached, s.Out, s.Read, s.Written},
		[4]int{told.Usage.TokensIn, told.Usage.TokensOut, told.Usage.CacheRead, told.Usage.CacheWritten})
}

// One session has parallel calls, a subagent and pictures, plans, is compacted, and goes on without the
// gateway and with it again.
func TestClaudeBehindAGateway(t *testing.T) {
	t.Parallel()
	u, judge := behind(t)
	var picture bytes.Buffer
	require.NoError(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 64, 64))))
	u.write("dot.png", picture.String())
	u.write("a.txt", strings.Repeat("x", 6000))
	look := calls("Read", map[string]any{"file_path": filepath.Join(u.project, "dot.png")})
	read := calls("Read", map[string]any{"file_path": filepath.Join(u.project, "a.txt")}) // planning mode cannot move frames
	several := model.Turn{Tools: []model.Tool{shell("IN-A").Tools[0], shell("IN-A").Tools[0], agent("dig", "CHILDWORK", false)}}
	say := func(text string) []model.Turn { return []model.Turn{{Text: text}} }
	u.model.Play(model.Script{
		{Name: "summary", Kind: model.Compaction, Turns: []model.Turn{{Text: "<summary>\nWHAT-WAS-DONE\n</summary>"}}},
		asked("child", "CHILDWORK", think(inOrder(piece("CHILD", 2), []model.Turn{shell("AFTER"), {Text: "CHILD-RESULT"}})...)...),
		asked("main", "FIRST|continued from a previous", think(inOrder(
			[]model.Turn{calls("flame_push", map[string]any{"goal": "piece A"}), several, look, several, pop("A-SUMMARY"), shell("AFTER"), look}, say("one"),
			[]model.Turn{read, read}, say("planned"), // SECOND
			piece("B", 2), say("two"), // THIRD
			say("four"), say("five"), piece("E", 2), say("six"), say("seven"), // after /compact
		)...)...),
	})
	u.claude("--session-id", talkID, "FIRST")
	u.must(u.flame, "claude", "-p", "--model", "claude-opus-5-5", "--permission-mode", "plan", "--allowedTools", "mcp__plugin_flame_flame",
		"--resume", talkID, "--", "SECOND")
	u.claude("--resume", talkID, "THIRD")
	u.fits(judge, "with subagents and pictures, and after planning")
	u.counts(judge)
	assert.NotContains(t, u.newestOf("child").Everything(), "IN-CHILD", "what a subagent has finished leaves its requests")
	last := u.newestOf("main")
	for _, word := range []string{"A", "B"} {
		assert.NotContains(t, last.Everything(), "IN-"+word)
		assert.Contains(t, said(last), word+"-SUMMARY")
	}
	for _, words := range []string{"FIRST", "SECOND", "THIRD"} {
		assert.Contains(t, last.Everything(), words)
	}

	u.claude("--resume", talkID, "/compact")
	summary := u.newestOf("summary")
	assert.NotContains(t, summary.Everything(), "IN-A", "the request for a summary is folded as well")
	u.claude("--resume", talkID, "FOURTH")
	u.fits(judge, "after a compaction")
	u.counts(judge)

	refused := judge.Stats().Rejected
	u.must("claude", printed("--resume", talkID, "FIFTH")...)
	assert.LessOrEqual(t, judge.Stats().Rejected, refused+1, "without the gateway it heals at once")
	refused = judge.Stats().Rejected
	u.claude("--resume", talkID, "SIXTH")
	u.claude("--resume", talkID, "SEVENTH")
	assert.Equal(t, refused, judge.Stats().Rejected, "%v", judge.Reasons())
	assert.NotContains(t, u.newestOf("main").Everything(), "IN-E")
}

// said returns the text of a request's messages, calls included.
func said(r model.Request) string {
	var all strings.Builder
	for _, m := range r.Messages {
		all.WriteString(m.Text + strings.Join(m.Results, "\n"))
		for _, c := range m.Calls {
			all.Write(c.Input.(json.RawMessage))
		}
	}
	return all.String()
}

// TestClaudeDoesNotCompactBehindAGateway uses a window that only folded work fits: the outputs alone are
// 105,000 tokens.
func TestClaudeDoesNotCompactBehindAGateway(t *testing.T) {
	t.Parallel()
	u, judge := behind(t)
	u.env = append(u.env, "CLAUDE_CODE_AUTO_COMPACT_WINDOW=100000")
	turns := []model.Turn{}
	for i := range 5 {
		turns = append(turns, calls("flame_push", map[string]any{"goal": fmt.Sprint("piece ", i)}))
		for range 3 {
			turns = append(turns, calls("Bash", map[string]any{"command": "head -c 28000 /dev/zero | tr '\\0' x", "description": "much output"}))
		}
		turns = append(turns, pop("done"))
	}
	u.model.Play(model.Script{
		{Name: "summary", Kind: model.Compaction, Turns: []model.Turn{{Text: "<summary>\nx\n</summary>"}}},
		asked("main", "FIRST|continued from a previous", append(turns, model.Turn{Text: "done"})...),
	})
	u.claude("--session-id", talkID, "FIRST")
	assert.Empty(t, judge.Reasons())
	assert.Empty(t, u.model.By("summary"), "%+v", judge.Stats())
}

// killGateways kills the gateways that run for this user, and returns how many.
func (u *user) killGateways() (killed int) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range lines {
		line, err := os.ReadFile(file)
		env, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "environ"))
		if err != nil || !strings.Contains(string(line), "\x00gateway\x00") || !strings.Contains("\x00"+string(env), "\x00HOME="+u.home+"\x00") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	return killed
}

// TestALockedOrDamagedStoreBlocksNoRequest breaks the store while a session is folded.
func TestALockedOrDamagedStoreBlocksNoRequest(t *testing.T) {
	t.Parallel()
	for name, happens := range map[string]func(u *user) (mend func()){
		"locked": func(u *user) func() {
			file, err := os.OpenFile(filepath.Join(u.data(), "flame.lock"), os.O_RDWR, 0)
			require.NoError(u.t, err)
			require.NoError(u.t, syscall.Flock(int(file.Fd()), syscall.LOCK_EX))
			return func() { file.Close() }
		},
		"damaged": func(u *user) func() {
			database := filepath.Join(u.data(), "flame.db")
			was, err := os.ReadFile(database)
			require.NoError(u.t, err)
			require.NoError(u.t, os.WriteFile(database, bytes.Repeat([]byte("damaged "), len(was)/8), 0o600))
			return func() { require.NoError(u.t, os.WriteFile(database, was, 0o600)) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, judge := behind(t)
			mend := func() {}
			broken := model.Turn{From: func(model.Request) model.Turn {
				mend = happens(u)
				return model.Turn{Thinking: "now", Tools: shell("MEANWHILE").Tools}
			}}
			u.model.Play(model.Script{asked("main", "FIRST",
				inOrder(think(piece("A", 3)...), []model.Turn{broken}, think(shell("AFTER"), shell("AFTER"), model.Turn{Text: "done"}, model.Turn{Text: "more"}))...)})
			u.claude("--session-id", talkID, "FIRST")
			mend()
			u.fits(judge, "while it is "+name)
			assert.NotContains(t, u.newestOf("main").Everything(), "IN-A")
			u.claude("--resume", talkID, "SECOND")
			assert.LessOrEqual(t, judge.Stats().Rejected, 1, "the restored store may be older: then the client recovers once")
			assert.True(t, name == "damaged" || judge.Stats().Rejected == 0, "%v", judge.Reasons())
		})
	}
}

// The gateway is killed while the model thinks.
func TestAGatewayTrimsOutputsFromClaudesRequests(t *testing.T) {
	t.Parallel()
	u, judge := behind(t)
	u.env = append(u.env, "FLAME_TRIM=old")
	turns, killed := []model.Turn{calls("flame_push", map[string]any{"goal": "a long piece"})}, 0
	for i := range 10 {
		turns = append(turns, calls("Bash", map[string]any{"command": fmt.Sprintf("head -c 20000 /dev/zero | tr '\\0' x; echo OUT-%d", i), "description": "much"}))
	}
	turns = think(append(turns, model.Turn{Text: "done"}, model.Turn{Text: "more"})...)
	slow := turns[4]
	turns[4] = model.Turn{From: func(model.Request) model.Turn {
		killed += u.killGateways()
		return slow
	}}
	u.model.Play(model.Script{asked("main", "FIRST", turns...)})
	u.claude("--session-id", talkID, "FIRST")
	u.claude("--resume", talkID, "SECOND")
	assert.Equal(t, 1, killed)
	u.fits(judge, "with old outputs cut")
	last := u.newestOf("main").Everything()
	assert.NotContains(t, last, "OUT-0")
	assert.Contains(t, last, "OUT-9")
	found := regexp.MustCompile(`flame_recall with call "([^"]+)" shows them`).FindStringSubmatch(last)
	require.NotNil(t, found, last)
	assert.Contains(t, u.must(u.flame, "call", "--session", talkID, "flame_recall", `{"call":"`+found[1]+`"}`), "OUT-")
}
