package web

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A talk is the transcript that Claude Code keeps of a session.
type talk struct {
	u    *user
	path string
	at   time.Time
	n    int
}

// talk has a session of Claude Code begin with a prompt, as its hooks report it.
func (u *user) talk(prompt string) *talk {
	t := &talk{u: u, path: filepath.Join(u.home, ".claude", "projects", "orchard", "session-1.jsonl"), at: time.Now()}
	require.NoError(u.t, os.MkdirAll(filepath.Dir(t.path), 0o755))
	t.write("")
	t.hook("SessionStart", map[string]any{"source": "startup"})
	t.hook("UserPromptSubmit", map[string]any{"prompt": prompt})
	t.at = time.Now()
	t.says(prompt)
	return t
}

// hook reports an event of the host.
func (t *talk) hook(event string, of map[string]any) {
	of["hook_event_name"], of["session_id"], of["transcript_path"], of["cwd"] = event, "session-1", t.path, t.u.project
	payload, err := json.Marshal(of)
	require.NoError(t.u.t, err)
	cmd := t.u.command(t.u.t.Context(), "hook", "claude-code")
	cmd.Stdin = strings.NewReader(string(payload))
	out, err := cmd.CombinedOutput()
	require.NoError(t.u.t, err, string(out))
}

// write appends text to the transcript.
func (t *talk) write(text string) {
	file, err := os.OpenFile(t.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t.u.t, err)
	_, err = file.WriteString(text)
	require.NoError(t.u.t, err)
	require.NoError(t.u.t, file.Close())
}

// line is a line of the transcript.
func (t *talk) line(kind string, message map[string]any) string {
	t.n++
	t.at = t.at.Add(time.Millisecond)
	text, err := json.Marshal(map[string]any{
		"type": kind, "uuid": fmt.Sprintf("line-%d", t.n), "sessionId": "session-1", "timestamp": t.at.UTC().Format("2006-01-02T15:04:05.000Z"), "message": message,
	})
	require.NoError(t.u.t, err)
	return string(text) + "\n"
}

func (t *talk) says(prompt string) {
	t.write(t.line("user", map[string]any{"role": "user", "content": prompt}))
}

// answer is an answer with text and calls, and the outputs of those.
func (t *talk) answer(text string, calls ...[3]string) string {
	id := fmt.Sprintf("answer-%d", t.n)
	content := []map[string]any{{"type": "text", "text": text}}
	outputs := []map[string]any{}
	for i, c := range calls {
		call := fmt.Sprintf("%s-call-%d", id, i)
		content = append(content, map[string]any{"type": "tool_use", "id": call, "name": c[0], "input": map[string]any{"command": c[1]}})
		outputs = append(outputs, map[string]any{"type": "tool_result", "tool_use_id": call, "content": c[2], "is_error": strings.HasPrefix(c[2], "Error")})
	}
	lines := t.line("assistant", map[string]any{"id": id, "role": "assistant", "model": "claude-sonnet-5", "content": content})
	if len(outputs) > 0 {
		lines += t.line("user", map[string]any{"role": "user", "content": outputs})
	}
	return lines
}

func (t *talk) answers(text string, calls ...[3]string) { t.write(t.answer(text, calls...)) }

// chooseTalk selects the frame of the session, and waits until its log says so many rounds.
func (tb *tab) chooseTalk(s *server, rounds int) {
	tb.open(s.address)
	tb.until(`document.querySelector("[role=treeitem]")`)
	tb.click("[role=treeitem]")
	tb.rounds(rounds)
}

func (tb *tab) rounds(n int) {
	tb.until(fmt.Sprintf(`document.querySelector("#details").innerText.includes("Conversation %d round")`, n))
}

