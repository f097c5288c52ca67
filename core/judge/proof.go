package judge

import (
	"slices"
	"strings"
)

// proves reports whether the call is a run of tests whose outcome nothing could hide: they
// are the last of commands that each must succeed, and some of them ran.
func (c Call) proves() bool {
	line := strings.TrimSpace(c.command())
	if line == "" || len(line) > maxProof || !c.passed() || c.Exit == nil && c.Output == "" {
		return false
	}
	alone := strings.ReplaceAll(line, "&&", " ")
	if strings.ContainsAny(alone, "|;&\n`$<>") || dryRun.MatchString(line) || noTests.MatchString(c.Output) {
		return false
	}
	last := line[strings.LastIndex(line, "&&")+1:]
	return tests.MatchString(strings.TrimPrefix(last, "&"))
}

// maxProof is the length in bytes from which a command may have been cut where it was
// recorded, so that nobody knows how it ends.
const maxProof = 180

var (
	// tests are commands that run tests. Those that build, format or lint prove less.
	tests = expressionOf(`(?i)(^|[^a-z])(tests?|specs?|e2e|pytest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|nextest|unittest|` +
		`verify|check|playwright|cypress)([^a-z]|$)`)
	dryRun  = expressionOf(`(^|\s)(-n|--dry-run|--dryrun|--help|-h|--list|-l|--no-run|--collect-only|--version)(\s|=|$)`)
	noTests = expressionOf(`(?i)no tests? (to run|found|ran|files? found|were)|\b0 (tests?|passed|passing|examples?|specs?)\b|collected 0|ran 0 `)
)

// onlyReads reports whether the call changes nothing that a run of tests could have
// checked. A call of which that is not known changes something.
func (c Call) onlyReads() bool {
	tool := strings.ToLower(c.Tool)
	if i := strings.LastIndex(tool, "__"); i >= 0 {
		tool = tool[i+len("__"):]
	}
	if harmless[tool] || strings.HasPrefix(tool, "flame_") {
		return true
	}
	line := c.command()
	if line == "" || len(line) > maxProof || strings.ContainsAny(strings.ReplaceAll(line, "&&", ""), "<>$`&") {
		return false
	}
	return !slices.ContainsFunc(programs(line), func(words []string) bool { return !keeps.begin(words) })
}

var (
	harmless = map[string]bool{
		"read": true, "grep": true, "glob": true, "ls": true, "list": true, "webfetch": true, "websearch": true, "todowrite": true, "todoread": true,
	}
	keeps = phrases(`git add, git commit, git status, git diff, git log, git show, git push, grep, rg, cat, ls, head, tail, wc, pwd, cd, echo, true`)
)
