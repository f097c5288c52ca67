package tools

import (
	"context"
	"encoding/json"

	"flame/core/op"
	"flame/project"
	"flame/project/transfer"
)

func stateTools(p *project.Project) []Tool {
	return []Tool{
		defineResult("flame_get_state", "Get the whole state as JSON, for programs. To read it yourself use "+string(op.Tree)+".", reads,
			func(ctx context.Context, by project.Caller, _ noArgs) (Result, error) {
				state, err := transfer.Snapshot(ctx, p, by)
				if err != nil {
					return Result{}, err
				}
				raw, err := json.Marshal(state)
				return Result{Text: string(raw), Structured: state}, err
			}),
	}
}
