package judge_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the table of signals into docs/judgement.md")

// told is where the source tells a signal.
var told = regexp.MustCompile(`say\((\w+), (-?\d+|int\(15\*all\)), "(it is )?"?([^"\n]*?)"?\+?(?:string\((?:goal|r\.kind)\)\+")?([^"\n]*)"?\)`)

func TestTheTableOfSignalsIsThatOfTheSource(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("push.go")
	require.NoError(t, err)
	names := map[string]string{"boundary": "failure_boundary", "otherwise": "context_switch", "complexity": "complexity", "duration": "duration"}
	rows := []string{"| Signal | Points | Heuristic |", "|---|---|---|"}
	for _, m := range told.FindAllStringSubmatch(string(source), -1) {
		points := strings.Replace(m[2], "int(15*all)", "up to 30", 1)
		what := m[3] + m[4] + m[5]
		if strings.HasPrefix(m[5], ", ") {
			what = "it is work of a kind" + m[5]
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | `%s` |", what, points, names[m[1]]))
	}
	require.Len(t, rows, 2+strings.Count(string(source), "\t\tsay("), "each signal is told with a text that the table can show")
	table := strings.Join(rows, "\n")

	file := filepath.Join("..", "..", "docs", "judgement.md")
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	doc := string(raw)
	if *update {
		from := strings.Index(doc, rows[0])
		to := from + strings.Index(doc[from:], "\n\n")
		doc = doc[:from] + table + doc[to:]
		require.NoError(t, os.WriteFile(file, []byte(doc), 0o644))
	}
	assert.Contains(t, doc, table, "go test ./core/judge -update writes it")
}
