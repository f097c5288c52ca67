package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"

	"flame/core"
	"flame/project"
)

// decode reads raw, a JSON object, into in, a pointer to a struct of these arguments, and
// returns the stamp beside them. It reads once: a call may be as large as a message. Its
// errors name the argument and the expected value.
func decode(raw json.RawMessage, in any, arguments []argument) (stamp, error) {
	d := decoder{in: reflect.ValueOf(in).Elem(), arguments: arguments, given: make([]bool, len(arguments))}
	if len(raw) > 0 && string(raw) != "null" {
		if err := d.read(raw); err != nil {
			return stamp{}, err
		}
	}
	if err := d.check(); err != nil {
		return stamp{}, err
	}
	return d.stamp, nil
}

// A decoder is one pass over the arguments.
type decoder struct {
	in        reflect.Value
	arguments []argument
	given     []bool // which of them have a value other than null
	stamp     stamp
}

func (d *decoder) read(raw json.RawMessage) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return errNoObject()
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return errNoObject()
		}
		if err := d.readValue(decoder, name.(string)); err != nil { // a key is always a string
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return errNoObject()
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errNoObject()
	}
	return nil
}

// readValue reads the value of the named argument.
func (d *decoder) readValue(decoder *json.Decoder, name string) error {
	switch name {
	case project.ArgSession:
		return readStamp(decoder, name, &d.stamp.session)
	case project.ArgAgent:
		return readStamp(decoder, name, &d.stamp.agent)
	case project.ArgProof:
		return readStamp(decoder, name, &d.stamp.proof)
	}
	i := d.indexOf(name)
	if i < 0 {
		return core.Invalidf("there is no argument %q", name).WithHint("%s", taken(d.arguments))
	}
	value, err := valueOf(decoder, d.arguments[i].Type)
	if err != nil {
		return d.explain(err, name)
	}
	if !value.IsNil() {
		if d.given[i] && d.arguments[i].name != name && d.in.FieldByIndex(d.arguments[i].Index).Interface() != value.Elem().Interface() {
			return differentFrames()
		}
		d.in.FieldByIndex(d.arguments[i].Index).Set(value.Elem())
		d.given[i] = true
	}
	return nil
}

// valueOf reads a pointer to a value of type t; it is nil for null. Only text, which may be long,
// is read as it comes; of other values flame takes the meaning.
func valueOf(decoder *json.Decoder, t reflect.Type) (reflect.Value, error) {
	value := reflect.New(reflect.PointerTo(t))
	if plain(t).Kind() == reflect.String {
		return value.Elem(), decoder.Decode(value.Interface())
	}
	var raw json.RawMessage
	if err := decoder.Decode(&raw); err != nil {
		return value, err
	}
	err := strictly(raw, value.Interface())
	if err != nil {
		means, taken := meant(raw, t), reflect.New(reflect.PointerTo(t))
		if wrong := strictly(means, taken.Interface()); wrong == nil || means[0] != raw[0] { // the fault is inside of a text
			return taken.Elem(), wrong
		}
	}
	return value.Elem(), err
}

func strictly(raw json.RawMessage, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// frameNames are the arguments by which tools take a frame. A tool takes it by the first
// two of them, whichever it has.
var frameNames = []string{"frameID", "sessionID", "rootID", "parentSessionID"}

// indexOf returns the index of the named argument, or -1.
func (d *decoder) indexOf(name string) int {
	index := func(name string) int {
		return slices.IndexFunc(d.arguments, func(a argument) bool { return a.name == name })
	}
	i := index(name)
	for _, other := range frameNames {
		if i < 0 && slices.Contains(frameNames[:2], name) {
			i = index(other)
		}
	}
	return i
}

func differentFrames() error {
	return core.Invalidf("sessionID and frameID name different frames").WithHint("pass one of them")
}

// explain turns an error of encoding/json into an error that names the wrong argument.
func (d *decoder) explain(err error, name string) error {
	if problem, ok := errors.AsType[*core.Problem](err); ok {
		return problem
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field != "" {
			name += "." + wrong.Field
		}
		given := "a " + core.OneLine(wrong.Value, maxShown)
		switch wrong.Value {
		case "array":
			given = "a list"
		case "object":
			given = "an object"
		}
		return core.Invalidf("argument %s is %s", name, given).WithHint("it must be %s", expected(wrong.Type))
	}
	if unknown, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return core.Invalidf("there is no argument %s", core.OneLine(unknown, maxShown)).WithHint("%s", taken(d.arguments))
	}
	return errNoObject()
}

// check refuses missing arguments and values outside an enum.
func (d *decoder) check() error {
	for i, a := range d.arguments {
		if a.required && !d.given[i] {
			return core.Invalidf("argument %s is missing", a.name).WithHint("%s", taken(d.arguments))
		}
		if a.values == nil || !d.given[i] {
			continue
		}
		if got := reflect.Indirect(d.in.FieldByIndex(a.Index)).String(); !slices.Contains(a.values, got) {
			return core.Invalidf("argument %s is %q", a.name, got).WithHint("it must be one of %s", strings.Join(a.values, ", "))
		}
	}
	return nil
}

// maxShown is how much of a wrong argument an error shows, in characters.
const maxShown = 80

func errNoObject() error {
	return core.Invalidf("the arguments are not a JSON object").WithHint("send an object, for example {}")
}