func TestALogIsAConversation(t *testing.T) {
	t.Parallel()
	const evil = `<img src=x onerror="window.owned=1"> & </pre><script>window.owned=2</script>`
	u := newUser(t)
	talk := u.talk("Plant the apples")
	talk.answers("First I look at the soil.", [3]string{"Bash", "dig here", "clay\n" + evil}, [3]string{"Bash", "dig there", "Error: a stone"})
	talk.answers("", [3]string{"Bash", "water", strings.Repeat("drop ", 10_000)})
	talk.answers("All is planted. " + evil)
	talk.hook("Stop", map[string]any{})
	s := u.serve()
	tb := newTab(t)
	tb.before(`window.asked = []; const real = fetch; window.fetch = (path, ...more) => { asked.push(String(path)); return real(path, ...more); };`)
	tb.chooseTalk(s, 4)

	// The heads say in one line what happened, and nothing more was loaded.
	heads := eval[[]string](tb, `[...document.querySelectorAll(".round > summary")].map((el) => el.innerText)`)
	require.Len(t, heads, 4)
	assert.Regexp(t, `^1\s+Plant the apples`, heads[0])
	assert.Regexp(t, `First I look at the soil\.\s+1 failed call\s+Bash dig here · Bash dig there`, heads[1])
	assert.Regexp(t, `Bash water`, heads[2])
	assert.Contains(t, heads[3], evil[:20])
	assert.Zero(t, eval[int](tb, `asked.filter((path) => path.includes("/round?")).length`))
	tall := eval[float64](tb, `Math.max(...[...document.querySelectorAll(".round > summary")].map((el) => el.offsetHeight))`)
	assert.Less(t, tall, 75.0)

	// A round shows what was said, its calls with their outcome, and each output on demand.
	tb.click(`[data-key="fold round 1"]`)
	tb.until(`document.querySelectorAll(".turn .call").length === 2`)
	assert.Regexp(t, `First I look at the soil.\s+Bash dig here → clay\s+Bash dig there.*failed: Error: a stone`, tb.text(".turn"))
	tb.click(`.turn .call summary`)
	tb.until(`[...document.querySelectorAll(".turn pre")].some((el) => el.textContent.startsWith("clay"))`)

	// The server cuts what is long; the whole is a click away.
	tb.click(`[data-key="fold round 2"]`)
	tb.until(`document.querySelector('[data-key^="fold call 2"]')`)
	tb.click(`[data-key^="fold call 2"]`)
	tb.until(`document.querySelector('[data-key^="part 2"]')?.innerText === "Show all 50 k characters"`)
	assert.Less(t, eval[int](tb, `Math.max(...[...document.querySelectorAll(".turn pre")].map((el) => el.textContent.length))`), 4100)
	tb.click(`[data-key^="part 2"]`)
	tb.until(`[...document.querySelectorAll(".turn pre")].some((el) => el.textContent.length === 50000)`)

	// It goes on while it is read; what is open stays so.
	eval[bool](tb, `Boolean(window.held = document.querySelector('.round[open]'))`)
	talk.answers("And now the pears.")
	u.flame("decision", "in two rows")
	tb.rounds(5)
	assert.True(t, eval[bool](tb, `held.isConnected && held.open`))
	assert.True(t, eval[bool](tb, `window.owned === undefined`))
	assert.Zero(t, eval[int](tb, `document.querySelectorAll("#details img, #details script").length`))
	tb.noNothing()
	for _, fold := range []string{"fold history", "fold facts", "fold context"} {
		tb.click(`[data-key^="` + fold + `"]`)
	}
	for _, theme := range []string{"light", "dark"} {
		tb.theme(theme)
		for _, width := range []int64{1400, 390} {
			tb.size(width, 900)
			tb.fits(fmt.Sprint("log-", theme, width))
		}
	}

	os.Remove(talk.path) // hosts delete old sessions
	tb.expect("/log?")
	u.flame("decision", "in three rows")
	tb.until(`document.querySelector("#details").innerText.includes("does not exist")`)
}

