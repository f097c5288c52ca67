package tests

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core/op"
	"flame/tests/model"
	"flame/tests/processes"
)

// spawnRule lets Claude Code start flame's agents without a question.
const spawnRule = "mcp__plugin_flame_flame__spawn_agent"

// spawns has the model start an agent.
func spawns(kind, description, prompt string, more map[string]any) model.Tool {
	input := map[string]any{"subagent_type": kind, "description": description, "prompt": prompt}
	for name, value := range more {
		input[name] = value
	}
	return model.Tool{Name: "spawn_agent", Input: input}
}

var agentID = regexp.MustCompile(`agent-[a-z0-9]{8}`)

// waitsFor has the model wait for the agent that the last answer of a tool names.
func waitsFor() model.Turn {
	return model.Turn{From: func(r model.Request) model.Turn {
		return calls("flame_agent_wait", map[string]any{"subagent_id": agentID.FindString(r.LastResult())})
	}}
}

// Three agents of one session, in the mode "default", which edits nothing unasked: one that reads,
// one that wants all, and one for which the call names tools.
func TestAgentsWorkBelowTheirCallerWithinItsLimits(t *testing.T) {
	t.Parallel()
	u := ready(t, claudeCode)
	u.write(".claude/settings.json", `{"permissions": {"deny": ["WebFetch"]}}`)
	u.write(".claude/agents/greedy.md", "---\ndescription: wants all\ntools: Bash, Write, WebFetch\npermissionMode: bypassPermissions\n---\nTake it.")
	starts := func(kind, description, prompt string, more map[string]any) model.Turn {
		return model.Turn{Tools: []model.Tool{spawns(kind, description, prompt, more)}}
	}
	u.model.Play(model.Script{
		asked("child", "CHILDWORK", calls("flame_add_decision", map[string]any{"decision": "the child decides"}), model.Turn{Text: "CHILD-RESULT\nConfidence: 0.9"}),
		asked("greedy", "GREEDY", writes(claudeCode, filepath.Join(u.project, "stolen.txt"), "x"),
			calls("Bash", map[string]any{"command": "touch " + filepath.Join(u.project, "touched.txt")}), model.Turn{Text: "TRIED"}),
		asked("sly", "SLYWORK", model.Turn{Text: "TRIED"}),
		asked("main", "MAINWORK",
			starts("analyzer", "look at it", "CHILDWORK go", nil), waitsFor(),
			starts("greedy", "take it", "GREEDY go", map[string]any{"permission_mode": "bypassPermissions"}), waitsFor(),
			starts("builder", "do it slyly", "SLYWORK go", map[string]any{
				"permission_mode": "plan", "tools": []string{"Bash(*)", "Read"}, "model": "claude-opus-5-5",
			}), waitsFor(),
			model.Turn{Text: "MAIN-RESULT"}),
	})
	u.ask(claudeCode, "MAINWORK please")
	t.Log(u.must(u.flame, "tree"), u.must(u.flame, "events"), u.log())
	main := u.model.By("main")
	require.Len(t, main, 7)
	for _, part := range []string{"CHILD-RESULT", "the child decides", "Confidence: 0.9"} {
		assert.Contains(t, main[2].LastResult(), part)
	}
	assert.Regexp(t, `"parent_tool_id":"toolu_\w+"`, u.must(u.flame, "events", "--kind", "SubagentSpawned", "--json"))
	root, child := u.frame("MAINWORK please"), u.frame("look at it")
	assert.Equal(t, root.SessionID, child.ParentSessionID)
	assert.Equal(t, "completed", child.Status)
	assert.Equal(t, []string{"the child decides"}, child.Decisions)
	request := u.model.By("child")[0]
	assert.Contains(t, request.Everything(), `<current-frame id="`+child.SessionID+`"`)
	isOfferedNoneOf(t, request, "Write", "Edit", "Bash")

	assert.Contains(t, main[3].LastResult(), "Mode: default (bypassPermissions was requested; the parent allows no more)")
	greedy := u.model.By("greedy")
	require.Len(t, greedy, 3)
	isOfferedNoneOf(t, greedy[0], "WebFetch") // the user's denial binds the child
	assert.NoFileExists(t, filepath.Join(u.project, "stolen.txt"))
	assert.NoFileExists(t, filepath.Join(u.project, "touched.txt"))
	assert.Contains(t, u.must(u.flame, "events", "--kind", "PermissionDecision", "--json"), "bypassPermissions")

	sly := u.model.By("sly")
	require.NotEmpty(t, sly)
	isOfferedNoneOf(t, sly[0], "Bash") // the mode plan only reads, despite the call's rule
	_, offered := sly[0].Offered("Read")
	assert.True(t, offered)
}

