package evidence

import (
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// minOwn is how many words of other work a prompt needs.
const minOwn = 3

var (
	// byHost matches a message that a host writes itself, or a command to the host.
	byHost = core.Pattern(`^\s*(This session is being continued|\[Request interrupted|Caveat: |<[a-z][^>]*>|/[^/\s]+(\s|$))`)

	// pasted matches a line of program output.
	pasted = core.Pattern(`(?m)^\s*(\d{4}-\d\d-\d\dT|\d\d:\d\d:\d\d|at \S+ ?\(|File ".*", line|goroutine \d|panic:|Traceback|` +
		`(=> )?[Ee]rror:|(ERROR|WARN|FATAL|FAIL|FAILED)\b|--- FAIL|npm ERR|\w*(Error|Exception):|\S+\.\w+:\d+|[$+>] |` + "```)")
)

// Push recommends a frame for a prompt that takes up a planned child, or asks for work that shares no word with the work
// at hand.
func Push(m Moment) (r Recommendation) {
	text := begin(m.Prompt, maxText)
	if !begun(m) || byHost().MatchString(text) || pasted().MatchString(text) || core.IsContinuePrompt(text) {
		return r
	}
	if child, begun := takenUp(m.Frame, text); child != "" {
		return Recommendation{named, `the prompt takes up the planned "` + core.OneLine(child, 80) + `"`, child, begun}
	}
	goal := asked(text)
	about := stems(text)
	if goal == "" || len(about) < minOwn || lo.Some(about, workWords(m)) {
		return r
	}
	return Recommendation{unshared, "the prompt asks for work and shares no word with the work at hand", goal, true}
}

// begun reports whether something was done in the frame that would have to be kept apart.
func begun(m Moment) bool {
	answered := slices.ContainsFunc(m.Recent, func(message Message) bool { return message.Role == core.RoleAssistant })
	return answered || len(m.Calls)+len(m.Frame.Files)+len(m.Frame.Artifacts)+len(m.Frame.Decisions) > 0
}

// takenUp returns the planned child that a prompt takes up, by words that only its goal has. begun says that a clause
// orders it: "now the exporter", "write the exporter".
func takenUp(frame Frame, prompt string) (child string, begun bool) {
	planned, times := latest(frame.Planned), map[string]int{} // in how many goals a word is
	for _, goal := range append(slices.Clone(planned), frame.Goal) {
		for _, word := range stems(begin(goal, maxItem)) {
			times[word]++
		}
	}
	for _, goal := range planned {
		own := lo.Filter(stems(begin(goal, maxItem)), func(word string, _ int) bool { return times[word] == 1 })
		for _, clause := range clauses(prompt) {
			if phrase("putting off", clause) != "" || strings.Contains(prompt, "?") {
				continue
			}
			about := stems(clause)
			both := len(lo.Intersect(about, own))
			if both > 0 && 2*both >= len(about) {
				order := demand(clause)
				return goal, len(order) > 0 && (has("work", order[0]) || both == len(about))
			}
		}
	}
	return "", false
}

// asked returns the clause that asks for work, and what follows it in its sentence; empty if none does.
func asked(prompt string) string {
	for _, clause := range clauses(prompt) {
		if order := demand(clause); len(order) > 1 && has("work", order[0]) {
			_, rest, _ := strings.Cut(prompt, clause)
			rest, _, _ = strings.Cut(rest, "\n")
			return core.OneLine(clause+rest, maxGoal)
		}
	}
	return ""
}

// demand returns the words of a clause without those before a request.
func demand(clause string) []string {
	return lo.DropWhile(words(clause), func(word string) bool { return has("requests", word) })
}

// workWords returns the stems of the words of the work at hand.
func workWords(m Moment) []string {
	texts := []string{begin(m.Frame.Goal, maxText), begin(m.Frame.Criteria, maxText)}
	for _, list := range [][]string{m.Frame.Decisions, m.Frame.Artifacts, m.Frame.Files} {
		for _, item := range latest(list) {
			texts = append(texts, begin(item, maxItem))
		}
	}
	for _, message := range latest(m.Recent) {
		texts = append(texts, begin(message.Text, maxText))
	}
	for _, call := range latest(m.Calls) {
		texts = append(texts, begin(call.Input, maxItem))
	}
	return stems(strings.Join(texts, "\n"))
}

// minMore is how many telling words make a wish.
const minMore = 2

// AsksForMore reports whether a prompt asks for more of the current work, so that the frame should not end. A request
// to continue, thanks and messages of a host ask for nothing new.
func AsksForMore(prompt string) bool {
	prompt = begin(prompt, maxText)
	if byHost().MatchString(prompt) || core.IsContinuePrompt(prompt) {
		return false
	}
	return phrase("putting off", prompt) != "" || len(stems(prompt)) >= minMore || strings.Contains(prompt, "?")
}
