package definition

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"flame/hosts"
)

// field returns the value of a key, or nil.
func field(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// word returns the text of a single value, or "" for a key without one.
func word(n *yaml.Node) (string, error) {
	switch {
	case n.Kind != yaml.ScalarNode:
		return "", errors.New("must be text")
	case n.Tag == "!!null":
		return "", nil
	}
	return strings.TrimSpace(n.Value), nil
}

func text(of func(*Definition) *string) setter {
	return func(r *reader, n *yaml.Node) error {
		value, err := word(n)
		if err == nil && value != "" {
			*of(&r.def) = value
		}
		return err
	}
}

func oneOf(of func(*Definition) *string, values ...string) setter {
	return func(r *reader, n *yaml.Node) error {
		value, err := word(n)
		if err != nil || !slices.Contains(values, value) {
			return fmt.Errorf("must be one of %s", strings.Join(values, ", "))
		}
		*of(&r.def) = value
		return nil
	}
}

func boolean(n *yaml.Node) (bool, error) {
	if n.Kind == yaml.ScalarNode {
		switch strings.ToLower(n.Value) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
	}
	return false, errors.New("must be true or false")
}

func flag(of func(*Definition) *bool) setter {
	return func(r *reader, n *yaml.Node) (err error) {
		*of(&r.def), err = boolean(n)
		return err
	}
}

// setRole stores in which of OpenCode's lists the agent is. It limits nothing,
// so a value meant as a permission mode must not be accepted for it.
func setRole(r *reader, n *yaml.Node) error {
	var role string
	if err := oneOf(func(*Definition) *string { return &role }, "primary", "subagent", "all")(r, n); err != nil {
		return err
	}
	return r.keep("mode", n)
}

func setBackground(r *reader, n *yaml.Node) error {
	background, err := boolean(n)
	r.def.Background = &background
	return err
}

// integer parses a whole number of at least least.
func integer(n *yaml.Node, least int64) (int64, error) {
	value, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || err != nil || value < least {
		return 0, fmt.Errorf("must be a whole number from %d", least)
	}
	return value, nil
}

func positive(set func(*Definition, int64)) setter {
	return func(r *reader, n *yaml.Node) error {
		value, err := integer(n, 1)
		if err == nil {
			set(&r.def, value)
		}
		return err
	}
}

func atLeast0(of func(*Definition) **int) setter {
	return func(r *reader, n *yaml.Node) error {
		value, err := integer(n, 0)
		if err == nil {
			count := int(value)
			*of(&r.def) = &count
		}
		return err
	}
}

func setModel(r *reader, n *yaml.Node) error {
	model, err := word(n)
	if model != "inherit" {
		r.def.Model = model
	}
	return err
}

func setPermissionMode(r *reader, n *yaml.Node) error {
	name, err := word(n)
	if err != nil {
		return err
	}
	if r.def.PermissionMode, err = hosts.ParseMode(name); err != nil {
		return fmt.Errorf("must be one of %s", strings.Join(hosts.Mode("").Values(), ", "))
	}
	return nil
}

func setHost(r *reader, n *yaml.Node) error {
	err := oneOf(func(d *Definition) *string { return &d.Host }, append(r.known.Names(), "auto")...)(r, n)
	if r.def.Host == "auto" {
		r.def.Host = ""
	}
	return err
}

// setTimeout accepts seconds, as the settings do, or Go's notation ("5m").
func setTimeout(r *reader, n *yaml.Node) error {
	timeout, err := time.ParseDuration(n.Value)
	if seconds, numberErr := strconv.ParseFloat(n.Value, 64); numberErr == nil && seconds <= math.MaxInt32 {
		timeout, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if n.Kind != yaml.ScalarNode || err != nil || timeout <= 0 {
		return errors.New("must be seconds, or a duration such as 5m")
	}
	r.def.Timeout = timeout
	return nil
}

func setBudgetUSD(r *reader, n *yaml.Node) error {
	value, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || err != nil || !(value > 0) || math.IsInf(value, 0) {
		return errors.New("must be an amount above 0, in USD")
	}
	r.def.BudgetUSD = value
	return nil
}

func setResultSchema(r *reader, n *yaml.Node) error {
	var schema bytes.Buffer
	if n.Kind != yaml.MappingNode || toJSON(&schema, n) != nil {
		return errors.New("must be a JSON schema: a map")
	}
	r.def.ResultSchema = schema.Bytes()
	return nil
}