// isOfferedNoneOf checks what a client did not offer its model.
func isOfferedNoneOf(t *testing.T, r model.Request, tools ...string) {
	for _, tool := range tools {
		_, offered := r.Offered(tool)
		assert.False(t, offered, "%s is offered", tool)
	}
}

// writes has a host's model write a file.
func writes(client, path, content string) model.Turn {
	if client == openCode {
		return calls("write", map[string]any{"filePath": path, "content": content})
	}
	return calls("Write", map[string]any{"file_path": path, "content": content})
}

func readsFile(client, path string) model.Turn {
	if client == openCode {
		return calls("read", map[string]any{"filePath": path})
	}
	return calls("Read", map[string]any{"file_path": path})
}

// agentsIn returns the ids of the agents in a request, in order.
func agentsIn(r model.Request) (ids []string) {
	for _, id := range agentID.FindAllString(r.Everything(), -1) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// waitsForAll has the model wait for so many agents, one after another.
func waitsForAll(count int) (turns []model.Turn) {
	for i := range count {
		turns = append(turns, model.Turn{From: func(r model.Request) model.Turn {
			ids := agentsIn(r)
			if i >= len(ids) {
				return model.Turn{Text: "no such agent"}
			}
			return calls("flame_agent_wait", map[string]any{"subagent_id": ids[i]})
		}})
	}
	return turns
}

// lineIn returns the line that the text of a slash command carries.
func lineIn(r model.Request) string {
	text := r.FirstUser()
	for _, command := range op.Commands {
		if _, after, found := strings.Cut(text, command.Text+"\n\n"); found {
			line, _, _ := strings.Cut(after, "\n") // what flame adds comes behind it
			if text, err := strconv.Unquote(line); err == nil {
				return text // `opencode run` quotes a line with blanks
			}
			return line
		}
	}
	return text
}

// works has the client work on a prompt with the right to edit files.
func (u *user) works(client, prompt string) string {
	if client == openCode {
		return u.ask(client, prompt)
	}
	return u.must("claude", "-p", "--output-format", "json", "--permission-mode", "acceptEdits",
		"--allowedTools", "mcp__plugin_flame_flame,mcp__flame", "--", prompt)
}

func TestThreeAgentsAreDelegatedToAndConverged(t *testing.T) {
	t.Parallel()
	for _, client := range []string{claudeCode, openCode} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			u := ready(t, client)
			file := func(name string) string { return filepath.Join(u.project, name) }
			line := `ONEWORK: write what's "due" --agent-type builder`
			written := make(chan struct{}) // the shared file, by the first agent
			u.model.Play(model.Script{
				asked("main", "spawn_agent", append(append([]model.Turn{
					{From: func(r model.Request) model.Turn {
						assert.Equal(t, line, lineIn(r))
						return calls("spawn_agent", map[string]any{"subagent_type": "builder", "prompt": `ONEWORK: write what's "due"`})
					}},
					{Tools: []model.Tool{spawns("builder", "do two", "TWOWORK go", nil), spawns("builder", "do three", "THREEWORK go", nil)}},
				}, waitsForAll(3)...), model.Turn{Text: "MAIN-RESULT"})...),
				asked("two", "TWOWORK", writes(client, file("two.txt"), "two"), model.Turn{Text: "TWO-RESULT"}),
				// Claude Code writes over no file that the agent has not read, so the third waits and reads it.
				asked("three", "THREEWORK", model.Turn{From: func(model.Request) model.Turn { <-written; return readsFile(client, file("shared.txt")) }},
					writes(client, file("shared.txt"), "of three"), model.Turn{Text: "THREE-RESULT"}),
				// The last, since the session is named by its task, which the others see.
				asked("one", "ONEWORK", writes(client, file("one.txt"), "one"), writes(client, file("shared.txt"), "of one"),
					model.Turn{From: func(model.Request) model.Turn { close(written); return model.Turn{Text: "ONE-RESULT"} }}),
			})
			u.works(client, "/flame:delegate "+line)
			t.Log(u.must(u.flame, "tree"), u.must(u.flame, "agents", "runs"), u.log())
			main := u.model.By("main")
			require.Len(t, main, 6)
			ids := agentsIn(main[5])
			require.Len(t, ids, 3)
			for i, result := range []string{"ONE-RESULT", "TWO-RESULT", "THREE-RESULT"} {
				assert.Contains(t, u.must(u.flame, "agents", "result", ids[i]), result)
			}
			assert.Contains(t, u.must(u.flame, "agents", "show", ids[0]), `Task: ONEWORK: write what's "due"`)
			assert.FileExists(t, file("one.txt"))
			assert.FileExists(t, file("two.txt"))
			logged := u.tracked(client)
			assert.Regexp(t, `^\S.*\n├── ONEWORK: write what's "due" \(@builder\) .* completed .*\n`+
				`├── do two \(@builder\) .* completed .*\n└── do three \(@builder\) .* completed .*\ntotal: .*\n$`, logged)

			line = strings.Join(ids, " ") + " --strategy merge"
			u.model.Play(model.Script{asked("converger", "flame_converge", model.Turn{From: func(r model.Request) model.Turn {
				assert.Equal(t, line, lineIn(r))
				return calls("flame_converge", map[string]any{"subagent_ids": ids, "strategy": "merge"})
			}}, model.Turn{Text: "CONVERGED"})})
			u.works(client, "/flame:converge "+line)
			converger := u.model.By("converger")
			require.NotEmpty(t, converger)
			answer := converger[len(converger)-1].LastResult()
			t.Log(answer)
			assert.Contains(t, answer, "file:shared.txt")
			assert.Contains(t, answer, "wait for review")
			id := regexp.MustCompile(`converge-[a-z0-9]{8}`).FindString(answer)
			settled := u.must(u.flame, "agents", "review", id, "--choose", "file:shared.txt="+ids[2])
			assert.Contains(t, settled, "Resolved by review: `"+ids[2]+"` holds")
			assert.Contains(t, settled, "TWO-RESULT")
			stream := u.must(u.flame, "agents", "review", id, "--trajectory")
			t.Log(stream)
			for _, part := range []string{
				ids[1] + " an agent was started (builder: do two", file("two.txt") + "\n", ids[1] + " changed (artifacts: two.txt", ids[1] + " says: TWO-RESULT",
				ids[1] + " the agent's run ended (success", "CONFLICT file:shared.txt",
			} {
				assert.Contains(t, stream, part)
			}
			u.leavesNothing()
		})
	}
}

