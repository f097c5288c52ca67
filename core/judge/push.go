package judge

import (
	"fmt"
	"strings"

	"flame/core"
)

// The heuristics of core that what speaks for or against a push belongs to.
const (
	boundary   = "failure_boundary" // of the work: it is over, left, or has a fault
	otherwise  = "context_switch"   // to something else
	complexity = "complexity"       // of what is asked for
	duration   = "duration"         // of the work so far
)

// never outweighs all that may speak for a push.
const never = -1000

// forPush returns what speaks for and against a frame for the prompt, and the goal it
// would have.
func forPush(m Moment) (signals []core.Signal, goal string) {
	text := head(m.Prompt, maxPrompt)
	goal = goalOf(text)
	switch {
	case strings.TrimSpace(text) == "" || core.SaysGoOn(text):
		return nil, goal
	case ofHost(text):
		return []core.Signal{{Heuristic: otherwise, Points: never, Because: "the host says this itself"}}, goal
	case begun(m):
		return []core.Signal{{Heuristic: duration, Points: never, Because: "nothing was done in the frame before"}}, goal
	}
	r := read(text)
	if child := plannedIn(r, m); child != "" {
		return []core.Signal{{Heuristic: otherwise, Points: 100, Because: fmt.Sprintf("the prompt takes up the planned %q", core.OneLine(child, 80))}}, child
	}
	say := func(heuristic string, points int, because string) {
		signals = append(signals, core.Signal{Heuristic: heuristic, Points: points, Because: because})
	}
	weighTurn(r, m, say)
	weighAsk(r, m, say)
	strange := weighWords(r, m, say)
	weighPresent(r, m, strange, say)
	if r.goal != "" {
		goal = core.OneLine(r.goal, maxGoal)
	}
	return signals, goal
}

// say tells a signal.
type say = func(heuristic string, points int, because string)

// maxPrompt and maxMessage bound what is read of a prompt, and of each message before it,
// in bytes.
const (
	maxPrompt  = 4000
	maxMessage = 4000
)

// begun reports whether the frame has only begun with the prompt.
func begun(m Moment) bool {
	return m.Frame.Messages <= 1 && len(m.Recent) == 0 && len(m.Turn.Calls) == 0 && len(m.Turn.Files) == 0 && len(m.Frame.Files) == 0
}

// weighTurn weighs what the prompt says of turning to something else.
func weighTurn(r reading, m Moment, say say) {
	switch r.turn {
	case turnsAway:
		say(otherwise, 45, "the user turns to something else")
	case leaves:
		say(otherwise, 45, "the user leaves the work at hand")
	case takesNext:
		say(otherwise, 45, "the user takes up the next ticket")
		if r.ticket != "" && !strings.Contains(m.Frame.Goal, r.ticket) {
			say(otherwise, 15, "it is named")
		}
	case goesOver:
		say(otherwise, 15, "the prompt goes over to what comes next")
		if r.praised || r.listed || r.ask > asksNothing {
			say(otherwise, 15, "it says what")
		}
	case first:
		say(otherwise, 30, "something is to be done first")
	}
	if r.aside && r.turn == stays && r.ask > asksNothing {
		say(otherwise, 15, "the user has only just thought of it")
	}
	if r.urgent {
		say(otherwise, 15, "it is urgent")
	}
	if r.praised && (r.ask > asksNothing || r.turn != stays) {
		say(boundary, 10, "after praise for the former")
	}
	if r.closed {
		say(boundary, 15, "the user says that the former is done")
	}
}

