package judge

import (
	"slices"
	"strconv"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// A run is a call of a checking program, such as a test runner.
type run struct {
	name   string // "go test"
	passed bool
}

// runsOf returns the runs among the calls, oldest first.
func runsOf(calls []Call) []run {
	return lo.FilterMap(calls, func(c Call, _ int) (run, bool) {
		name := c.runner()
		return run{name, name != "" && c.passed()}, name != ""
	})
}

// Bounds on reading a call: the bytes of its command, the commands of one line, and the counts in
// its output. A command of maxProof bytes or more may have been cut when it was recorded, so that
// its end is unknown.
const (
	maxCommand = 500
	maxParts   = 20
	maxCounts  = 50
	maxProof   = 180
)

// Expressions for commands and their outputs.
var (
	between  = core.Pattern(`&&|\|\||[;|\n]`)
	setting  = core.Pattern(`^\w+=\S*$`)
	filtered = core.Pattern(`\|\s*(grep|rg|egrep)\b[^|]*$`) // the exit status is that of a search in the output of a check

	// checkWords matches the name of a script or target that checks something.
	checkWords = core.Pattern(`(?i)check|verify|lint|validat|` +
		`(^|[^a-z])(tests?|specs?|e2e|smoke|ci|build|compile|sim|replay|soak|chaos|eval)([^a-z]|$)`)

	failedCount = core.Pattern(`(?i)\b(\d+(?:,\d{3})*) (?:tests? |specs? |examples? )?` +
		`(?:failed|failing|failures?|fail|errors?|errored|broken|problems?|mismatch(?:es)?|missing)\b([=:])?|` +
		`\b(?:failed|failures?|errors?|mismatch(?:es)?|missing|critical|high) ?[:=] *(\d+)`)
	failedMark = core.Pattern(`(?m)^(--- FAIL|FAIL\b|FAILED\b|\[ERROR\]|` +
		`error(\[\w+\])?:|Error:|ERROR:|BUILD FAILED|X )|test result: FAILED|BUILD FAILURE`)

	// tests matches commands that run tests. Builds, formatters and linters prove less.
	tests = core.Pattern(`(?i)(^|[^a-z])(tests?|specs?|e2e|pytest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|nextest|unittest|` +
		`verify|check|playwright|cypress)([^a-z]|$)`)
	dryRun  = core.Pattern(`(^|\s)(-n|--dry-run|--dryrun|--help|-h|--list|-l|--no-run|--collect-only|--version)(\s|=|$)`)
	noTests = core.Pattern(`(?i)no tests? (to run|found|ran|files? found|were)|\b0 (tests?|passed|passing|examples?|specs?)\b|collected 0|ran 0 `)
)

// command returns the command that the call runs; empty if it runs none.
func (c Call) command() string {
	switch strings.ToLower(c.Tool) {
	case "bash", "shell", "exec", "terminal", "run", "powershell", "cmd":
		return strings.TrimSpace(strings.ToValidUTF8(c.Input[:min(len(c.Input), maxCommand)], ""))
	}
	return ""
}

// programs returns the commands of a line, each as its words: without environment variables,
// programs that only start others, and folders of program names.
func programs(line string) (found [][]string) {
	for _, part := range between().Split(line, maxParts) {
		words := strings.Fields(strings.ToLower(part))
		for len(words) > 1 && (setting().MatchString(words[0]) || list("starters").Has(words[0])) {
			words = words[1:]
		}
		if len(words) > 0 {
			words[0] = words[0][strings.LastIndexByte(words[0], '/')+1:]
			found = append(found, words)
		}
	}
	return found
}

// runner returns the name of the checking program in the call; empty if there is none.
func (c Call) runner() (named string) {
	line := c.command()
	if line == "" || c.refused() || c.Output == "" && filtered().MatchString(line) {
		return ""
	}
	for _, words := range programs(line) {
		first := strings.Join(words[:min(2, len(words))], " ")
		switch {
		case list("runners").Begin(words) > 0:
			return first
		case list("searchers").Begin(words) > 0, list("readers").Begin(words) > 0:
		case checkWords().MatchString(strings.Join(words, " ")):
			named = first
		}
	}
	return named
}

// failed reports whether the call is a command that failed. A search without results did not fail.
func (c Call) failed() bool {
	all := programs(c.command())
	return !c.OK && len(all) > 0 && list("searchers").Begin(all[len(all)-1]) == 0
}

// refused reports whether the user or the host refused the call.
func (c Call) refused() bool {
	output := head(c.Output, maxNotice)
	return strings.Contains(output, "doesn't want to proceed") || strings.Contains(output, "doesn't want to take this action")
}

// passed reports whether the run found nothing wrong.
func (c Call) passed() bool {
	if !c.OK || c.Exit != nil && *c.Exit != 0 {
		return false
	}
	output := bounded(c.Output)
	for _, count := range failedCount().FindAllStringSubmatch(output, maxCounts) {
		n, _ := strconv.Atoi(strings.ReplaceAll(count[1]+count[3], ",", ""))
		if n > 0 && count[2] == "" { // in "8 failed=0" the 8 counts something else
			return false
		}
	}
	return !failedMark().MatchString(output)
}

// proves reports whether the call is a run of tests whose outcome nothing can hide: the tests are
// the last of commands that all have to succeed, and some tests ran.
func (c Call) proves() bool {
	line := c.command()
	if len(line) > maxProof || c.runner() == "" || !c.passed() || c.Exit == nil && c.Output == "" {
		return false
	}
	if strings.ContainsAny(strings.ReplaceAll(line, "&&", " "), "|;&\n`$<>") || dryRun().MatchString(line) || noTests().MatchString(c.Output) {
		return false
	}
	return tests().MatchString(strings.TrimPrefix(line[strings.LastIndex(line, "&&")+1:], "&"))
}

// onlyReads reports whether the call certainly changes nothing that tests could check.
func (c Call) onlyReads() bool {
	tool := strings.ToLower(c.Tool)
	if i := strings.LastIndex(tool, "__"); i >= 0 {
		tool = tool[i+len("__"):]
	}
	if strings.HasPrefix(tool, "flame_") || tool != "" && list("harmless").Has(tool) {
		return true
	}
	line := c.command()
	if line == "" || len(line) > maxProof || strings.ContainsAny(strings.ReplaceAll(line, "&&", ""), "<>$`&") {
		return false
	}
	return !slices.ContainsFunc(programs(line), func(words []string) bool { return list("keeps").Begin(words) == 0 })
}
