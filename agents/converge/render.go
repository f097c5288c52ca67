package converge

import (
	"encoding/json"

	"flame/core"
)

// A Delta is one change that an output requests.
type Delta struct {
	Op     string          `json:"op"`     // add, replace or remove
	Target string          `json:"target"` // "file:src/a.go", "decision:database", "answer" …
	Value  json.RawMessage `json:"value"`  // as in Item
	Source string          `json:"source_subagent_id"`
}

// Render writes r in a format, or in the requested one if format is empty:
// canonical JSON of all of r, Markdown for people, or the deltas as a JSON
// list, which is empty while conflicts wait. Equal results give equal bytes.
func (r Result) Render(format Format) ([]byte, error) {
	if format == "" {
		format = r.Format
	}
	switch format {
	case JSON:
		return canonicalOf(r)
	case DeltaBatch:
		return canonicalOf(r.Deltas())
	case Markdown:
		return []byte(r.markdown()), nil
	}
	return nil, core.OneOf("output_format", format)
}

// canonicalOf writes anything that can be JSON in canonical form.
func canonicalOf(value any) ([]byte, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	plain, _ := decode(string(raw))
	return canonical(plain), nil
}

// Deltas returns the output as a list of changes, part by part, or none while
// conflicts wait.
func (r Result) Deltas() []Delta {
	deltas := []Delta{}
	for _, part := range parts {
		for _, item := range r.Output[part.target] {
			place := part.target
			if item.Name != "" {
				place += ":" + item.Name
			}
			deltas = append(deltas, Delta{item.Op, place, item.Value, item.Source})
		}
	}
	return deltas
}