// tracked draws what a client logged of its sessions.
func (u *user) tracked(client string) string {
	log := filepath.Join(u.home, ".claude", "projects")
	if client == openCode {
		log = filepath.Join(u.home, ".local", "share", "opencode", "opencode.db")
	}
	return u.must(u.flame, "agents", "graph", log)
}

// leavesNothing fails if a process is left that works for an agent of the user's.
func (u *user) leavesNothing() { leavesNothing(u.t, u.home) }

// leavesNothing fails if a process is left that works for an agent of whose home this is.
func leavesNothing(t *testing.T, home string) {
	var left []string
	assert.Eventually(t, func() bool {
		left = nil
		names, err := filepath.Glob("/proc/[0-9]*")
		require.NoError(t, err)
		for _, name := range names {
			environ, err := os.ReadFile(name + "/environ")
			if err == nil && strings.Contains(string(environ), "FLAME_AGENT=agent-") && strings.Contains(string(environ), "HOME="+home) {
				command, _ := os.ReadFile(name + "/cmdline")
				left = append(left, name+" "+strings.ReplaceAll(string(command), "\x00", " "))
			}
		}
		return len(left) == 0
	}, patience, 100*time.Millisecond)
	assert.Empty(t, left, "processes of agents are left")
}

func TestAgentsBelowAgentsHaveADepth(t *testing.T) {
	t.Parallel()
	const depth = 3
	u := ready(t, claudeCode)
	u.write(".claude/agents/worker.md", "---\ndescription: works\nflame:\n  type: builder\n---\nWork.")
	var script model.Script
	for level := depth; level >= 0; level-- { // the context of each names the first
		turns := []model.Turn{{Text: fmt.Sprintf("RESULT-%d", level)}}
		if level < depth {
			turns = append([]model.Turn{
				{Tools: []model.Tool{spawns("worker", fmt.Sprintf("level %d", level+1), fmt.Sprintf("LEVEL%d go", level+1), nil)}}, waitsFor(),
			}, turns...)
		}
		script = append(script, asked(fmt.Sprintf("level%d", level), fmt.Sprintf("LEVEL%d go", level), turns...))
	}
	u.model.Play(script)
	u.ask(claudeCode, "LEVEL0 go")
	t.Log(u.must(u.flame, "tree"), u.must(u.flame, "agents", "runs"))
	for level := 1; level <= depth; level++ {
		requests := u.model.By(fmt.Sprintf("level%d", level))
		require.NotEmpty(t, requests, "level %d", level)
		for _, tool := range []string{"spawn_agent", "Agent"} { // flame's and the host's own
			_, offered := requests[0].Offered(tool)
			assert.Equal(t, level < depth, offered, "level %d is offered %s", level, tool)
		}
		if level > 1 {
			assert.Equal(t, u.frame(fmt.Sprintf("level %d", level-1)).SessionID, u.frame(fmt.Sprintf("level %d", level)).ParentSessionID)
		}
	}
	u.leavesNothing()
}

