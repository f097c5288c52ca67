package claims

import (
	"slices"
	"strconv"
	"strings"

	"github.com/samber/lo"
)

// A Kind is what a value is.
type Kind int

const (
	Prose   Kind = iota // words that flame cannot compare, only their meaning
	Nothing             // an empty value
	Truth
	Number
	Version
	Date
	Exact  // compared letter by letter, in one notation: a colour, a line of a patch
	Commit // a hash of at least seven digits
	File
	Name
	Set
	Atoms // the values in a sentence
)

// A Value is what a text claims of a subject.
type Value struct {
	Kind    Kind
	Text    string // as written
	Yes     bool   // of a truth; of a name or atoms: whether the sentence affirms them
	Ordered bool   // of a set: the order counts

	number quantity
	name   string    // of a path, a colour, a date or prose in one notation
	span   [2]string // of a version: the first and the last, equal for one; without prefix
	words  []string  // of a name: its stems; of a path: the line, if it has one
	list   []Value
	all    bool // of a set: it is complete
	loose  bool // of a name: another name may be true too
}

// A Verdict is the result of comparing two values.
type Verdict int

const (
	Unknown   Verdict = iota // they cannot be compared
	Same                     // they are equal, perhaps in another notation
	Different                // they cannot both be true
)

func verdictOf(same bool) Verdict {
	if same {
		return Same
	}
	return Different
}

// overall returns Different or Unknown if one of the verdicts is, in this order; otherwise Same.
func overall(all []Verdict) Verdict {
	switch {
	case slices.Contains(all, Different):
		return Different
	case slices.Contains(all, Unknown):
		return Unknown
	}
	return Same
}

// Compare compares two values. The tolerance applies to numbers.
func (v Value) Compare(w Value, t Tolerance) Verdict {
	if v.Kind > w.Kind {
		v, w = w, v
	}
	if v.Kind == Nothing && slices.Contains([]Kind{Nothing, Truth, Number, Name, Set}, w.Kind) {
		return verdictOf(!w.Yes && len(w.list) == 0 && w.number.lo == 0 && w.number.hi == 0 && w.Kind != Name)
	}
	if v.Kind != w.Kind {
		return Unknown
	}
	switch v.Kind {
	case Truth:
		return verdictOf(v.Yes == w.Yes)
	case Number:
		return v.number.compare(w.number, t)
	case Version:
		return compareSpans(v.span, w.span, [2]string{"", latest}, compareVersions)
	case Date:
		return compareDates(v.name, w.name)
	case Commit:
		return verdictOf(strings.HasPrefix(v.name, w.name) || strings.HasPrefix(w.name, v.name))
	case File:
		if v.name == w.name && len(v.words) > 0 && len(w.words) > 0 && v.words[0] != w.words[0] {
			return Unknown // the same file, at other lines
		}
		fallthrough
	case Exact:
		return verdictOf(v.name == w.name)
	case Name:
		return v.compareNames(w)
	case Set:
		return v.compareSets(w, t)
	case Atoms:
		return v.compareAtoms(w, t)
	}
	if v.name == w.name && v.name != "" {
		return Same
	}
	return Unknown
}

// compareDates compares the parts of two dates that both have: "2006", "2006-01",
// "2006-01-02", "2006-01-02T15:04:05", "-01-02" without the year, or a time of day "T15:04".
func compareDates(x, y string) Verdict {
	switch {
	case strings.HasPrefix(x, "-") != strings.HasPrefix(y, "-"):
		return verdictOf(strings.Contains(x, y) || strings.Contains(y, x))
	case strings.HasPrefix(x, "T") != strings.HasPrefix(y, "T"):
		return Unknown
	}
	return verdictOf(strings.HasPrefix(x, y) || strings.HasPrefix(y, x))
}

// compareSpans compares two ranges of an ordered kind. A range within the other counts as the
// same in more detail, unless both are open at the same end. ends are the values of open ends.
func compareSpans[T comparable](a, b, ends [2]T, order func(x, y T) int) Verdict {
	for i, end := range ends {
		if a[i] == end && b[i] == end {
			return verdictOf(order(a[1-i], b[1-i]) == 0)
		}
	}
	inside := func(a, b [2]T) bool { return order(a[0], b[0]) >= 0 && order(a[1], b[1]) <= 0 }
	switch {
	case inside(a, b) || inside(b, a):
		return Same
	case order(a[1], b[0]) < 0 || order(b[1], a[0]) < 0:
		return Different
	}
	return Unknown
}

// latest is the open end of a range of versions.
const latest = "999999999"

// compareVersions orders two versions: numbers between dots, then a pre-release.
func compareVersions(x, y string) int {
	x, preX, _ := strings.Cut(x, "-")
	y, preY, _ := strings.Cut(y, "-")
	xs, ys := strings.Split(x, "."), strings.Split(y, ".")
	for i := range max(len(xs), len(ys)) {
		a, _ := strconv.Atoi(lo.NthOrEmpty(xs, i))
		b, _ := strconv.Atoi(lo.NthOrEmpty(ys, i))
		if a != b {
			return a - b
		}
	}
	if preX == "" || preY == "" {
		return len(preY) - len(preX) // a release follows its pre-releases
	}
	return strings.Compare(preX, preY)
}

// compareNames compares names by their words: a name with additional words counts as the same
// name in more detail.
func (v Value) compareNames(w Value) Verdict {
	if strings.EqualFold(v.Text, w.Text) {
		return verdictOf(v.Yes == w.Yes)
	}
	if len(w.words) < len(v.words) {
		v, w = w, v
	}
	switch subset := lo.Every(w.words, v.words); {
	case subset:
		return verdictOf(v.Yes == w.Yes)
	case !v.loose && !w.loose:
		return Different
	case len(v.words) != 1 || len(w.words) != 1:
		return Unknown
	}
	x, y := opposites()[v.words[0]], opposites()[w.words[0]]
	if x.about != "" && x.about == y.about && x.affirms != y.affirms ||
		scales()[v.words[0]] != "" && scales()[v.words[0]] == scales()[w.words[0]] {
		return Different
	}
	return Unknown
}

// compareSets compares lists member by member, in any order unless the order counts.
func (v Value) compareSets(w Value, t Tolerance) Verdict {
	if len(v.list) > len(w.list) {
		v, w = w, v
	}
	left, known := slices.Clone(w.list), true
	for i, member := range v.list {
		if v.Ordered && w.Ordered && member.Compare(w.list[i], t) == Different {
			return Different
		}
		at := slices.IndexFunc(left, func(other Value) bool { return member.Compare(other, t) == Same })
		if at >= 0 {
			left = slices.Delete(left, at, at+1)
		}
		known = known && at >= 0
	}
	switch {
	case known && len(left) == 0:
		return Same
	case v.all && w.all:
		return Different
	case known:
		return Same
	}
	return Unknown
}

// compareAtoms compares the values of two sentences that are otherwise equal.
func (v Value) compareAtoms(w Value, t Tolerance) Verdict {
	if len(v.list) != len(w.list) {
		return Unknown
	}
	result := overall(lo.Map(v.list, func(x Value, i int) Verdict { return x.Compare(w.list[i], t) }))
	return lo.Ternary(result == Same, verdictOf(v.Yes == w.Yes), result)
}
