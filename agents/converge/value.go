package converge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"flame/agents/converge/notation"
	"flame/core"
)

// normal returns text as it is compared: blanks collapsed, case folded (spec:
// agents §6).
func normal(text string) string {
	return strings.Map(fold, strings.Join(strings.Fields(text), " "))
}

// fold returns one rune for all that differ only in case, including the Kelvin
// sign and the final sigma.
func fold(r rune) rune {
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	return unicode.ToLower(least)
}

// decode parses text that is one JSON value and nothing else.
func decode(text string) (any, bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil, false
	}
	_, err := decoder.Token()
	return value, err == io.EOF
}

// canonical writes a value in the one form shared by equal values: compact,
// keys sorted, numbers in their shortest form. Values come from decode or are
// made here, so they can always be written.
func canonical(value any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(shortNumbers(value)); err != nil {
		panic("converge: " + err.Error())
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// shortNumbers returns value with each json.Number in its shortest form.
func shortNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		return shortest(v)
	case []any:
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = shortNumbers(element)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, element := range v {
			out[key] = shortNumbers(element)
		}
		return out
	}
	return value
}

// shortest writes 1.0 and 1e0 as 1. Whole numbers keep all their digits: a float
// would make neighbours above 2^53 equal.
func shortest(n json.Number) json.Number {
	literal := n.String()
	if !strings.ContainsAny(literal, ".eE") {
		if literal == "-0" {
			return "0"
		}
		return n
	}
	f, err := n.Float64()
	if err != nil {
		return n
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return json.Number(strconv.FormatInt(int64(f), 10))
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}

// hash returns the value_hash of a value: SHA-256 of its canonical form in hex.
func hash(value any) string {
	sum := sha256.Sum256(canonical(value))
	return hex.EncodeToString(sum[:])
}

// agree reports whether two values are equal, numbers in them within tolerance.
func agree(a, b any, tolerance notation.Tolerance) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && (shortest(a) == shortest(b) || near(a, b, tolerance))
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, func(x, y any) bool { return agree(x, y, tolerance) })
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && agreeObjects(a, b, tolerance)
	case statement:
		b, ok := b.(statement)
		return ok && a.agrees(b, tolerance)
	case field:
		b, ok := b.(field)
		return ok && a.agrees(b, tolerance)
	case string:
		b, ok := b.(string)
		return ok && (a == b || tolerance != (notation.Tolerance{}) && agreeTexts(a, b, tolerance))
	}
	return a == b
}

// numbers matches the numbers in a text.
var numbers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-?\d+(?:\.\d+)?`) })

// agreeTexts reports whether two texts are equal but for their numbers, and
// those are within tolerance.
func agreeTexts(a, b string, tolerance notation.Tolerance) bool {
	return numbers().ReplaceAllLiteralString(a, "0") == numbers().ReplaceAllLiteralString(b, "0") &&
		slices.EqualFunc(numbers().FindAllString(a, -1), numbers().FindAllString(b, -1), func(x, y string) bool {
			return x == y || near(json.Number(x), json.Number(y), tolerance)
		})
}

func agreeObjects(a, b map[string]any, tolerance notation.Tolerance) bool {
	for key, x := range a {
		if y, ok := b[key]; !ok || !agree(x, y, tolerance) {
			return false
		}
	}
	return len(a) == len(b)
}

// slack is the share of the tolerance that binary fractions may cost: for a
// reader 1.1 and 1.0 are 0.1 apart.
const slack = 1e-9

func near(a, b json.Number, tolerance notation.Tolerance) bool {
	x, errX := a.Float64()
	y, errY := b.Float64()
	allowed := max(tolerance.Absolute, tolerance.Relative*max(math.Abs(x), math.Abs(y)))
	return allowed > 0 && errX == nil && errY == nil && math.Abs(x-y) <= allowed*(1+slack)
}

// A schema is the part of a JSON schema that lists properties. The zero value
// declares nothing, in which case everything is compared.
type schema struct {
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`
}

// UnmarshalJSON also accepts the schemas true and false, and the list of
// schemas that "items" once could be: they declare nothing.
func (s *schema) UnmarshalJSON(raw []byte) error {
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return nil
	}
	type plain schema
	return json.Unmarshal(raw, (*plain)(s))
}

func parseSchema(raw json.RawMessage) (s schema, err error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return s, nil
	}
	value, ok := decode(string(raw))
	if _, object := value.(map[string]any); !ok || !object {
		return s, core.Invalidf("result_schema is not a JSON object").WithHint(`for example {"type":"object","properties":{"verdict":{"type":"string"}}}`)
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, core.Invalidf("result_schema cannot be read: %v", err)
	}
	return s, nil
}

// declared returns the part of value that s declares.
func (s schema) declared(value any) any {
	switch v := value.(type) {
	case []any:
		if s.Items == nil {
			return v
		}
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = s.Items.declared(element)
		}
		return out
	case map[string]any:
		if len(s.Properties) == 0 {
			return v
		}
		out := map[string]any{}
		for key, element := range v {
			if property, ok := s.Properties[key]; ok {
				out[key] = property.declared(element)
			}
		}
		return out
	}
	return value
}

// declares reports whether the property key is compared.
func (s schema) declares(key string) bool {
	_, ok := s.Properties[key]
	return ok || len(s.Properties) == 0
}