// startsIn runs a client until its model has been asked by the actor, then gives
// its process.
func (u *user) startsIn(actor, program string, args ...string) *exec.Cmd {
	cmd := u.command(context.Background(), program, args...)
	require.NoError(u.t, cmd.Start())
	require.Eventually(u.t, func() bool { return len(u.model.By(actor)) > 0 }, patience, 50*time.Millisecond, "%s was never asked", actor)
	return cmd
}

func TestAgentsOutliveTheirServerAndNotTheirHost(t *testing.T) {
	t.Parallel()
	starts := map[string][]string{
		claudeCode: {"claude", "-p", "--output-format", "json", "--allowedTools", "mcp__plugin_flame_flame", "--", "MAINWORK please"},
		openCode:   {"opencode", "run", "MAINWORK please"},
	}
	for name, tt := range map[string]struct {
		client, killed string
		signal         syscall.Signal
	}{
		"its server is killed":  {client: claudeCode, killed: "server"},
		"Claude Code is killed": {claudeCode, "host", syscall.SIGKILL},
		"OpenCode gets SIGTERM": {openCode, "host", syscall.SIGTERM},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, tt.client)
			u.must(u.flame, "setup", tt.client)
			release, over := make(chan struct{}), make(chan struct{})
			t.Cleanup(func() { close(over) })
			u.model.Play(model.Script{
				asked("child", "CHILDWORK",
					calls("flame_add_decision", map[string]any{"decision": "half way"}),
					model.Turn{From: func(model.Request) model.Turn {
						<-release
						return model.Turn{Text: "CHILD-RESULT"}
					}}),
				asked("main", "MAINWORK", model.Turn{Tools: []model.Tool{spawns("analyzer", "look", "CHILDWORK go", nil)}}, waitsFor(),
					model.Turn{From: func(model.Request) model.Turn { // the session's end would end the agent
						<-over
						return model.Turn{Text: "MAIN-RESULT"}
					}}),
			})
			cmd := u.startsIn("child", starts[tt.client][0], starts[tt.client][1:]...)
			require.Eventually(t, func() bool { return len(u.model.By("child")) > 1 }, patience, 50*time.Millisecond)
			id := agentID.FindString(u.must(u.flame, "agents", "runs", "--running"))
			require.NotEmpty(t, id)
			if tt.killed == "host" {
				require.NoError(t, cmd.Process.Signal(tt.signal))
				_ = cmd.Wait()
				// Its server sees its end, and with it that of the session.
				_, _, err := u.run(u.flame, "agents", "wait", id, "--timeout", "2m")
				require.Error(t, err, "it did not complete")
				assert.Contains(t, u.must(u.flame, "agents", "status", id), "(cancelled)")
				assert.Equal(t, "blocked", u.frame("look").Status)
				assert.Equal(t, []string{"half way"}, u.frame("look").Decisions, "what it did is kept")
				close(release)
			} else {
				u.killServer(cmd.Process.Pid)
				close(release)
				assert.Contains(t, u.must(u.flame, "agents", "wait", id, "--timeout", "2m"), "CHILD-RESULT")
				assert.Equal(t, "completed", u.frame("look").Status)
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}
			u.leavesNothing()
		})
	}
}