func TestALongLogIsShownFromItsEnd(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	talk := u.talk("Plant the apples")
	for i := range 699 {
		talk.answers(fmt.Sprintf("Tree %d.", i))
	}
	talk.hook("Stop", map[string]any{})
	whole := talk.answer("The last tree.")
	talk.write(whole[:len(whole)/2]) // the host still writes it
	s := u.serve()
	tb := newTab(t)
	tb.chooseTalk(s, 700)
	shown := func(n int, first string) {
		tb.until(fmt.Sprintf(`document.querySelectorAll(".round").length === %d && document.querySelector(".round").innerText.includes(%s)`, n, quoted(first)))
	}
	shown(20, "Tree 679.")
	tb.click(`[data-key=earlier]`)
	shown(70, "Tree 629.")
	tb.click(`[data-key=first]`)
	shown(570, "Tree 129.")
	tb.click(`[data-key=first]`)
	shown(700, "Plant the apples")
	talk.write(whole[len(whole)/2:])
	u.flame("decision", "in two rows")
	tb.rounds(701)
	tb.until(`[...document.querySelectorAll(".round")].at(-1).innerText.includes("The last tree.")`)
	assert.Less(t, eval[int](tb, `document.querySelectorAll("*").length`), 12_000)
}

// goals are those of the list, as it is drawn.
const goals = `[...document.querySelectorAll("#tree bdi")].map((el) => el.innerText).join()`

// TestShortTurnsAreGathered shows earlier turns that left no file and no check in one line, which a click or a
// key opens.
func TestShortTurnsAreGathered(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	talk := u.talk("Do 1")
	for n := range 10 {
		if n > 0 {
			talk.hook("UserPromptSubmit", map[string]any{"prompt": fmt.Sprint("Do ", n+1)})
			talk.says(fmt.Sprint("Do ", n+1))
		}
		if n == 0 || n == 4 {
			file := map[string]any{"file_path": filepath.Join(u.project, "a.go")}
			talk.hook("PostToolUse", map[string]any{"tool_name": "Write", "tool_input": file})
		}
		talk.answers("", [3]string{"Bash", "look", "so"})
		talk.answers(fmt.Sprint("Did ", n+1))
		talk.hook("Stop", map[string]any{"last_assistant_message": fmt.Sprint("Did ", n+1)})
	}
	s := u.serve()
	tb := newTab(t)
	tb.open(s.address)
	lines := func(middle ...string) {
		all := append(append([]string{"Do 1", "Do 1"}, middle...), "Do 5", "Do 6", "Do 7", "Do 8", "Do 9", "Do 10")
		tb.until(goals + " === " + quoted(strings.Join(all, ",")))
	}
	lines("3 short turns")

	tb.focus("#tree")
	tb.press(home)
	tb.selects("Do 1")
	tb.press(arrowDown)
	tb.until(`document.querySelector("[aria-selected=true]").getAttribute("aria-level") === "2"`)
	tb.press(arrowDown)
	tb.selects("3 short turns")
	tb.press(arrowRight)
	lines("3 short turns", "Do 2", "Do 3", "Do 4")
	tb.fits("short turns")
	tb.press(arrowDown)
	tb.selects("Do 2")
	tb.press(arrowDown)
	tb.selects("Do 3")
	tb.press(arrowLeft)
	tb.selects("3 short turns")
	tb.press(arrowLeft)
	lines("3 short turns")
	tb.press(arrowLeft)
	tb.selects("Do 1")

	tb.click("[id^=line-turns]")
	lines("3 short turns", "Do 2", "Do 3", "Do 4")
	tb.click("[id^=line-turns]")
	lines("3 short turns")
	tb.press("/", "D", "o", " ", "3")
	tb.until(goals + ` === "Do 1,Do 3"`)

	// A link to one of them opens the line.
	id := eval[string](tb, `document.querySelectorAll("#tree [role=treeitem]")[1].getAttribute("data-id")`)
	tb.fresh(s, "sel="+id)
	lines("3 short turns", "Do 2", "Do 3", "Do 4")
	tb.selects("Do 3")
	assert.Equal(t, "3", eval[string](tb, `document.querySelector("[aria-selected=true]").getAttribute("aria-level")`))
}
