package tools

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// Some clients and models write lists, objects, numbers and booleans as text, and whole numbers
// with a fraction. Where a value of the argument's type is certainly meant, flame takes that.

// meant returns the JSON that a value for an argument of type t means, or the value itself.
func meant(raw json.RawMessage, t reflect.Type) json.RawMessage {
	t = plain(t)
	raw = bytes.TrimSpace(raw)
	var text string
	if t.Kind() != reflect.String && len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		text = strings.TrimSpace(text)
		if begins, ok := openings[t.Kind()]; !ok || !strings.HasPrefix(text, begins) || !json.Valid([]byte(text)) {
			return inText(text, raw, t)
		}
		raw = json.RawMessage(text)
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return whole(raw)
	case reflect.Slice:
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil {
			return raw
		}
		for i := range items {
			items[i] = meant(items[i], t.Elem())
		}
		return json.RawMessage(inJSON(items))
	case reflect.Struct:
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return raw
		}
		for _, a := range argumentsOf(t) {
			if value, there := members[a.name]; there {
				members[a.name] = meant(value, a.Type)
			}
		}
		return json.RawMessage(inJSON(members))
	}
	return raw
}

// openings are the first characters of lists and objects in JSON.
var openings = map[reflect.Kind]string{reflect.Slice: "[", reflect.Map: "{", reflect.Struct: "{"}

// inText returns the boolean or number that a text means.
func inText(text string, raw json.RawMessage, t reflect.Type) json.RawMessage {
	switch t.Kind() {
	case reflect.Bool:
		if word := strings.ToLower(text); word == "true" || word == "false" {
			return json.RawMessage(word)
		}
	case reflect.Int, reflect.Int64, reflect.Float64:
		if n, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(n, 0) && json.Valid([]byte(text)) {
			return whole(json.RawMessage(text))
		}
	}
	return raw
}

// maxExact is the largest number up to which a float64 holds every whole number.
const maxExact = 1 << 53

// whole returns a number such as 60000.0 or 6e4 without fraction and exponent.
func whole(raw json.RawMessage) json.RawMessage {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) > maxExact || !bytes.ContainsAny(raw, ".eE") {
		return raw
	}
	return strconv.AppendInt(nil, int64(n), 10)
}
