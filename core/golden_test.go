package core_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
)

var update = flag.Bool("update", false, "rewrite the expected texts in testdata")

// goldenRuns say for each file of golden cases how flame answers one of them.
var goldenRuns = map[string]goldenRun{
	"estimate_tokens":           run(goldenEstimate),
	"truncate":                  run(goldenTruncate),
	"keywords":                  run(goldenKeywords),
	"ancestor_score":            run(goldenAncestorScore),
	"select_ancestors":          run(goldenSelectAncestors),
	"sibling_score":             run(goldenSiblingScore),
	"select_siblings":           run(goldenSelectSiblings),
	"invalidation":              run(goldenInvalidation),
	"push_heuristics":           run(goldenPush),
	"pop_heuristics":            run(goldenPop),
	"subagent_title":            run(goldenSubagentTitle),
	"subagent_frame_heuristics": run(goldenSubagentHeuristics),
	"compaction_prompt":         run(goldenCompactionPrompt),
	"escape_xml":                run(goldenEscape),
	"format_duration":           run(goldenDuration),
}

// TestGolden runs the reference's answers (testdata/golden/README.md), or those
// in the folder that FLAME_GOLDEN_DIR names. Every field of an expected answer
// is compared; a field flame does not give is a failure.
func TestGolden(t *testing.T) {
	dir := os.Getenv("FLAME_GOLDEN_DIR")
	if dir == "" {
		dir = filepath.Join("testdata", "golden")
		for name := range goldenRuns {
			assert.FileExists(t, filepath.Join(dir, name+".json"))
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "no golden files in %s", dir)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			answer, known := goldenRuns[name]
			require.True(t, known, "nothing runs %s", file)
			golden := readGolden(t, file)
			for _, c := range golden.Cases {
				t.Run(c.Name, func(t *testing.T) {
					require.NotEmpty(t, c.Expected)
					compareFields(t, c.Expected, answer(t, golden.Now, c.Input, c.Expected))
				})
			}
		})
	}
}

type goldenFile struct {
	Now   core.Millis `json:"now"`
	Cases []struct {
		Name     string          `json:"name"`
		Input    json.RawMessage `json:"input"`
		Expected map[string]any  `json:"expected"`
	} `json:"cases"`
}

func readGolden(t *testing.T, file string) (golden goldenFile) {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &golden))
	require.NotEmpty(t, golden.Cases, "%s has no cases", file)
	return golden
}

// a goldenRun gives flame's answer to a case. Where flame is meant to differ
// from the reference it corrects what is expected, and says why.
type goldenRun func(t *testing.T, now core.Millis, input json.RawMessage, expected map[string]any) map[string]any

// run decodes a case's input for f and brings f's answer to plain JSON values.
func run[In any](f func(now core.Millis, in In, expected map[string]any) map[string]any) goldenRun {
	return func(t *testing.T, now core.Millis, input json.RawMessage, expected map[string]any) map[string]any {
		t.Helper()
		var in In
		require.NoError(t, json.Unmarshal(input, &in))
		raw, err := json.Marshal(f(now, in, expected))
		require.NoError(t, err)
		var got map[string]any
		require.NoError(t, json.NewDecoder(bytes.NewReader(raw)).Decode(&got))
		return got
	}
}

func compareFields(t *testing.T, want, got map[string]any) {
	t.Helper()
	for field, value := range want {
		if !assert.Contains(t, got, field, "flame gives no such field") {
			continue
		}
		if number, ok := value.(float64); ok {
			assert.InDelta(t, number, got[field], 1e-6, field)
		} else {
			assert.Equal(t, value, got[field], field)
		}
	}
}

// a goldenFrame is a frame as the reference has it.
type goldenFrame struct {
	SessionID         string      `json:"sessionID"`
	ParentSessionID   string      `json:"parentSessionID"`
	Status            core.Status `json:"status"`
	Goal              string      `json:"goal"`
	CreatedAt         core.Millis `json:"createdAt"`
	UpdatedAt         core.Millis `json:"updatedAt"`
	Artifacts         []string    `json:"artifacts"`
	Decisions         []string    `json:"decisions"`
	CompactionSummary string      `json:"compactionSummary"`
}

func (f goldenFrame) frame() core.Frame {
	return core.Frame{
		ID: f.SessionID, Parent: f.ParentSessionID, Status: f.Status, Goal: f.Goal, Summary: f.CompactionSummary,
		Artifacts: f.Artifacts, Decisions: f.Decisions, CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt,
	}
}

func framesOf(golden []goldenFrame) []core.Frame {
	frames := make([]core.Frame, len(golden))
	for i, f := range golden {
		frames[i] = f.frame()
	}
	return frames
}

func idsOf(frames []core.Frame) []string {
	ids := make([]string, len(frames))
	for i, f := range frames {
		ids[i] = f.ID
	}
	return ids
}

// orNil returns nil for an empty text, as the reference has undefined.
func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}
