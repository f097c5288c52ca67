package stack_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core/evidence"
	"flame/core/outline"
	"flame/project"
	"flame/project/stack"
	"flame/project/turns"
	"flame/project/view"
	"flame/tests/projecttest"
	"flame/transcripts"
)

// A teller tells flame what happens in the session s, as a host does. Each step is a word and what it
// is about.
type teller struct {
	*projecttest.Fixture
	calls []evidence.Call // that the host's log shows of the turn that ended last, or goes on
	said  string
	end   string // how that turn ended: over, stopped; empty: it goes on

	before  transcripts.TurnSummary // what the host showed at the last prompt
	cleared string                  // what /clear added to the session's name
}

func (d *teller) seen() transcripts.TurnSummary {
	seen := transcripts.TurnSummary{Calls: d.calls, Said: d.said, Whole: true, Over: d.end == "over"}
	if d.end == "stopped" {
		seen.Stopped = "[Request interrupted by user]"
	}
	return seen
}

// steps takes steps with | between them.
func (d *teller) steps(lines string) {
	d.T.Helper()
	for line := range strings.SplitSeq(lines, "|") {
		d.step(line)
	}
}

func (d *teller) step(line string) {
	d.T.Helper()
	s := projecttest.Host("s" + d.cleared)
	verb, about, _ := strings.Cut(line, " ")
	if last, again := strings.CutPrefix(line, "ends again "); again {
		verb, about = "ends again", last
	}
	d.Tick()
	switch verb {
	case "asks":
		_, err := turns.Begin(d.Ctx, d.Project, s, turns.Prompt{ID: about, Text: about, FromUser: true, Seen: d.seen})
		require.NoError(d.T, err)
		d.before, d.calls, d.said, d.end = d.seen(), nil, "", ""
	case "notice":
		_, err := turns.Begin(d.Ctx, d.Project, s, turns.Prompt{ID: about, Text: about, Seen: d.seen})
		require.NoError(d.T, err)
	case "runs":
		exit := 0
		if strings.HasPrefix(about, "! ") {
			exit = 1
		}
		d.calls = append(d.calls, evidence.Call{Tool: "Bash", Input: strings.TrimPrefix(about, "! "), OK: exit == 0, Exit: &exit})
	case "uses":
		d.calls = append(d.calls, evidence.Call{Tool: about, OK: true})
	case "writes":
		d.calls = append(d.calls, evidence.Call{Tool: "Write", Input: about, OK: true})
		require.NoError(d.T, stack.NoteFiles(d.Ctx, d.Project, s, []string{about}))
	case "says", "fails", "again", "ends again":
		d.said, d.end = about, "over"
		turn := turns.EndReport{LastMessage: about, Again: verb == "ends again", Running: []string{}, Seen: d.seen}
		if verb == "fails" {
			turn = turns.EndReport{Failed: true, Stopped: about, Seen: d.seen}
		}
		require.NoError(d.T, turns.End(d.Ctx, d.Project, s, turn))
	case "stopped":
		d.said, d.end = about, "stopped"
	case "pushes":
		d.Push(s, about)
	case "pops":
		d.Pop(s, about)
	case "spawns":
		d.Spawn(s, "call-"+about, about)
		d.Bind(s, "call-"+about, about)
	case "child":
		child, last, _ := strings.Cut(about, " ")
		d.EndChild(s, projecttest.Completed(child, last))
	case "lists":
		call := evidence.ListCall{Whole: true}
		for item := range strings.SplitSeq(about, ",") {
			status, text, _ := strings.Cut(strings.TrimSpace(item), ":")
			call.Items = append(call.Items, evidence.Item{Text: text, Status: evidence.ItemStatus(status)})
		}
		require.NoError(d.T, stack.Follow(d.Ctx, d.Project, s, "host/s", call, nil))
	case "waits":
		d.Clock += 6 * 60 * 60 * 1000
		d.Sweep()
	case "leaves":
		d.End(s)
	case "clears":
		d.End(s)
		d.calls, d.said, d.end = nil, "", ""
		d.cleared += "+"
	case "rewinds": // to before its prompt: the host's log shows the turn before again
		d.calls, d.said, d.end = d.before.Calls, d.before.Said, "over"
	default:
		d.T.Fatal(line)
	}
}

// turnsBefore returns the steps of so many turns.
func turnsBefore(n int) (steps string) {
	for i := range n {
		steps += fmt.Sprintf("asks Do %d|runs ls|says Did %d|", i, i)
	}
	return steps
}