// weighAsk weighs what is asked for.
func weighAsk(r reading, m Moment, say say) {
	switch {
	case r.files:
		say(complexity, -40, "it only files what was done")
	case r.ask == asksNew:
		say(complexity, 35, "a piece of work is asked for")
	case r.ask == asksSome:
		say(complexity, 25, "something is asked for")
	case r.titled:
		say(complexity, 25, "what is wanted has a title")
	}
	if r.ask == asksSome && r.turn == stays && r.told >= 2 {
		say(complexity, -15, "it is asked for in the middle of a report")
	}
	if r.listed && (r.turn != stays || r.ask == asksNew || r.titled && r.ask == asksNothing) {
		say(complexity, 15, "what is wanted is specified")
	}
	if r.turn == stays && r.detail {
		say(complexity, -20, "it is of a part that any work has")
	}
	if r.turn == stays && r.ask == asksSome && r.ofThat {
		say(complexity, -10, "it is done to something that is there")
	}
	if m.Named {
		say(complexity, 15, "a goal is named")
	}
	goal := kindOfGoal(m.Frame.Goal)
	switch {
	case r.kind == goal && goal != "" && goal != building:
		say(otherwise, -20, "it is "+string(goal)+", as the work at hand is")
	case r.kind.differs(goal), r.kind == building && goal == planning && r.ask == asksNew:
		say(otherwise, 25, "it is "+string(r.kind)+", which the work at hand is not")
	case r.kind.accompanies(goal) && r.turn == stays && len(r.about) < 5:
		say(otherwise, -20, "it is "+string(r.kind)+", which goes with the work at hand")
	}
}

// weighWords weighs how many of the prompt's words are those of the work at hand, and
// reports whether it has many and none is.
func weighWords(r reading, m Moment, say say) (strange bool) {
	about := r.about
	if len(about) == 0 {
		return false
	}
	shared := known(about, workWords(m))
	all, same := weightOf(about), weightOf(shared)
	if all >= 4 && r.favour {
		say(complexity, 10, "somebody is asked to do it")
	}
	strange = len(shared) == 0 && all >= 4
	switch part := same / all; {
	case strange:
		say(otherwise, 45, "the prompt has many words and shares none with the work at hand")
	case len(shared) == 0 && all >= 3:
		say(otherwise, 35, "the prompt has some words and shares none with the work at hand")
	case len(shared) == 0 && all >= 2:
		say(otherwise, 30, "the prompt shares no word with the work at hand")
	case len(shared) == 0:
		say(otherwise, int(15*all), "the prompt has hardly a telling word, and none of the work at hand")
	case part <= 0.15:
		say(otherwise, 35, "the prompt shares hardly a word with the work at hand")
	case part <= 0.3:
		say(otherwise, 15, "the prompt shares few words with the work at hand")
	case part > 0.45:
		say(otherwise, -20, "the prompt speaks of the work at hand")
	}
	return strange
}

// weighPresent weighs what binds the prompt to what was just done. It is strange if it has
// many words and shares none with the work at hand.
func weighPresent(r reading, m Moment, strange bool, say say) {
	turned := r.turn != stays
	goal := kindOfGoal(m.Frame.Goal)
	if r.pasted > 0 && !turned {
		say(boundary, -50, "output was pasted")
	}
	if r.defect && (!turned || r.turn == goesOver && !r.praised) && r.ask == asksNothing {
		say(boundary, -35, "a fault of what was done is told")
	}
	switch {
	case !r.question || r.ask > asksNothing:
	case strange && r.cause && (turned || r.praised || r.closed) && goal != investigating && goal != explaining:
		say(complexity, 25, "the cause of something else is asked for")
	default:
		say(complexity, -40, "it is a question")
	}
	if r.goesOn && !turned && r.ask != asksNew {
		say(otherwise, -40, "the work is to go on")
	}
	if r.joined {
		say(otherwise, -25, "the prompt adds to what was said")
	}
	if r.pointing {
		say(otherwise, -12, "it points to what was said")
	}
	if answers(m) && !turned && r.ask != asksNew {
		say(otherwise, -15, "the agent had asked")
	}
}

// answers reports whether the last message of the agent ends with a question.
func answers(m Moment) bool {
	for i := len(m.Recent) - 1; i >= 0; i-- {
		if m.Recent[i].Role == core.RoleAssistant {
			return strings.HasSuffix(strings.TrimSpace(m.Recent[i].Text), "?")
		}
	}
	return false
}

// ofHost reports whether a prompt is a message that a host writes by itself, or a command
// to it.
func ofHost(text string) bool {
	text = strings.TrimSpace(text)
	for _, start := range []string{"This session is being continued", "[Request interrupted", "Caveat: "} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	if rest, ok := strings.CutPrefix(text, "<"); ok {
		return rest != "" && 'a' <= rest[0] && rest[0] <= 'z' && strings.Contains(rest, ">")
	}
	command, isCommand := strings.CutPrefix(text, "/")
	command, _, _ = strings.Cut(command, " ")
	return isCommand && command != "" && !strings.Contains(command, "/")
}