// killServer kills the MCP server that a client started.
func (u *user) killServer(client int) {
	servers := slices.DeleteFunc(processes.All(u.t), func(pid int) bool {
		return processes.Parent(pid) != client || !strings.Contains(processes.Command(pid), "flame serve")
	})
	require.NotEmpty(u.t, servers, "the client has no server")
	for _, pid := range servers {
		require.NoError(u.t, syscall.Kill(pid, syscall.SIGKILL))
	}
}

// A host's own subagent resumes as one of flame's later.
func TestTheEndOfAnAgentIsInTheNextContext(t *testing.T) {
	t.Parallel()
	u := ready(t, claudeCode)
	u.model.Play(model.Script{
		asked("child", "CHILDWORK", model.Turn{Text: "CHILD-RESULT"}),
		asked("native", "NATIVEWORK", model.Turn{Text: "NATIVE-RESULT"}),
		asked("again", "MOREWORK", model.Turn{Text: "AGENT-RESULT"}),
		asked("main", "MAINWORK",
			model.Turn{Tools: []model.Tool{agent("look natively", "NATIVEWORK go", false)}},
			model.Turn{Tools: []model.Tool{spawns("analyzer", "look", "CHILDWORK go", nil)}},
			model.Turn{From: func(r model.Request) model.Turn {
				u.must(u.flame, "agents", "wait", agentID.FindString(r.LastResult()))
				return model.Turn{Text: "started it"}
			}},
			model.Turn{Text: "I see"}),
	})
	u.talk([]string{"--allowedTools", "mcp__plugin_flame_flame"}, "MAINWORK please", "what now?")
	main := u.model.By("main")
	require.Len(t, main, 4)
	assert.NotContains(t, main[2].Everything(), "CHILD-RESULT")
	assert.Contains(t, main[3].Everything(), "CHILD-RESULT", "the parent learns of a background child's end")

	child := u.frame("look natively")
	assert.Contains(t, u.must(u.flame, "agents", "attach", child.SessionID, "MOREWORK now", "--wait"), "AGENT-RESULT")
	requests := u.model.By("again")
	require.NotEmpty(t, requests)
	assert.Contains(t, requests[0].Everything(), "NATIVE-RESULT", "it begins with what the first one came to")
	assert.Equal(t, child.ParentSessionID, u.frame("look natively (continued)").ParentSessionID)
}

// A person's agent, which nobody allowed to write, works in each host, and then goes on there.
func TestAnAgentResumesItsSession(t *testing.T) {
	t.Parallel()
	for client, kind := range map[string]string{claudeCode: "analyzer", openCode: "analyzer", codex: "builder", gemini: "builder"} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			u := ready(t, client)
			u.env = append(u.env, "FLAME_AGENT_HOST="+client)
			turns := []model.Turn{
				calls("flame_push", map[string]any{"goal": "the agent's piece"}),
				calls("flame_pop", map[string]any{"status": "completed", "summary": "done"}), {Text: "FIRST-RESULT"}, {Text: "SECOND-RESULT"},
			}
			if client == codex {
				turns = slices.Insert(turns, 1, calls("exec_command", map[string]any{"cmd": "echo x > made-by-agent"}))
			}
			for i := range turns {
				turns[i].Usage = model.Usage{Input: 1000, Output: 10}
			}
			u.model.Play(model.Script{asked("agent", "BUILDWORK", turns...)})
			first := u.must(u.flame, "agents", "spawn", kind, "BUILDWORK go", "--description", "look", "--wait")
			id := agentID.FindString(first)
			assert.Contains(t, first, "FIRST-RESULT")
			second := u.must(u.flame, "agents", "attach", id, "MOREWORK now", "--wait")
			next := agentID.FindString(second)
			assert.Contains(t, second, "SECOND-RESULT", u.must(u.flame, "agents", "show", next))
			assert.NotEqual(t, id, next)
			last := u.newestOf("agent")
			assert.Contains(t, last.Everything(), "FIRST-RESULT", "it goes on where it was")
			assert.Contains(t, last.Everything(), "MOREWORK")
			isOfferedNoneOf(t, last, "Write", "write", "Edit", "edit", "Bash", "bash", "write_file")
			assert.NoFileExists(t, filepath.Join(u.project, "made-by-agent"))
			if client == codex || client == gemini { // the others have questions of their own
				assert.Contains(t, u.must(u.flame, "agents", "result", id), fmt.Sprintf("%d k tokens in, %d out", len(turns)-1, 10*(len(turns)-1)))
				assert.Contains(t, u.must(u.flame, "agents", "result", next), "1 k tokens in, 10 out", "what the session used before is not counted again")
			}
			t.Log(u.must(u.flame, "tree"), u.must(u.flame, "agents", "graph"))
			assert.NotEmpty(t, u.frame("the agent's piece").ParentSessionID)
			assert.Equal(t, "completed", u.frame("look (continued)").Status)
			u.leavesNothing()
		})
	}
}

