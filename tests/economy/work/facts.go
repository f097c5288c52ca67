package work

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/samber/lo"
)

// A Fact is a thing that somebody says or finds out in the work, once. No goal, summary, decision or
// artifact repeats it.
type Fact struct {
	Frame int    // the piece in which it comes up, from 1
	What  What   // it is
	Words string // verbatim
	Ask   string // words with which an agent looks for it
}

// A What is a kind of fact.
type What string

// The kinds of facts.
const (
	Constraint What = "a constraint in a prompt"
	Answer     What = "an answer in a dialog"
	Refusal    What = "a refusal with its reason"
	Decision   What = "a decision with its reason"
	Failed     What = "a failed attempt"
	Question   What = "an open question"
	Promise    What = "a promise"
	Line       What = "a line of a file"
	Number     What = "a number in an output"
	Error      What = "an error"
	Command    What = "a command"
	Picture    What = "a picture"
	Result     What = "a subagent's result"
)

// Facts are those with which flame's lists of words were made. Others are worded as other people would, and
// no list of words was changed since they were first measured.
var (
	Facts  = facts(ofFacts)
	Others = facts(ofOthers)

	//go:embed facts.txt
	ofFacts string
	//go:embed others.txt
	ofOthers string
)

// facts reads a table of facts: piece, kind, words and what to ask for.
func facts(table string) (list []Fact) {
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		list = append(list, Fact{lo.Must(strconv.Atoi(cells[0])), What(cells[1]), cells[2], cells[3]})
	}
	return list
}

// Sizes of the work with facts; each has two more rounds of reading.
const (
	remembered = 12 // pieces
	perPrompt  = 3
)

// Remembered returns work in which facts come up, and what the user says in dialogs: to a
// question, or to the command that is refused. Outputs have a mean of so many bytes.
func Remembered(facts []Fact, bytes int) (Work, map[string]string) {
	m := maker{rand: rand.New(rand.NewPCG(seed, seed)), bytes: bytes, files: map[string]string{"ok.sh": "exit 0\n"}}
	w, dialogs := Work{Files: m.files}, map[string]string{}
	for n := 1; n <= remembered; n++ {
		if n%perPrompt == 1 {
			w.Prompts = append(w.Prompts, Prompt{Text: m.prompt(len(w.Prompts) + 1), Thinking: m.thought()})
		}
		prompt := &w.Prompts[len(w.Prompts)-1]
		p := Piece{
			Goal: fmt.Sprintf("Piece %02d: see to the %s", n, m.word()), Summary: fmt.Sprintf("Piece %02d is done: %s.", n, m.sentence()),
			Opening: m.thought(), Closing: m.thought(), Rounds: m.rounds(fmt.Sprintf("piece%02d", n), 2),
		}
		for i, f := range facts {
			switch {
			case f.Frame != n:
			case f.What == Constraint:
				prompt.Text += "\nAnd by the way, " + f.Words + "."
			default:
				p.Rounds = append(p.Rounds, m.recalling(f, i, dialogs))
			}
		}
		prompt.Pieces = append(prompt.Pieces, p)
	}
	w.Prompts = append(w.Prompts, Prompt{Text: m.prompt(len(w.Prompts) + 1), Thinking: m.thought()})
	return w, dialogs
}

// recalling is the round in which a fact comes up, for the first and only time.
func (m *maker) recalling(f Fact, i int, dialogs map[string]string) Round {
	r := Round{Thinking: m.thought(), Text: m.sentence() + ".", Call: Call{Kind: Read, File: fmt.Sprintf("facts/%02d.txt", i)}}
	call := &r.Call
	noise := m.text(call.File)
	m.files[call.File] = noise
	half := strings.LastIndex(noise[:len(noise)/2], "\n") + 1
	switch f.What {
	case Answer:
		*call = Call{Kind: Ask, Text: "What about case " + fmt.Sprint(i) + "?"}
		dialogs[call.Text] = f.Words
	case Refusal:
		*call = Call{Kind: Refuse, Command: fmt.Sprintf("rm -r build%02d", i)}
		dialogs[call.Command] = f.Words
	case Line:
		m.files[call.File] = noise[:half] + f.Words + "\n" + noise[half:]
	case Number:
		m.files[call.File] = noise[:half] + f.Words + "\n" + noise[half:]
		call.Kind = Run
	case Error:
		m.files[call.File] = noise + f.Words + "\n"
		script := fmt.Sprintf("facts/%02d.sh", i)
		m.files[script] = "cat " + call.File + "\nexit 1\n"
		*call = Call{Kind: Run, Command: "sh " + script}
	case Command:
		*call = Call{Kind: Run, Command: f.Words}
	case Picture:
		m.files[f.Words] = picture
		call.File = f.Words
	case Result:
		*call = Call{Kind: Delegate, Child: &Child{
			Key: fmt.Sprintf("CHILDKEY%02d", i), Task: fmt.Sprintf("Look into case %02d", i), Rounds: m.rounds(fmt.Sprintf("child%02d", i), 2),
			Answer: m.sentence() + "; " + f.Words + ".", Thinking: m.thought(),
		}}
	default:
		r.Text += " Note: " + f.Words + "."
	}
	return r
}

// picture is a PNG of one point.
const picture = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde\x00\x00\x00\x0c" +
	"IDATx\x9cc\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\xc9\xfe\x92\xef\x00\x00\x00\x00IEND\xaeB`\x82"

// asks are the words with which a prompt for a summary asks for facts of a kind.
var asks = map[What]string{
	Constraint: "user messages|user asked for|user's|constraint", Answer: "corrected|feedback|forbade", Refusal: "corrected|feedback|forbade",
	Decision: "decision|choices", Failed: "tried and failed|failed attempt|what was tried", Question: "still open|open question|pending|unresolved",
	Promise: "promise", Line: "exact|snippet|lines", Number: "number|value", Error: "error", Command: "commands", Picture: "image|picture", Result: "subagent",
}

// Summary is what the model answers to a prompt for a summary of a conversation. Of each kind of
// fact that the prompt asks for it repeats the newest two.
func Summary(facts []Fact, prompt, conversation string) string {
	said, times := []string{"The work goes on as planned."}, map[What]int{}
	for _, f := range slices.Backward(facts) {
		if times[f.What] < 2 && asksFor(prompt, f.What) && strings.Contains(conversation, f.Words) {
			times[f.What]++
			said = append(said, f.Words)
		}
	}
	return "<summary>\n" + strings.Join(said, "\n") + "\n</summary>"
}

func asksFor(prompt string, what What) bool {
	return slices.ContainsFunc(strings.Split(asks[what], "|"), func(word string) bool { return strings.Contains(strings.ToLower(prompt), word) })
}