// TestPromptsThatLeadToWorkAreFrames tells what users ask of an agent that makes no frame itself, or does.
func TestPromptsThatLeadToWorkAreFrames(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ steps, tree string }{
		"one prompt has the root alone": {
			"asks Add a login|writes a.go|says Added a.go", `
in_progress Add a login`},
		"with the second the first becomes a frame": {
			"asks Add a login|writes a.go|runs go test ./...|says Added a.go|asks Add a logout|writes b.go", `
in_progress Add a login
  completed Add a login: Added a.go
  in_progress Add a logout`},
		"the end of a turn is that of its frame": {
			"asks Add a login|writes a.go|says Added a.go|asks Add a logout|writes b.go|says Added b.go|" +
				"again Added b.go|asks Test it|runs go test ./...|says It passes", `
in_progress Add a login
  completed Add a login: Added a.go
  completed Add a logout: Added b.go
  completed Test it: It passes`},
		"talk is no turn": {
			"asks Add a login|runs ls|says Done|asks Why is it a.go?|says Because|asks thanks|uses TodoWrite|" +
				"says Welcome|asks Show the tree|uses mcp__flame__flame_tree|says There", `
in_progress Add a login`},
		"talk comes first": {
			"asks What is this?|says A shop|asks Add a login|runs ls|says Done|asks Add a logout|runs ls|says Gone", `
in_progress What is this?
  completed Add a login: Done
  completed Add a logout: Gone`},
		"to go on is the turn before": {
			"asks A|runs ls|says 1|asks go on|runs ls -a|says 2|asks B|runs ls|says 3|asks yes|writes b.go|says 4", `
in_progress A
  completed A: 2
  completed B: 4`},
		"an error ends a turn, and the user does": {
			"asks A|runs ls|fails API Error: 500|asks B|writes b.go|stopped I will|asks C|runs ls|stopped Now|asks D|runs ls|says 4", `
in_progress A
  failed A: API Error: 500
  blocked B: I will
[Request interrupted by user]
  blocked C: Now
[Request interrupted by user]
  completed D: 4`},
		"words while the agent works are part of the turn": {
			"asks A|runs ls|says 1|asks B|writes b.go|asks in Go, please|writes c.go|says 2", `
in_progress A
  completed A: 1
  completed B: 2`},
		"what the agent pushes is below the turn, and the turn ends after it": {
			"asks A|runs ls|says 1|asks B|pushes B1|says 2|asks more of B1|writes c.go|pops B1 is there|says 3|asks C|runs ls|says 4", `
in_progress A
  completed A: 1
  completed B: 3
    completed B1: B1 is there
  completed C: 4`},
		"an agent that always pushes needs no turns": {
			"asks A|pushes A1|pops 1|says 1|asks B|pushes B1|writes b.go|pops 2|says 2", `
in_progress A
  completed A1: 1
  completed B1: 2`},
		"an agent that pushes now and then": {
			"asks A|pushes A1|pops 1|says 1|asks B|writes b.go|says 2|asks C|pushes C1|pops 3|says 3", `
in_progress A
  completed A1: 1
  completed B: 2
  completed C1: 3`},
		"subagents and items are below the turn": {
			"asks A|spawns look|child look found|lists done:a1|says 1|asks B|spawns far|says 2|asks C|" +
				"lists active:c1,pending:c2|lists done:c1,pending:c2|says 3|asks D|runs ls|says 4|child far at last", `
in_progress A
  completed A: 1
    completed look: found
    completed a1
  completed B: 2
    completed far: at last
  completed C: 3
    completed c1
    planned c2
  completed D: 4`},
		"a prompt while an item is open is a turn, and the list goes on in it": {
			"asks A|lists active:a1,pending:a2|writes a.go|says 1|asks B|writes b.go|lists done:a1,active:a2|writes c.go|says 2|" +
				"asks C|writes d.go|says 3|asks D|runs ls|lists done:a1,done:a2|says 4", `
in_progress A
  completed A: 1
    completed a1
    completed a2
  completed B: 2
  completed C: 3
  completed D: 4`},
		"to go on while an item is open is the turn before": {
			"asks A|runs ls|says 1|asks B|lists active:b1,pending:b2|says 2|asks go on|writes b.go|lists done:b1,active:b2|says 3|" +
				"asks Why b2?|says So|asks yes|writes b2.go|lists done:b1,done:b2|says 4|asks C|runs ls|says 5", `
in_progress A
  completed A: 1
  completed B: 4
    completed b1
    completed b2
  completed C: 5`},
		"another list is below the turn that it was written in": {
			"asks A|lists active:a1,pending:a2|says 1|asks B|lists active:b1,pending:b2|stopped I will|asks C|writes c.go|says 3", `
in_progress A
  completed A: 1
    in_progress a1
    planned a2
  blocked B: I will
[Request interrupted by user]
    in_progress b1
    planned b2
  completed C: 3`},
		"a prompt in a frame of the agent with an open item is no turn": {
			"asks A|runs ls|says 1|asks B|pushes B1|lists active:b1,pending:b2|says 2|asks more of b1|writes b.go|" +
				"lists done:b1,done:b2|pops B1 is there|says 3|asks C|runs ls|says 4", `
in_progress A
  completed A: 1
  completed B: 3
    completed B1: B1 is there
      completed b1
      completed b2
  completed C: 4`},
		"/clear before work, in the first turn, in a later one and after it": {
			"asks A|clears|asks B|writes b.go|clears|asks C|runs ls|says 1|asks D|writes d.go|clears|" +
				"asks E|runs ls|says 2|asks F|runs ls|says 3|clears|asks G", `
blocked A: (its session ended before the work was done)
blocked B: (its session ended before the work was done)
blocked C: (its session ended before the work was done)
  completed C: 1
  blocked D: (interrupted)
completed E: 3
  completed E: 2
  completed F: 3
in_progress G`},
		"/clear while an item is open": {
			"asks A|runs ls|says 1|asks B|lists active:b1,pending:b2|clears|asks C|runs ls|says 2|asks D|runs ls|says 3", `
in_progress A
  completed A: 1
  blocked B: (interrupted)
    blocked b1: left by the session
    planned b2
in_progress C
  completed C: 2
  completed D: 3`},
		"a rewind after a turn, and in one": {
			"asks A|runs ls|says 1|rewinds|asks B|writes b.go|says 2|asks C|writes c.go|rewinds|asks D|runs ls|says 4", `
in_progress A
  completed A: 1
  completed B: 2
  blocked C: (interrupted)
  completed D: 4`},
		"the user stops the agent in its first turn, in a frame and in an item": {
			"asks A|writes a.go|stopped I will|asks B|pushes B1|writes b.go|stopped Now|asks C|writes c.go|pops 2|says 3|" +
				"asks D|lists active:d1|writes d.go|stopped Then|asks E|runs ls|says 5", `
in_progress A
  blocked A: I will
[Request interrupted by user]
  completed B: 3
    completed B1: 2
  blocked D: Then
[Request interrupted by user]
    in_progress d1
  completed E: 5`},
		"it begins to push in its tenth prompt": {
			turnsBefore(9) + "asks A|pushes A1|pops 1|says 1|asks B|pushes B1|pops 2|says 2", `
in_progress Do 0
  completed Do 0: Did 0
  completed Do 1: Did 1
  completed Do 2: Did 2
  completed Do 3: Did 3
  completed Do 4: Did 4
  completed Do 5: Did 5
  completed Do 6: Did 6
  completed Do 7: Did 7
  completed Do 8: Did 8
  completed A: 1
    completed A1: 1
  completed B: 2
    completed B1: 2`},
		"flame is on from the middle of a turn": {
			"writes a.go|says 1|asks B|writes b.go|says 2|asks C|runs ls|says 3", `
in_progress B
  completed B: 2
  completed C: 3`},
		"flame is on from the end of a turn": {
			"says 1|asks B|writes b.go|says 2|asks C|runs ls|says 3", `
in_progress B
  completed B: 2
  completed C: 3`},
		"flame is on from a list": {
			"lists done:a1,active:a2|writes a.go|says 1|asks B|writes b.go|says 2|asks C|runs ls|says 3", `
in_progress B
  completed B: 2
    completed a1
    in_progress a2
  completed C: 3`},
		"a turn of six hours": {
			"asks A|runs ls|says 1|asks B|writes b.go|waits six hours|writes c.go|says 2|asks C|runs ls|says 3", `
in_progress A
  completed A: 1
  completed B: 2
  completed C: 3`},
		"the user stops the agent before it works": {
			"asks A|stopped I will|asks B|writes b.go|says 2|asks C|stopped Then|asks D|writes d.go|says 4", `
in_progress A
  completed B: 2
  completed D: 4`},
		"it begins to push in its third prompt": {
			"asks A|runs ls|says 1|asks B|runs ls|says 2|asks C|pushes C1|pops 3|says 3|asks D|pushes D1|pops 4|says 4", `
in_progress A
  completed A: 1
  completed B: 2
  completed C: 3
    completed C1: 3
  completed D: 4
    completed D1: 4`},
		"a session that leaves": {
			"asks A|runs ls|says 1|asks B|writes b.go|leaves", `
blocked A: (its session ended before the work was done)
  completed A: 1
  blocked B: (interrupted)`},
		"a session that rests": {
			"asks A|runs ls|says 1|asks B|writes b.go|says 2|leaves", `
completed A: 2
  completed A: 1
  completed B: 2`},
		"a session that comes back": {
			"asks A|runs ls|says 1|leaves|asks B|runs ls|says 2|leaves|asks C|writes c.go|says 3", `
in_progress A: 2
  completed A: 1
  completed B: 2
  completed C: 3`},
		"a session that comes back to a turn that was broken off": {
			"asks A|runs ls|says 1|asks B|writes b.go|leaves|asks go on|writes b.go|says 2", `
in_progress A: (its session ended before the work was done)
  completed A: 1
  completed B: 2`},
		"a session that left before it worked, or in its first turn": {
			"asks A|leaves|asks B|writes b.go|leaves|asks C|writes c.go|says 3", `
in_progress A: (its session ended before the work was done)
  blocked B: (interrupted)
  completed C: 3`},
		"the host's commands": {
			"asks A|runs ls|says 1|asks /compact|asks /review 12|runs ls|says 2", `
in_progress A
  completed A: 1
  completed /review 12: 2`},
		"a hook of the user's has turns go on": {
			"asks A|runs ls|says 1|writes a.go|ends again 2|asks B|writes b.go|says 3|writes c.go|ends again 4|" +
				"asks C|runs ls|says 5|runs make|ends again 6|ends again 6|says 5|asks D|runs ls|says 7", `
in_progress A
  completed A: 2
  completed B: 4
  completed C: 6
  completed D: 7`},
		"a hook of the user's has a turn of talk go on": {
			"asks A|runs ls|says 1|asks Why?|says So|writes a.go|ends again 2|asks thanks|says Welcome|ends again Indeed|asks B|runs ls|says 3", `
in_progress A
  completed A: 1
  completed Why?: 2
  completed B: 3`},
		"a hook of the user's has a turn go on that does not end": {
			"asks A|runs ls|says 1|asks B|writes b.go|says 2|writes c.go|stopped Now|asks C|writes d.go|says 3|writes e.go|leaves", `
completed A: 3
  completed A: 1
  blocked B: Now
[Request interrupted by user]
  completed C: 3`},
		"what the host says itself": {
			"asks A|runs ls|says 1|notice <task-notification>|runs ls|says 2|ends again 3|asks B|runs ls|says 4", `
in_progress A
  completed A: 1
  completed B: 4`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &teller{Fixture: projecttest.New(t)}
			d.steps(tt.steps)
			assert.Equal(t, strings.TrimPrefix(tt.tree, "\n"), strings.Join(d.Draw(), "\n"))
		})
	}
}

