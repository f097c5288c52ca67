package definition

import (
	"fmt"

	"flame/core"
)

// A Flaw is something wrong with a definition's file or a folder.
type Flaw struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`  // from 1; 0 if it concerns the whole
	Agent  string `json:"agent,omitempty"` // name of the definition, as far as it is known
	Reason string `json:"reason"`
	Fatal  bool   `json:"fatal"` // the file defines no agent
}

// maxPath bounds a path in a sentence, in characters.
const maxPath = 300

// String returns file, line and reason as compilers do, in one line.
func (f Flaw) String() string {
	file := core.OneLine(f.File, maxPath)
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s", file, f.Reason)
	}
	return fmt.Sprintf("%s:%d: %s", file, f.Line, f.Reason)
}
