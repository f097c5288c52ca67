package judge

import (
	"strconv"
	"strings"
	"sync"
)

// A run is a call of a program that checks something, such as a test runner.
type run struct {
	name   string // "go test"
	passed bool
	seen   bool // its exit status or its output is known
}

// runners are the programs that check, by their first words. A program that is not among
// them counts as one if a word of its command says so: see checkWords.
var runners = phrases(`go test, go vet, go build, staticcheck, golangci, golangci-lint, gofmt, govulncheck, cargo test, cargo build, cargo check
		cargo clippy, cargo nextest, cargo fmt, pytest, tox, nox, mypy, ruff, flake8, pylint, black, pyright, python * unittest
		manage.py test, pre-commit, npm test, npm t, npm run *, npm ci, pnpm *, yarn *, bun test, bun run *, deno test, deno check
		deno lint, jest, vitest, mocha, playwright, cypress, karma, ava, tsc, vue-tsc, eslint, biome, prettier, stylelint, knip, turbo
		nx, rspec, rake, minitest, rubocop, rails test, phpunit, pest, phpstan, psalm, composer test, artisan test, mvn, mvnw, gradle
		gradlew, ant, sbt, lein, bazel, buck, pants, dotnet test, dotnet build, msbuild, make, ninja, ctest, cmake, meson, gcc, clang
		zig build, zig test, swift test, swift build, xcodebuild, flutter test, flutter build, flutter analyze, dart test, dart analyze
		dune, cabal, stack test, stack build, mix test, mix compile, rebar3, gleam test, nimble test, just *, task *, helm lint
		helm template, terraform validate, terraform plan, tflint, shellcheck, shfmt, hadolint, yamllint, actionlint, ansible-lint
		markdownlint, vale, trivy, kubeconform, buf, sqlfluff, ktlint, detekt, swiftlint, clippy, git diff --check, k6, locust, wrk, act
		nix flake check, docker build, docker compose build`)

// checkWords are those by which the name of a script or of a target says that it checks.
var checkWords = expressionOf(`(?i)check|verify|lint|validat|` +
	`(^|[^a-z])(tests?|specs?|e2e|smoke|ci|build|compile|sim|replay|soak|chaos|eval)([^a-z]|$)`)

// searchers are programs that end with 1 where they find nothing, or a difference.
var searchers = phrases(`grep, rg, egrep, fgrep, zgrep, ag, ack, git grep, diff, cmp, git diff, fc, test, which, pgrep`)

// What the output of a run says of its outcome, whatever the exit status.
var (
	failedCount = expressionOf(`(?i)\b(\d+(?:,\d{3})*) (?:tests? |specs? |examples? )?` +
		`(?:failed|failing|failures?|fail|errors?|errored|broken|problems?|mismatch(?:es)?|missing)\b([=:])?|` +
		`\b(?:failed|failures?|errors?|mismatch(?:es)?|missing|critical|high) ?[:=] *(\d+)`)
	failedMark = expressionOf(`(?m)^(--- FAIL|FAIL\b|FAILED\b|\[ERROR\]|` +
		`error(\[\w+\])?:|Error:|ERROR:|BUILD FAILED|X )|test result: FAILED|BUILD FAILURE`)
)

// runsOf returns the runs among the calls, oldest first.
func runsOf(calls []Call) (list []run) {
	for _, c := range calls {
		if name := c.runner(); name != "" {
			list = append(list, run{name, c.passed(), c.Exit != nil || c.Output != ""})
		}
	}
	return list
}

// command returns the command that the call runs; empty if it runs none.
func (c Call) command() string {
	switch strings.ToLower(c.Tool) {
	case "bash", "shell", "exec", "terminal", "run", "powershell", "cmd":
		return strings.ToValidUTF8(c.Input[:min(len(c.Input), maxCommand)], "")
	}
	return ""
}

// maxCommand bounds how much of a command is read, in bytes.
const maxCommand = 500

var (
	between = expressionOf(`&&|\|\||[;|\n]`)
	setting = expressionOf(`^\w+=\S*$`)
)

// programs returns the commands of a line, each as its words: without settings of the
// environment and programs that only start others, and without the folders of names.
func programs(line string) (list [][]string) {
	for _, part := range between.Split(line, maxParts) {
		words := strings.Fields(strings.ToLower(part))
		for len(words) > 1 && (setting.MatchString(words[0]) || starters()[words[0]] || strings.HasPrefix(words[0], "python")) {
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		words[0] = words[0][strings.LastIndexByte(words[0], '/')+1:]
		list = append(list, words)
	}
	return list
}

// maxParts bounds the commands of one line that are read.
const maxParts = 20

var starters = sync.OnceValue(func() map[string]bool {
	return map[string]bool{
		"npx": true, "time": true, "sudo": true, "env": true, "exec": true, "bundle": true, "poetry": true, "uv": true, "uvx": true, "xvfb-run": true,
		"timeout": true, "nice": true, "bunx": true, "then": true, "do": true, "run": true, "!": true, "-m": true,
	}
})

// runner returns the name of the program that checks something in the call; empty if
// none does.
func (c Call) runner() string {
	line := c.command()
	if line == "" || c.refused() || c.Output == "" && filtered.MatchString(line) {
		return ""
	}
	named := ""
	for _, words := range programs(line) {
		first := strings.Join(words[:min(2, len(words))], " ")
		switch {
		case runners.begin(words):
			return first
		case searchers.begin(words), readers()[words[0]]:
		case checkWords.MatchString(strings.Join(words, " ")):
			named = first
		}
	}
	return named
}

// filtered are lines whose exit status is that of a search in the output of a check.
var filtered = expressionOf(`\|\s*(grep|rg|egrep)\b[^|]*$`)

// readers are programs that show things and check nothing, whatever their arguments are.
var readers = sync.OnceValue(func() map[string]bool {
	return map[string]bool{
		"cat": true, "ls": true, "echo": true, "cd": true, "head": true, "tail": true, "sed": true, "find": true, "git": true, "gh": true, "wc": true,
		"cp": true, "mv": true, "rm": true, "mkdir": true, "curl": true, "less": true, "printf": true, "touch": true, "chmod": true,
	}
})

// refused reports that the user or the host did not let the call happen.
func (c Call) refused() bool {
	output := c.Output[:min(len(c.Output), maxNotice)]
	return strings.Contains(output, "doesn't want to proceed") || strings.Contains(output, "doesn't want to take this action")
}

// passed reports whether the run found nothing wrong.
func (c Call) passed() bool {
	if !c.OK || c.Exit != nil && *c.Exit != 0 {
		return false
	}
	output := bounded(c.Output)
	for _, count := range failedCount.FindAllStringSubmatch(output, maxCounts) {
		n, _ := strconv.Atoi(strings.ReplaceAll(count[1]+count[3], ",", ""))
		if n > 0 && count[2] == "" { // "8 failed=0" is of something else
			return false
		}
	}
	return !failedMark.MatchString(output)
}

// maxCounts bounds how many counts of an output are read.
const maxCounts = 50
