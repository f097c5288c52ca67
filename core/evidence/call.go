package evidence

import (
	"slices"
	"strconv"
	"strings"

	"flame/core"
)

// A Call is one call of a tool.
type Call struct {
	Tool   string `json:"tool"`
	Input  string `json:"input,omitempty"` // a command, a path, a pattern: its first characters
	OK     bool   `json:"ok"`
	Exit   *int   `json:"exit,omitempty"`   // status with which a command ended; nil for other tools
	Output string `json:"output,omitempty"` // its last characters
}

// maxProof is the length of a command, in bytes, from which it may have been cut when it was recorded.
const maxProof = 180

var (
	between = core.Pattern(`&&|\|\||[;|\n]`)
	setting = core.Pattern(`^\w+=\S*$`)

	// script matches the name of a script or target that checks something.
	script = core.Pattern(`(?i)check|verify|lint|validat|(^|[^a-z])(tests?|specs?|e2e|smoke|ci|build|compile)([^a-z]|$)`)

	// tests matches commands that run tests. Builds, formatters and linters prove less.
	tests = core.Pattern(`(?i)(^|[^a-z])(tests?|specs?|e2e|pytest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|nextest|unittest|` +
		`verify|check|playwright|cypress)([^a-z]|$)`)
	dryRun  = core.Pattern(`(^|\s)(-n|--dry-run|--dryrun|--help|-h|--list|-l|--no-run|--collect-only|--version)(\s|=|$)`)
	noTests = core.Pattern(`(?i)no tests? (to run|found|ran|files? found|were)|\b0 (tests?|passed|passing|examples?|specs?)\b|collected 0|ran 0 `)

	failedCount = core.Pattern(`(?i)\b(\d+(?:,\d{3})*) (?:tests? |specs? |examples? )?` +
		`(?:failed|failing|failures?|fail|errors?|errored|broken|problems?|mismatch(?:es)?|missing)\b([=:])?|` +
		`\b(?:failed|failures?|errors?|mismatch(?:es)?|missing|critical|high) ?[:=] *(\d+)`)
	failedMark = core.Pattern(`(?m)^(--- FAIL|FAIL\b|FAILED\b|\[ERROR\]|` +
		`error(\[\w+\])?:|Error:|ERROR:|BUILD FAILED|X )|test result: FAILED|BUILD FAILURE`)
)

// Command returns the command that the call runs; empty if it runs none.
func (c Call) Command() string {
	switch strings.ToLower(c.Tool) {
	case "bash", "shell", "exec", "terminal", "run", "powershell", "cmd", "exec_command", "run_shell_command", "local_shell":
		return strings.TrimSpace(begin(c.Input, maxItem))
	}
	return ""
}

// programs returns the commands of a line, each as its words: without environment variables, programs that only start
// others, and folders of program names.
func programs(line string) (found [][]string) {
	for _, part := range between().Split(line, maxItems) {
		words := strings.Fields(strings.ToLower(part))
		for len(words) > 1 && (setting().MatchString(words[0]) || has("starters", words[0])) {
			words = words[1:]
		}
		if len(words) > 0 {
			words[0] = words[0][strings.LastIndexByte(words[0], '/')+1:]
			found = append(found, words)
		}
	}
	return found
}

// Moves reports whether the agent works in another frame after the call.
func (c Call) Moves() bool {
	if tool := strings.ToLower(c.Tool); strings.Contains(tool, "flame") {
		_, name, _ := strings.Cut(tool[strings.LastIndex(tool, "flame"):], "_")
		return begins("moves", strings.Split(name, "_"))
	}
	return slices.ContainsFunc(programs(c.Command()), func(words []string) bool { return words[0] == "flame" })
}

// checks reports whether the call runs a program that checks something.
func (c Call) checks() bool {
	return slices.ContainsFunc(programs(c.Command()), func(words []string) bool {
		return begins("runners", words) || !c.OnlyReads() && script().MatchString(strings.Join(words, " "))
	})
}

// passed reports whether the call found nothing wrong.
func (c Call) passed() bool {
	if !c.OK || c.Exit != nil && *c.Exit != 0 {
		return false
	}
	output := end(c.Output, maxOutput)
	for _, count := range failedCount().FindAllStringSubmatch(output, maxItems) {
		n, _ := strconv.Atoi(strings.ReplaceAll(count[1]+count[3], ",", ""))
		if n > 0 && count[2] == "" { // in "8 failed=0" the 8 counts something else
			return false
		}
	}
	return !failedMark().MatchString(output)
}

// proves reports whether the call is a run of tests whose outcome nothing can hide: the tests are the last of commands
// that all have to succeed, and some tests ran.
func (c Call) proves() bool {
	line := c.Command()
	if len(line) > maxProof || !c.checks() || !c.passed() || c.Exit == nil && c.Output == "" {
		return false
	}
	if strings.ContainsAny(strings.ReplaceAll(line, "&&", " "), "|;&\n`$<>") || dryRun().MatchString(line) || noTests().MatchString(c.Output) {
		return false
	}
	return tests().MatchString(strings.TrimPrefix(line[strings.LastIndex(line, "&&")+1:], "&"))
}

// OnlyReads reports whether the call certainly changes nothing that a check could find.
func (c Call) OnlyReads() bool {
	tool := strings.ToLower(c.Tool)
	if i := strings.LastIndex(tool, "__"); i >= 0 {
		tool = tool[i+len("__"):]
	}
	if strings.HasPrefix(tool, "flame_") || tool != "" && has("harmless", tool) {
		return true
	}
	line := c.Command()
	if line == "" || len(line) > maxProof || strings.ContainsAny(strings.ReplaceAll(line, "&&", ""), "<>$`&") {
		return false
	}
	return !slices.ContainsFunc(programs(line), func(words []string) bool { return !begins("reading", words) })
}

// Works reports whether calls do work: any that is not only talk, or one of flame's own.
func Works(calls []Call) bool {
	return slices.ContainsFunc(calls, func(c Call) bool {
		tool := strings.ToLower(c.Tool)
		return tool != "" && !has("talk", tool) && !strings.Contains(tool, "flame_")
	})
}

// maxChecks limits the checks that Checks names: the last ones.
const maxChecks = 5

// Checks returns a line with the checks among calls, each with its last outcome, and with the commands that failed at
// last; empty without one.
func Checks(calls []Call) string {
	var lines, outcomes []string
	for _, c := range slices.Backward(calls) {
		line := core.OneLine(c.Command(), maxItem/2)
		failed := !c.passed()
		if line == "" || slices.Contains(lines, line) || !c.checks() && (!failed || c.Exit == nil) {
			continue
		}
		lines = append(lines, line)
		outcome := " passed"
		if failed {
			outcome = " failed"
		}
		if outcomes = append(outcomes, line+outcome); len(outcomes) == maxChecks {
			break
		}
	}
	slices.Reverse(outcomes)
	return strings.Join(outcomes, "; ")
}

// SinceMove returns the calls after the last move to another frame, and reports whether there was one.
func SinceMove(calls []Call) (after []Call, moved bool) {
	for i, c := range slices.Backward(calls) {
		if c.Moves() {
			return calls[i+1:], true
		}
	}
	return calls, false
}
