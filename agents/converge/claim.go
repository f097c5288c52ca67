package converge

import (
	"path"
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
)

// A Kind is the kind of a contradiction between agents.
type Kind string

// The kinds of conflicts.
const (
	KindStatus   Kind = "status"   // one is done, another failed
	KindStale    Kind = "stale"    // they began from different commits
	KindScope    Kind = "scope"    // they took over the same planned frame
	KindAnswer   Kind = "answer"   // their answers, or fields of them, differ
	KindDecision Kind = "decision" // they decided the same thing differently
	KindArtifact Kind = "artifact" // their artifacts of the same name differ
	KindFile     Kind = "file"     // they left the same file differently
)

// A part is one of the parts of an output. Its value orders them.
type part int

const (
	outcomePart part = iota
	basePart
	scopePart
	answerPart
	findingPart
	statementPart
	decisionPart
	artifactPart
	filePart
)

// parts holds for each part its name in deltas, the kind of conflict about it,
// and its title for people.
var parts = [...]struct {
	target string
	kind   Kind
	title  string
}{
	outcomePart:   {"outcome", KindStatus, "Outcome"},
	basePart:      {"base", KindStale, "Commit"},
	scopePart:     {"scope", KindScope, "Frames taken over"},
	answerPart:    {"answer", KindAnswer, "Answers"},
	findingPart:   {"finding", KindAnswer, "Findings"},
	statementPart: {"statement", KindAnswer, "Statements"},
	decisionPart:  {"decision", KindDecision, "Decisions"},
	artifactPart:  {"artifact", KindArtifact, "Artifacts"},
	filePart:      {"file", KindFile, "Files"},
}

// What a delta does to its target.
const (
	opAdd     = "add"
	opReplace = "replace"
	opRemove  = "remove"
)

// A claim is one thing that one agent says: this value for this key.
type claim struct {
	part   part
	key    string // claims of one part and key must agree
	by     *agent
	same   any    // the compared form of the value
	schema schema // of a finding: what is compared in its value
	hash   string // hash of the compared form
	text   string // the claim in words for people
	from   string // of a file: the hash of what the agent found

	op    string // what it does to the output,
	name  string // at which place; "" if the part has only one
	value any    // and with what
}

// claims returns all claims of a. With whole its answer is one claim, which is compared with
// other answers. Otherwise each field of the answer is a claim, and texts are kept beside each
// other.
func (a *agent) claims(whole bool) []claim {
	done := lo.Ternary(a.completed(), "done", "not done")
	all := []claim{{part: outcomePart, key: "outcome", same: exact(done), text: string(a.Outcome), op: opReplace, value: a.Outcome}}
	if a.Base != "" {
		all = append(all, claim{part: basePart, key: "base", same: exact(a.Base), text: a.Base, op: opReplace, value: a.Base})
	}
	for _, frame := range a.Claimed {
		all = append(all, claim{part: scopePart, key: frame, same: exact(a.SubagentID), text: "took over " + frame,
			op: opReplace, name: frame, value: a.SubagentID})
	}
	if whole {
		all = append(all, a.wholeAnswer())
	} else {
		all = append(all, a.parted()...)
	}
	all = append(all, lo.Map(a.Decisions, decision)...)
	all = append(all, lo.Map(a.Artifacts, artifact)...)
	all = append(all, lo.FilterMap(a.Files, file)...)
	return a.signed(all)
}

// signed returns claims with their agent, and only the last claim for each key, since later
// claims of an agent apply.
func (a *agent) signed(all []claim) []claim {
	slices.Reverse(all)
	all = lo.UniqBy(all, claim.subject)
	slices.Reverse(all)
	for i := range all {
		all[i].by = a
		if all[i].hash == "" && all[i].part != filePart {
			all[i].hash = hash(all[i].same)
		}
	}
	return all
}

func (c claim) subject() lo.Tuple2[part, string] { return lo.T2(c.part, c.key) }

func (a *agent) wholeAnswer() claim {
	compared := a.schema.declared(a.answer.value)
	c := claim{part: answerPart, key: "answer", same: compared, hash: hash(compared), text: a.answer.text, op: opReplace, value: a.answer.whole()}
	if !a.answer.json {
		c.same = a.answer.reading
	}
	return c
}

// parted returns the fields of a's answer, and its words if it has any.
func (a *agent) parted() []claim {
	found := a.findings("", a.schema, a.answer.object())
	if !a.answer.blank() && (a.answer.object() == nil || a.answer.words != "") {
		value := a.answer.whole()
		if a.answer.words != "" {
			value = a.answer.text
		}
		key := hash(lo.Ternary[any](a.answer.words != "", normal(a.answer.text), a.answer.value))
		found = append(found, claim{part: answerPart, key: key, hash: key, same: exact(key), text: a.answer.text, op: opAdd, value: value})
	}
	return found
}

// findings returns the properties of an object as claims. Those that the schema does not
// declare are not compared: each agent keeps its own.
func (a *agent) findings(path string, s schema, properties map[string]any) []claim {
	return lo.MapToSlice(properties, func(key string, value any) claim {
		c := claim{part: findingPart, key: step(path, key), schema: s.Properties[key], text: string(canonical(value)),
			op: opReplace, name: strings.TrimPrefix(path+"."+key, "."), value: value}
		if c.same = c.schema.declared(value); !s.declares(key) {
			c.key, c.op = c.key+"\x00"+a.SubagentID, opAdd
		}
		return c
	})
}

var decisionForm = core.Pattern(`(?s)^(.+?)(?:: | = )(.*)$`)

// decision parses "key: value" or "key = value"; any other text is both key and
// value.
func decision(text string, _ int) claim {
	key, value := text, text
	if m := decisionForm().FindStringSubmatch(text); m != nil {
		key, value = m[1], m[2]
	}
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	return claim{part: decisionPart, key: normal(key), same: normal(value), text: text,
		op: opAdd, name: key, value: value}
}

func artifact(a Artifact, _ int) claim {
	key := strings.TrimSpace(a.Key)
	return claim{part: artifactPart, key: key, same: exact(a.Hash), hash: a.Hash, text: a.Excerpt,
		op: opAdd, name: key, value: a.Hash}
}

// A Change is the value of a file in an output.
type Change struct {
	Base string `json:"base,omitempty"` // hash of the content that was there; empty if the file is new
	Hash string `json:"hash,omitempty"` // hash of the content to be there; empty if the file is gone
	Text string `json:"text,omitempty"` // description of the change, cut if it is long
}

// file returns the claim about a changed file; ok is false for one that did not
// change.
func file(f File, _ int) (claim, bool) {
	op, text := lo.Ternary(f.Base == "", opAdd, opReplace), f.Excerpt
	if f.Base != "" && f.Hash == "" {
		op, text = opRemove, "(deleted)"
	}
	name := path.Clean(f.Path)
	c := claim{part: filePart, key: name, same: exact(f.Hash), hash: f.Hash, text: text, from: f.Base,
		op: op, name: name, value: Change{f.Base, f.Hash, f.Excerpt}}
	return c, f.Base != f.Hash
}
