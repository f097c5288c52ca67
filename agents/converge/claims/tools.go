package claims

import (
	"strings"

	"flame/agents/converge/notation"
)

// tool reads a line that a known tool writes: a runner of tests, a benchmark. Times that
// these took are no claims.
func (r *reader) tool(line string) bool {
	fields := strings.Fields(line)
	if len(fields) < 2 {
		return line == "PASS" || line == "FAIL"
	}
	switch {
	case strings.HasPrefix(fields[0], "Benchmark") && len(fields) > 3 && notation.Whole(fields[1]) >= 0:
		return r.benchmark(fields)
	case fields[0] == "ok" && len(fields) > 2:
		return r.outcome(fields[1], true, line)
	case fields[0] == "FAIL" || fields[0] == "FAILED":
		return r.outcome(strings.TrimSuffix(fields[1], ","), false, line)
	case fields[0] == "PASSED" || fields[0] == "PASS":
		return r.outcome(strings.TrimSuffix(fields[1], ","), true, line)
	case fields[0] == "---" && len(fields) > 2 && (fields[1] == "FAIL:" || fields[1] == "PASS:"):
		return r.outcome(fields[2], fields[1] == "PASS:", line)
	case fields[0] == "test" && len(fields) > 3 && fields[2] == "...":
		return r.outcome(fields[1], fields[3] == "ok", line)
	case strings.HasSuffix(line, " PASSED") || strings.HasSuffix(line, " FAILED"):
		return r.outcome(fields[0], strings.HasSuffix(line, " PASSED"), line)
	case strings.HasPrefix(line, "===") || strings.HasPrefix(line, "test result:") || strings.HasPrefix(line, "Tests:"):
		return r.counts(notation.Lex(strings.Trim(line, "= ")), line)
	case fields[0] == "coverage:":
		if v, ok := notation.ParseQuantity(fields[1], nil); ok {
			r.add("coverage", []string{"coverag"}, v, line)
			return true
		}
	}
	return false
}

// outcome notes whether a test passed.
func (r *reader) outcome(test string, passed bool, line string) bool {
	words := []string{"test " + test}
	r.add(test, words, notation.Value{Kind: notation.Truth, Text: line, Yes: passed}, line)
	return true
}

// benchmark reads a line of go test -bench. How often it ran is no claim.
func (r *reader) benchmark(fields []string) bool {
	label, _, _ := strings.Cut(fields[0], "-")
	for i := 2; i+1 < len(fields); i += 2 {
		q, n, ok := notation.ReadSigned(fields[i], 0)
		if !ok || n != len(fields[i]) {
			return false
		}
		q.Dimension, q.Unit, q.Digits = fields[i+1], fields[i+1], ""
		r.add(label+" "+fields[i+1], []string{label, fields[i+1]}, notation.Value{Kind: notation.Number, Text: fields[i], Quantity: q},
			strings.Join(fields, " "))
	}
	return true
}

// looksLikeDiff reports whether lines are a patch.
func looksLikeDiff(lines []string) bool {
	removed, added, marks := 0, 0, 0
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "@@ ") || strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ") || strings.HasPrefix(line,
			"diff --git "):
			marks++
		case strings.HasPrefix(line, "-"):
			removed++
		case strings.HasPrefix(line, "+"):
			added++
		}
	}
	return marks > 0 && removed+added > 0 || removed > 0 && added > 0 && !strings.HasPrefix(lines[0], "- ")
}

// diff reads a patch that begins on this line.
func (r *reader) diff() bool {
	line := r.lines[r.at]
	if !strings.HasPrefix(line, "diff --git ") && !strings.HasPrefix(line, "@@ ") && !(strings.HasPrefix(line, "--- ") &&
		r.at+1 < len(r.lines) && strings.HasPrefix(r.lines[r.at+1], "+++ ")) {
		return false
	}
	end := r.at
	for end < len(r.lines) && strings.TrimSpace(r.lines[end]) != "" && !strings.HasPrefix(r.lines[end], "```") {
		end++
	}
	r.flush()
	r.hunks(r.lines[r.at:end])
	r.at = end
	return true
}

// hunks reads the changes of a patch: what it puts in the place of a line is the claim
// about it.
func (r *reader) hunks(lines []string) {
	var removed, added []string
	end := func() {
		if len(removed) > 0 {
			subject := strings.Join(removed, " / ")
			v := notation.Value{Kind: notation.Colour, Text: strings.Join(added, "\n"), Name: strings.Join(added, "\n")}
			r.add("line "+subject, []string{"line " + subject}, v, v.Text)
		} else if len(added) > 0 {
			r.add("added "+added[0], []string{"added " + added[0]}, notation.Value{Kind: notation.Colour, Text: strings.Join(added, "\n"),
				Name: strings.Join(added, "\n")}, strings.Join(added, "\n"))
		}
		removed, added = nil, nil
	}
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ") || strings.HasPrefix(line, "diff ") || strings.HasPrefix(line, "@@"):
			end()
		case strings.HasPrefix(line, "-"):
			if len(added) > 0 {
				end()
			}
			removed = append(removed, strings.Join(strings.Fields(line[1:]), " "))
		case strings.HasPrefix(line, "+"):
			added = append(added, strings.Join(strings.Fields(line[1:]), " "))
		default:
			end()
		}
	}
	end()
}