func TestAgentsOutliveTheirHostIfSet(t *testing.T) {
	t.Parallel()
	for _, client := range []string{claudeCode, openCode} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			u := ready(t, client)
			u.env = []string{"FLAME_AGENT_ON_SESSION_END=keep"}
			release := make(chan struct{})
			u.model.Play(model.Script{
				asked("child", "CHILDWORK", model.Turn{From: func(model.Request) model.Turn { <-release; return model.Turn{Text: "CHILD-RESULT"} }}),
				asked("main", "MAINWORK", model.Turn{Tools: []model.Tool{spawns("analyzer", "look", "CHILDWORK go", nil)}}, model.Turn{Text: "MAIN-RESULT"}),
			})
			u.ask(client, "MAINWORK please") // which ends all processes below the host that it finds
			close(release)
			id := agentID.FindString(u.must(u.flame, "agents", "runs"))
			assert.Contains(t, u.must(u.flame, "agents", "wait", id, "--timeout", "2m"), "CHILD-RESULT")
			assert.Equal(t, "completed", u.frame("look").Status)
			u.leavesNothing()
		})
	}
}

func TestAHostsOwnAgentPassesOnOnlyItsOwnTools(t *testing.T) {
	t.Parallel()
	for client, tt := range map[string]struct {
		file, definition string // of the host's agent that asks
		has, lacks       string // by what it asks for
		ask              func(u *user)
	}{
		claudeCode: {
			file:       ".claude/agents/careful.md",
			definition: "name: careful\ndescription: reads\ntools: Read, mcp__plugin_flame_flame__spawn_agent, mcp__plugin_flame_flame__flame_agent_wait",
			has:        "Read", lacks: "Write",
			ask: func(u *user) { u.works(claudeCode, "MAINWORK please") },
		},
		openCode: {
			file: ".opencode/agent/careful.md", definition: "description: reads\nmode: all\npermission:\n  edit: deny",
			has: "read", lacks: "write",
			ask: func(u *user) { u.must("opencode", "run", "--agent", "careful", "ASKWORK please") },
		},
	} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			u := ready(t, client)
			u.write(tt.file, "---\n"+tt.definition+"\n---\nBe careful.")
			u.model.Play(model.Script{
				asked("child", "CHILDWORK", model.Turn{Text: "CHILD-RESULT"}),
				asked("careful", "ASKWORK", model.Turn{Tools: []model.Tool{spawns("builder", "build it", "CHILDWORK go", nil)}}, waitsFor(), model.Turn{Text: "DONE"}),
				asked("main", "MAINWORK", model.Turn{Tools: []model.Tool{{Name: "Agent", Input: map[string]any{
					"description": "ask carefully", "prompt": "ASKWORK please", "subagent_type": "careful",
				}}}}, model.Turn{Text: "MAIN-RESULT"}),
			})
			tt.ask(u)
			child := u.model.By("child")
			require.NotEmpty(t, child, u.log())
			isOfferedNoneOf(t, child[0], tt.lacks)
			_, offered := child[0].Offered(tt.has)
			assert.True(t, offered)
		})
	}
}
