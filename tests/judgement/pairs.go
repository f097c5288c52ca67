package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/agents/converge"
	"flame/core"
)

// A pair is two agents' labelled answers, as in a line of the file
// (core/testdata/judgement/PAIRS.md).
type pair struct {
	ID             string          `json:"id"`
	Task           string          `json:"task"`
	A              string          `json:"a"`
	B              string          `json:"b"`
	Tolerance      float64         `json:"tolerance"`
	Expected       string          `json:"expected"`
	Contradictions []contradiction `json:"contradictions"`
	Comparable     bool            `json:"comparable"`
	Why            string          `json:"why"`
	Contested      bool            `json:"contested"`
	Hard           bool            `json:"hard"`
}

// A contradiction is one subject of disagreement of a pair, in short words.
type contradiction struct {
	About string `json:"about"`
	A     string `json:"a"`
	B     string `json:"b"`
}

// contradictory reports whether flame should find a contradiction.
func (p pair) contradictory() bool { return p.Expected == "contradict" || p.Expected == "partial" }

// readPairs returns the pairs of a file that count.
func readPairs(in io.Reader, which part) (list []pair, err error) {
	err = lines(in, func(p pair) error {
		switch {
		case p.ID == "":
			return errors.New("it has no id")
		case !slices.Contains([]string{"agree", "contradict", "partial", "unrelated"}, p.Expected):
			return fmt.Errorf("pair %s expects %q, not agree, contradict, partial or unrelated", p.ID, p.Expected)
		case p.contradictory() && len(p.Contradictions) == 0:
			return fmt.Errorf("pair %s lists no contradictions", p.ID)
		case strings.TrimSpace(p.A) == "" || strings.TrimSpace(p.B) == "":
			return fmt.Errorf("pair %s lacks an answer", p.ID)
		}
		if which(p.ID) && !p.Contested {
			list = append(list, p)
		}
		return nil
	})
	return list, err
}

// A finding is the result of comparing a pair.
type finding string

const (
	found       finding = "a contradiction"       // an existing one
	mistaken    finding = "another contradiction" // only others
	noConflict  finding = "no conflict"
	notCompared finding = "not compared"
)

// A grade rates a finding for a pair.
type grade int

const (
	right grade = iota
	forgivable
	wrong
)

// grade applies the table in PAIRS.md.
func (p pair) grade(f finding) grade {
	switch {
	case p.contradictory() && f == found:
		return right
	case p.contradictory() && f == notCompared:
		return lo.Ternary(p.Comparable, forgivable, right)
	case p.contradictory(), f == found, f == mistaken:
		return wrong
	case p.Expected == "agree" && p.Comparable && f == notCompared:
		return forgivable
	}
	return right
}

// tasks returns the task of each agent.
func (p pair) tasks() (a, b string) {
	if own := eachItsOwn.FindStringSubmatch(p.Task); own != nil {
		return own[1], own[2]
	}
	return p.Task, p.Task
}

// eachItsOwn matches the description of two tasks.
var eachItsOwn = regexp.MustCompile(`(?is)^\s*one agent\b(.*?)[,;.]\s*(?:and |while )?the (?:other|second)\b(.*)$`)

// compare converges the answers of a pair.
func compare(p pair) (finding, []converge.Conflict, error) {
	input := func(id, task, answer string) converge.Input {
		return converge.Input{SubagentID: id, Outcome: core.AgentCompleted, Task: task, Answer: answer}
	}
	first, second := p.tasks()
	result, err := converge.Converge([]converge.Input{input("a", first, p.A), input("b", second, p.B)}, converge.Options{
		Strategy: converge.StrategyMerge, RelativeTolerance: p.Tolerance,
	})
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("pair %s: %w", p.ID, err)
	case len(result.Conflicts) > 0:
		return p.judged(result.Conflicts), result.Conflicts, nil
	case len(result.NotCompared) > 0:
		return notCompared, nil, nil
	}
	return noConflict, nil, nil
}

// judged distinguishes existing conflicts from others.
func (p pair) judged(conflicts []converge.Conflict) finding {
	for _, c := range conflicts {
		for _, due := range p.Contradictions {
			if due.told(c) {
				return found
			}
		}
	}
	return mistaken
}

// told reports whether a conflict is this contradiction: its key or its sides have a word or
// number of it.
func (c contradiction) told(as converge.Conflict) bool {
	due := words(c.About + " " + c.A + " " + c.B)
	said := words(as.Key)
	for _, side := range as.Sides {
		said = append(said, words(side.Excerpt)...)
	}
	return lo.Some(due, said)
}

// filler are words that say nothing about the subject of a contradiction.
var filler = strings.Fields("a all an and are as at be by for from has in is it no not of on or that the to with yes true false")

var wordLike = regexp.MustCompile(`[\pL\pN_]+`)

// words returns the words and numbers of a text that show its subject.
func words(text string) []string {
	all := wordLike.FindAllString(strings.ToLower(text), -1)
	return lo.Without(all, filler...)
}

// before is the former comparison, without reading texts: fields of JSON objects, and whole texts.
func before(p pair) finding {
	a, b := object(p.A), object(p.B)
	if a == nil || b == nil {
		same := strings.EqualFold(strings.Join(strings.Fields(p.A), " "), strings.Join(strings.Fields(p.B), " "))
		return lo.Ternary(same, noConflict, notCompared)
	}
	shared := false
	for key := range a {
		other, ok := b[key]
		if shared = shared || ok; ok && fmt.Sprint(a[key]) != fmt.Sprint(other) {
			return p.judged([]converge.Conflict{{Key: key}})
		}
	}
	return lo.Ternary(shared, noConflict, notCompared)
}

// object returns the JSON object that a text, or its only fenced block, is.
func object(text string) (fields map[string]any) {
	if blocks := strings.Split(text, "```"); len(blocks) == 3 {
		text = strings.TrimPrefix(blocks[1], "json")
	}
	if json.Unmarshal([]byte(text), &fields) != nil {
		return nil
	}
	return fields
}
