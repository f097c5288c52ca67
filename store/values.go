package store

import (
	"fmt"
	"strings"
)

// The columns of frames that Go reads as whole numbers, as numbers, and as lists of
// texts.
var (
	wholeColumns = []string{
		"created_at", "started_at", "ended_at", "updated_at", "archived_at", "invalidated_at",
		"tokens_in", "tokens_out", "cache_read", "cache_written", "tool_calls",
	}
	keyColumns  = []string{"parent", "session"}
	listColumns = []string{"planned_children", "artifacts", "decisions"}
)

// isNoList is SQL for: the column is no JSON list of texts.
func isNoList(column string) string {
	return fmt.Sprintf(`(%[1]s <> '[]' AND CASE WHEN json_valid(%[1]s) THEN
		json_type(%[1]s) <> 'array' OR EXISTS (SELECT 1 FROM json_each(%[1]s) WHERE type <> 'text') ELSE true END)`, column)
}

// unreadable is SQL for: a frame's row has a value that Go cannot read.
func unreadable() string {
	tests := []string{
		"goal_is_default NOT IN (0, 1)", "typeof(cost_usd) NOT IN ('real', 'integer')",
		"typeof(confidence) NOT IN ('real', 'integer', 'null')",
	}
	for _, column := range wholeColumns {
		tests = append(tests, "typeof("+column+") <> 'integer'")
	}
	for _, column := range keyColumns {
		tests = append(tests, "typeof("+column+") NOT IN ('integer', 'null')")
	}
	for _, column := range listColumns {
		tests = append(tests, isNoList(column))
	}
	return strings.Join(tests, " OR ")
}

// readable is SQL that sets all of these values to what can be read: text that is no
// list becomes the one item of a list, so that nothing of it is lost.
func readable() string {
	sets := []string{
		"goal_is_default = (CAST(goal_is_default AS INTEGER) <> 0)", "cost_usd = CAST(cost_usd AS REAL)",
		"confidence = CASE WHEN typeof(confidence) IN ('real', 'integer') THEN confidence END",
	}
	for _, column := range wholeColumns {
		sets = append(sets, column+" = CAST("+column+" AS INTEGER)")
	}
	for _, column := range keyColumns {
		sets = append(sets, fmt.Sprintf("%[1]s = CASE typeof(%[1]s) WHEN 'integer' THEN %[1]s END", column))
	}
	for _, column := range listColumns {
		sets = append(sets, fmt.Sprintf("%[1]s = CASE WHEN %[2]s THEN json_array(CAST(%[1]s AS TEXT)) ELSE %[1]s END",
			column, isNoList(column)))
	}
	return strings.Join(sets, ", ")
}
