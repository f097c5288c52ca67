package converge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/samber/lo"

	"flame/core"
)

// normal returns text as it is compared: blanks collapsed, case folded. Bytes that are no text stay as they are.
func normal(text string) string {
	if !utf8.ValidString(text) {
		return text
	}
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

// decode parses text that is one JSON value and nothing else. A text that repeats a property
// counts as no JSON, since it says two things, and so do bytes that are no text.
func decode(text string) (any, bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil, false
	}
	_, err := decoder.Token()
	return value, err == io.EOF && utf8.ValidString(text) && size(value) == tokens(text)
}

func size(value any) int {
	switch v := value.(type) {
	case []any:
		return 2 + lo.SumBy(v, size)
	case map[string]any:
		return 2 + len(v) + lo.SumBy(lo.Values(v), size)
	}
	return 1
}

func tokens(text string) (n int) {
	decoder := json.NewDecoder(strings.NewReader(text))
	for decoder.UseNumber(); ; n++ {
		if _, err := decoder.Token(); err != nil {
			return n
		}
	}
}

// canonical writes a value in the one form shared by equal values: compact JSON,
// keys sorted, numbers in their shortest form. Values are made here or come from
// decode, so they can always be written.
func canonical(value any) []byte {
	raw, err := json.Marshal(value)
	if err != nil {
		panic("converge: " + err.Error())
	}
	plain, _ := decode(string(raw))
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(shortNumbers(plain)) // it was written once
	return bytes.TrimRight(b.Bytes(), "\n")
}

func shortNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		return shortest(v)
	case []any:
		return lo.Map(v, func(element any, _ int) any { return shortNumbers(element) })
	case map[string]any:
		return lo.MapValues(v, func(element any, _ string) any { return shortNumbers(element) })
	}
	return value
}

// shortest writes 1.0 and 1e0 as 1. Whole numbers keep all their digits: a float
// would make neighbours above 2^53 equal.
func shortest(n json.Number) json.Number {
	if !strings.ContainsAny(n.String(), ".eE") {
		return lo.Ternary(n == "-0", "0", n)
	}
	f, err := n.Float64()
	switch {
	case err != nil:
		return n
	case f == math.Trunc(f) && math.Abs(f) < 1<<53:
		return json.Number(strconv.FormatInt(int64(f), 10))
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}

// hash returns the value_hash of a value: SHA-256 of its canonical form in hex.
func hash(value any) string {
	form := canonical(value)
	if text, ok := value.(string); ok && !utf8.ValidString(text) {
		form = []byte(text)
	}
	sum := sha256.Sum256(form)
	return hex.EncodeToString(sum[:])
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
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return s, nil
	}
	if raw[0] != '{' || !json.Valid(raw) {
		return s, core.Invalidf("result_schema is not a JSON object").WithHint(`for example {"type":"object","properties":{"verdict":{"type":"string"}}}`)
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, core.Invalidf("result_schema cannot be read: %v", err)
	}
	return s, nil
}

func (s schema) declared(value any) any {
	switch v := value.(type) {
	case []any:
		if s.Items != nil {
			return lo.Map(v, func(element any, _ int) any { return s.Items.declared(element) })
		}
	case map[string]any:
		if len(s.Properties) > 0 {
			shared := lo.PickByKeys(v, lo.Keys(s.Properties))
			return lo.MapValues(shared, func(element any, key string) any { return s.Properties[key].declared(element) })
		}
	}
	return value
}

func (s schema) declares(key string) bool {
	_, ok := s.Properties[key]
	return ok || len(s.Properties) == 0
}
