package evidence

import (
	"cmp"
	"strings"

	"flame/core"
)

// What hosts write about a command that failed: its status near an end of the output, and lines that
// say nothing about why.
var (
	exitCode = core.Pattern(`(?i)(?:exit code:?|exited with code|exit status) ([1-9]\d*)`)
	heading  = core.Pattern(`(?i)^(?:(?:error: )?exit code|wall time|output:|chunk id|process exited|original token count|command:|directory:|stderr:|\(none\))`)
	blames   = core.Pattern(`(?i)error|fail|fatal|panic|exception|not found|cannot|denied|undefined|no such|unexpected`)
)

// Bounds of what is read of an output, in bytes.
const (
	nearEnd   = 300  // where its status stands
	maxFailed = 8000 // of one that failed, at its two ends
	maxWhy    = 200  // of the line that says why
)

// WhyFailed returns the line of a command's output that says why it failed, as its host reports it or its status
// shows; empty if it did not fail.
func WhyFailed(output string, failed bool) string {
	status := exitCode().FindString(output[:min(len(output), nearEnd)] + "\n" + output[max(0, len(output)-nearEnd):])
	if !failed && status == "" {
		return ""
	}
	if half := maxFailed / 2; len(output) > maxFailed {
		output = strings.ToValidUTF8(output[:half]+"\n"+output[len(output)-half:], "")
	}
	last := ""
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); line == "" || heading().MatchString(line) {
			continue
		}
		if blames().MatchString(line) {
			return core.Head(line, maxWhy)
		}
		last = line
	}
	return core.Head(cmp.Or(last, status, "failed"), maxWhy)
}
