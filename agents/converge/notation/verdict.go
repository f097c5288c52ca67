package notation

// A Verdict is what a comparison of two values says.
type Verdict int

const (
	Unknown   Verdict = iota // they cannot be held against each other
	Same                     // they say the same, perhaps in another notation
	Different                // they cannot both hold
)

func verdictOf(same bool) Verdict {
	if same {
		return Same
	}
	return Different
}
