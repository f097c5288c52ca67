// Package core holds flame's values and pure rules: frames and the moves they
// allow, the tree, the context a frame is shown, compaction prompts, the
// heuristics for subagents and for autonomy. It knows no store, no clock and no
// context.Context; its callers bring the time and store what it returns.
package core
