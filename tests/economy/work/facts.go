package work

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
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

// Facts are those with which flame's lists of words were made.
var Facts = []Fact{
	{1, Constraint, "invoices older than 2019 stay untouched", "invoices older"},
	{4, Constraint, "no column may be renamed in the month of the audit", "column renamed"},
	{7, Constraint, "the partners read the feed at 05:40 and must never see it half written", "partners feed"},
	{10, Constraint, "answers to customers are in Portuguese", "answers customers"},
	{1, Answer, "round half to even, as the bank does", "round half"},
	{6, Answer, "keep both spellings of the street until spring", "spellings street"},
	{3, Refusal, "the folder outbox belongs to the courier, hands off", "outbox courier"},
	{9, Refusal, "that index took nine hours to build, leave it", "index hours"},
	{1, Decision, "we sort by booking day and not by entry day, since late entries would move old totals", "booking day"},
	{3, Decision, "batches of 250 it is, because the proxy cuts bodies of 1 MB", "batches proxy"},
	{6, Decision, "the lock is taken per tenant, as a global one starves the small tenants", "lock tenant"},
	{11, Decision, "retries stop after the third, for the fourth would double the charge", "retries third"},
	{2, Failed, "streaming the export failed: the driver buffers whole results anyway", "streaming export"},
	{5, Failed, "a partial index did not help, the planner ignores it below 12 % of rows", "partial index"},
	{8, Failed, "parallel workers made it slower, all of them wait for the same journal page", "parallel workers"},
	{2, Question, "unclear still: does the archive count leap seconds", "archive leap"},
	{7, Question, "nobody knows yet who owns the nightly mirror job", "nightly mirror"},
	{12, Question, "is the 0xFE prefix ours or the vendor's, to be asked", "prefix vendor"},
	{4, Promise, "I will restore the old redirect before we finish", "restore redirect"},
	{8, Promise, "I shall put the timeout back to 30 s at the end", "timeout back"},
	{11, Promise, "at the end I take the trace flag out again", "trace flag"},
	{2, Line, "ledger/close.go:218: if day.After(cutoff) && !day.Equal(cutoff) {", "cutoff"},
	{5, Line, "feed/writer.go:77: w.tmp = w.dir + \"/.feed.partial\"", "feed partial"},
	{9, Line, "tenant/lock.go:31: const patience = 1700 * time.Millisecond", "patience"},
	{3, Number, "duplicates found: 4182 of 96113", "duplicates found"},
	{5, Number, "p99 of the lookup: 837 ms", "lookup p99"},
	{8, Number, "journal pages written twice: 61207", "journal pages"},
	{12, Number, "checksum of the export: 9b1f77e2", "checksum export"},
	{2, Error, "E4471 cursor closed before row 50001", "cursor closed"},
	{4, Error, "panic: redirect table has 3 heads at /old/price", "redirect table"},
	{7, Error, "mirror: permission denied on /srv/mirror/.stamp", "mirror denied"},
	{10, Error, "template pt-BR/late.tmpl: undefined field DueOn", "template undefined"},
	{4, Command, "REDIRECTS=old sh ok.sh --replay 2024-11", "redirects replay"},
	{9, Command, "TENANT=azores sh ok.sh --explain locks", "tenant explain"},
	{12, Command, "sh ok.sh --export --since 2021-03 --gzip", "export since"},
	{6, Picture, "shots/street-form-overlap.png", "street overlap"},
	{10, Picture, "shots/letter-margin.png", "letter margin"},
	{3, Result, "the courier locks the outbox from 02:10 to 02:25", "courier locks"},
	{6, Result, "only 14 streets have two spellings, all in Ponta Delgada", "two spellings"},
	{11, Result, "the third retry comes 41 s after the first", "retry third"},
}

// Others are worded as other people would, and no list of words was changed since they were first measured.
var Others = []Fact{
	{1, Constraint, "do not touch anything below vendor, legal reviews it", "touch vendor"},
	{4, Constraint, "the demo on the 14th needs the old colours", "demo colours"},
	{7, Constraint, "errors shown to pilots have to fit on two lines", "errors pilots"},
	{10, Constraint, "whatever you log, leave out tail numbers", "tail numbers"},
	{3, Answer, "metres, the feet come from the old form", "metres feet"},
	{8, Answer, "both, but ask again before the winter schedule", "winter schedule"},
	{5, Refusal, "not on the shared broker, a replay runs there", "broker replay"},
	{11, Refusal, "never force that branch, two crews build from it", "branch crews"},
	{1, Decision, "going with a plain CSV reader over the streaming one: rows never exceed 4 kB", "streaming rows"},
	{4, Decision, "I chose UTC for the slot table so the night shift sees one date", "UTC shift"},
	{7, Decision, "keeping `slot_id` as text, the exchange sends letters in it", "slot_id letters"},
	{10, Decision, "dropped the cache in favour of one query per gate", "cache query"},
	{2, Failed, "tried pinning the driver to 5.2, same deadlock", "driver deadlock"},
	{6, Failed, "reordering the joins made no difference, still 9 s", "reordering joins"},
	{9, Failed, "the regex approach breaks on names with two hyphens", "regex hyphens"},
	{3, Question, "not sure whether the tower resends after midnight", "tower resends"},
	{8, Question, "open: whether `gate_close` fires twice on diversions", "gate_close diversions"},
	{12, Question, "someone should confirm that 3 retries match the contract", "retries contract"},
	{5, Promise, "remind me to re-enable the nightly lint once this lands", "nightly lint"},
	{9, Promise, "the debug port stays open for now, to be closed before handover", "debug port"},
	{12, Promise, "TODO: rename `tmpSlots` after the freeze", "tmpSlots freeze"},
	{2, Line, "gate/slot.ts:55: if (slot.end <= now) return null;", "slot.end"},
	{6, Line, "sched/roster.py:142: MAX_SHIFT = timedelta(hours=11)", "MAX_SHIFT"},
	{10, Line, "tower/link.c:88: usleep(250 * 1000);", "usleep"},
	{1, Number, "rows skipped: 318 (2.4 %)", "rows skipped"},
	{5, Number, "peak heap 612 MiB", "peak heap"},
	{9, Number, "slowest gate: B17, 4.8 s", "slowest gate"},
	{11, Number, "4096 of 5120 slots filled", "slots filled"},
	{3, Error, "TypeError: cannot read properties of null (reading 'gate')", "TypeError gate"},
	{6, Error, "sqlite3.OperationalError: database is locked", "database locked"},
	{8, Error, "assertion `slots.len() == 42` violated", "assertion violated"},
	{12, Error, "link: undefined reference to `roster_open'", "undefined roster_open"},
	{2, Command, "GATES=all sh ok.sh replay --from 0600", "gates replay"},
	{7, Command, "sh ok.sh roster --strict --year 2031", "roster strict"},
	{11, Command, "SLOT_TZ=UTC sh ok.sh fill", "SLOT_TZ fill"},
	{5, Picture, "captures/gate-board-dark.png", "gate board"},
	{9, Picture, "captures/roster-print.png", "roster print"},
	{4, Result, "the exchange closes sessions idle for 90 s", "exchange idle"},
	{8, Result, "three of the eleven gates share one sensor", "gates sensor"},
	{12, Result, "no caller passes a nil roster, checked in 27 places", "nil roster"},
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