func TestAHundredPromptsWithoutWorkAreNoTurns(t *testing.T) {
	t.Parallel()
	d := &teller{Fixture: projecttest.New(t)}
	d.step("asks A")
	d.step("runs ls")
	d.step("says 1")
	for n := range 100 {
		d.step(fmt.Sprintf("asks Is it %d?", n))
		d.step("says No")
	}
	assert.Equal(t, []string{"in_progress A"}, d.Draw())
	d.step("asks B")
	d.step("asks B")
	d.step("writes b.go")
	d.step("asks B")
	d.step("says 2")
	assert.Equal(t, []string{"in_progress A", "  completed A: 1", "  completed B: 2"}, d.Draw())
}

// An earlier flame kept more of a turn, and nothing of its state.
func TestTurnsOfAnEarlierVersionGoOn(t *testing.T) {
	t.Parallel()
	for name, record := range map[string]string{
		"that worked": `{"root":%q,"first":{"prompt":"A","text":"A","at":20,"until":40,"end":{"Status":"completed","Said":"1","Facts":""}},"left":true}`,
		"that talked": `{"root":%q,"asked":{"prompt":"A","text":"A","at":20},"talked":true}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &teller{Fixture: projecttest.New(t)}
			d.steps("asks A|runs ls|says 1")
			root := d.All()[0].ID
			require.NoError(t, d.Store.Update(d.Ctx, func(tx project.Tx) error {
				return tx.SaveRecord("turns", "s", json.RawMessage(fmt.Sprintf(record, root)))
			}))
			d.steps("asks B|runs ls|says 2|asks C|runs ls|says 3")
			assert.Equal(t, []string{"  completed B: 2", "  completed C: 3"}, d.Draw()[len(d.Draw())-2:])
		})
	}
}

func TestAnEndThatComesTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	d := &teller{Fixture: projecttest.New(t)}
	d.steps("asks A|runs ls|says 1|asks B|writes b.go|says 2|runs make|ends again 3")
	require.Equal(t, "  completed B: 3", d.Draw()[2])
	b := d.All()[2].ID
	kinds := d.Kinds(b)
	d.steps("ends again 3|ends again 3")
	assert.Equal(t, kinds, d.Kinds(b))
}

func TestTurnsAreOff(t *testing.T) {
	t.Parallel()
	d := &teller{Fixture: projecttest.New(t)}
	d.Turns = false
	d.steps("asks A|writes a.go|says 1|asks B|writes b.go|says 2")
	assert.Equal(t, []string{"in_progress A"}, d.Draw())
}

func TestATurnHasItsFacts(t *testing.T) {
	t.Parallel()
	d := &teller{Fixture: projecttest.New(t)}
	d.steps("asks A|writes a.go|runs ! go test ./...|runs go test ./...|says 1|asks B|writes b.go|runs ! npm test|says 2")
	facts := map[string][]string{}
	for _, frame := range d.All() {
		facts[frame.Goal+": "+frame.Summary] = append([]string{frame.Results}, frame.Artifacts...)
	}
	assert.Equal(t, map[string][]string{"A: ": {""}, "A: 1": {"go test ./... passed", "a.go"}, "B: 2": {"npm test failed", "b.go"}}, facts)
}

func TestAContextHasOneLineOfEachTurn(t *testing.T) {
	t.Parallel()
	d := &teller{Fixture: projecttest.New(t)}
	long := strings.Repeat("words and more ", 100)
	d.steps("asks A " + long + "|writes a.go|says 1 " + long + "|asks B " + long + "|runs ls|says 2 " + long + "|asks C|writes c.go")
	text := d.Context(projecttest.Host("s"), "").Text
	assert.Contains(t, text, "<goal>C</goal>")
	_, siblings, _ := strings.Cut(text, "<completed-siblings")
	siblings, _, _ = strings.Cut(siblings, "</completed-siblings>")
	assert.Contains(t, siblings, "2 words")
	assert.Contains(t, siblings, "1 words")
	assert.Less(t, len(siblings), 1_000)
	assert.NotContains(t, siblings, "a.go")
}

func TestTheTreeTellsTheStoryOfTheDay(t *testing.T) {
	t.Parallel()
	d := &teller{Fixture: projecttest.New(t)}
	for n := range 12 {
		d.step(fmt.Sprintf("asks Prompt %d", n))
		if n == 2 || n == 7 {
			d.step("writes a.go")
		}
		d.step("runs ls")
		d.step(fmt.Sprintf("says Answer %d", n))
	}
	tree, err := view.TreeOf(d.Ctx, d.Project, projecttest.Shell, view.TreeArgs{})
	require.NoError(t, err)
	drawn := regexp.MustCompile(`frame-\w+`).ReplaceAllString(outline.Draw(tree.Lines, outline.DrawOptions{MaxLine: 60}), "frame")
	assert.Equal(t, `→ Prompt 0 [frame]
├── ✓ Prompt 0 [frame]: Answer 0
├── ✓ Prompt 1 [frame]: Answer 1
├── ✓ Prompt 2 [frame]: Answer 2
├── ✓ 4 short turns
├── ✓ Prompt 7 [frame]: Answer 7
├── ✓ Prompt 8 [frame]: Answer 8
├── ✓ Prompt 9 [frame]: Answer 9
├── ✓ Prompt 10 [frame]: Answer 10
└── ✓ Prompt 11 [frame]: Answer 11
`, drawn)
}
