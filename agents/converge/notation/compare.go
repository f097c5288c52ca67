package notation

import (
	"path"
	"slices"
	"strings"
)

// Compare compares two values, numbers with a tolerance.
func (v Value) Compare(w Value, tolerance Tolerance) Verdict {
	if v.Kind > w.Kind {
		v, w = w, v
	}
	switch {
	case v.Kind == Nothing && w.Kind == Set:
		return verdictOf(len(w.List) == 0)
	case v.Kind == Nothing && w.Kind == Number:
		return verdictOf(w.Quantity.lo == 0 && w.Quantity.hi == 0)
	case v.Kind == Nothing && w.Kind == Truth:
		return verdictOf(!w.Yes)
	case v.Kind == Nothing && w.Kind == Name:
		return Different
	case v.Kind != w.Kind:
		return v.compareKinds(w, tolerance)
	}
	switch v.Kind {
	case Nothing:
		return Same
	case Truth:
		return verdictOf(v.Yes == w.Yes)
	case Number:
		return v.Quantity.compare(w.Quantity, tolerance)
	case Version:
		return v.compareVersion(w)
	case Date:
		return v.day.compare(w.day)
	case Commit:
		return verdictOf(strings.HasPrefix(v.Name, w.Name) || strings.HasPrefix(w.Name, v.Name))
	case File:
		if v.Name == w.Name && len(v.Words) > 0 && len(w.Words) > 0 && v.Words[0] != w.Words[0] {
			return Unknown // the same file, at other lines
		}
		return verdictOf(v.Name == w.Name)
	case Colour:
		return verdictOf(v.Name == w.Name)
	case Name:
		return v.compareNames(w)
	case Set:
		return v.compareSets(w, tolerance)
	case Atoms:
		return v.compareAtoms(w, tolerance)
	}
	if v.Name == w.Name && v.Name != "" {
		return Same
	}
	return Unknown
}

// compareKinds compares values of two kinds; v's comes first.
func (v Value) compareKinds(w Value, tolerance Tolerance) Verdict {
	switch {
	case w.Kind == Set && len(w.List) == 1 && v.Kind != Prose:
		return v.Compare(w.List[0], tolerance)
	case v.Kind == Number && w.Kind == Version && v.Quantity.Digits+v.Text != "":
		if u, ok := parseVersion(strings.Trim(v.Text, "*_`\"'. "), []string{"version"}); ok {
			return u.compareVersion(w)
		}
	case v.Kind == File && w.Kind == Name, v.Kind == Version && w.Kind == Name, v.Kind == Number && w.Kind == Name && w.exactName():
		if v.Kind == File && strings.EqualFold(path.Base(v.Name), w.Text) {
			return Same
		}
		return Unknown
	}
	return Unknown
}

// exactName reports whether a name is one word.
func (v Value) exactName() bool { return len(v.Words) == 1 }

// compareNames compares names by their words: one with more of them is the same, more
// closely told.
func (v Value) compareNames(w Value) Verdict {
	if strings.EqualFold(v.Text, w.Text) {
		return Same
	}
	v, w = min2(v, w), max2(v, w)
	subset := !slices.ContainsFunc(v.Words, func(word string) bool { return !slices.Contains(w.Words, word) })
	switch {
	case subset && v.Yes == w.Yes:
		return Same
	case subset:
		return Different
	case v.Loose || w.Loose:
		return compareScales(v.Words, w.Words)
	}
	return Different
}

// compareScales compares words of which only one of a kind can hold.
func compareScales(v, w []string) Verdict {
	if len(v) != 1 || len(w) != 1 {
		return Unknown
	}
	x, y := Opposites()[v[0]], Opposites()[w[0]]
	if x.About != "" && x.About == y.About && x.Affirms != y.Affirms || scales()[v[0]] != "" && scales()[v[0]] == scales()[w[0]] {
		return Different
	}
	return Unknown
}

func min2(v, w Value) Value {
	if len(w.Words) < len(v.Words) {
		return w
	}
	return v
}

func max2(v, w Value) Value {
	if len(w.Words) < len(v.Words) {
		return v
	}
	return w
}

// compareSets compares lists member by member, in any order unless it counts.
func (v Value) compareSets(w Value, tolerance Tolerance) Verdict {
	if len(v.List) > len(w.List) {
		v, w = w, v
	}
	if v.Ordered && w.Ordered {
		for i := range v.List {
			if v.List[i].Compare(w.List[i], tolerance) == Different {
				return Different
			}
		}
	}
	left := slices.Clone(w.List)
	known := true
	for _, member := range v.List {
		at := slices.IndexFunc(left, func(other Value) bool { return member.Compare(other, tolerance) == Same })
		if at < 0 {
			known = false
			continue
		}
		left = slices.Delete(left, at, at+1)
	}
	switch {
	case known && len(left) == 0:
		return Same
	case v.Exact && w.Exact:
		return Different
	case known:
		return Same
	}
	return Unknown
}

// compareAtoms compares the values of two sentences that are equal but for them.
func (v Value) compareAtoms(w Value, tolerance Tolerance) Verdict {
	if len(v.List) != len(w.List) {
		return Unknown
	}
	result := Same
	for i, x := range v.List {
		switch x.Compare(w.List[i], tolerance) {
		case Different:
			return verdictOf(false)
		case Unknown:
			result = Unknown
		}
	}
	if v.Yes != w.Yes {
		if result == Same {
			return Different
		}
		return Unknown
	}
	return result
}
