// Package notation knows how values are written: numbers with units, versions, dates,
// paths, names, yes and no. It says of two of them whether they are the same in another
// notation, or cannot both hold.
package notation

// A Kind is what a value is.
type Kind int

const (
	Prose   Kind = iota // words that only their meaning could compare
	Nothing             // an empty value
	Truth
	Number
	Version
	Date
	Colour
	Commit // a hash of at least seven digits
	File
	Name
	Set
	Atoms // the values in a sentence
)

// A Value is what is claimed of a subject.
type Value struct {
	Kind     Kind
	Text     string // as written
	Yes      bool   // of a truth; of atoms: whether the sentence affirms
	Quantity quantity
	version  [2]string // the first and last of a range, without prefix and zeros at the end; equal for one
	least    bool      // of a version: it, or a later one
	day      day
	Name     string   // of a path, a colour or prose in one notation
	Words    []string // of a name: its stems; of a path: the line, if it was told
	List     []Value
	Ordered  bool // of a set: the order counts
	Exact    bool // of a set: it has all there are
	Loose    bool // of a name: another may hold too
}

// String returns the value as it was written.
func (v Value) String() string { return v.Text }
