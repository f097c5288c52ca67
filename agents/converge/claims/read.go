// Package claims reads the claims of texts without a model, and compares the claims of several
// texts about the same subjects. A claim is a value of a subject. The package knows the
// notations in which agents report: keys and values, JSON, tables, lists, patches, the output
// of known tools, numbers in otherwise equal sentences, and plain recommendations. A sentence
// that only its meaning could compare counts as not understood.
package claims

import (
	"slices"
	"strings"

	"flame/core"
)

// A Claim is one statement of a text about a subject.
type Claim struct {
	Subject string // as written
	Text    string // the line or sentence, for people
	Value   Value
	Key     string // equal for claims about the same subject in all compared texts
	Field   string // top-level field of a claim in a JSON object

	key   string   // equal for claims about the same subject
	words []string // words of the subject; nil if the claim matches only by key
	scope []string // words that say where it holds or for whom
	where string   // the end of its key, which tells its subject from that of another place, text or question
	main  bool     // it answers the question, as verdicts and recommendations do
	wide  bool     // answers to different questions would have the same key
	later bool     // it corrects an earlier claim
	unit  int      // its line or sentence
	prose bool     // from running text, which counts as not understood without a match
	extra bool     // other claims say the same in parts
}

// A Reading has the claims of a text.
type Reading struct {
	Claims []Claim

	unread   int // number of sentences and lines that were not understood
	task     task
	identity map[string]Value // names the thing that the whole text is about, such as a file or a bucket
}

// The limits of reading; text beyond them counts as not understood.
const (
	maxText    = 200_000 // bytes
	maxLine    = 4_000   // bytes
	maxClaims  = 2_000
	maxMembers = 300 // of a list
)

// Read reads a text that answers a task; the task is empty if it is unknown.
func Read(text, asked string) Reading {
	r := reader{Reading: Reading{task: readTask(asked)}}
	if len(text) > maxText {
		text = text[:strings.LastIndexByte(text[:maxText], '\n')+1]
		r.unread++
	}
	r.lines = strings.Split(strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\r\n", "\n"), "\n")
	for i, line := range r.lines {
		if len(line) > maxLine && !strings.HasPrefix(strings.TrimSpace(line), "{") && !strings.HasPrefix(strings.TrimSpace(line), "[") {
			r.lines[i] = ""
			r.unread++
		}
	}
	r.all()
	r.finish()
	return r.Reading
}

// A reader reads the lines of a text.
type reader struct {
	Reading
	lines   []string
	at      int
	section title  // the heading above
	lead    title  // the line above a list or a table that ends with a colon
	prefix  string // of the keys in an INI section
	field   string // of a JSON object at the top
	units   int    // lines and sentences with claims
	tried   int    // attempts to parse JSON
	first   bool   // the first sentence has been read
	later   bool   // the following claims correct earlier ones
	text    []string
	items   []string
	loose   []Claim // values in sentences, for a question about a single value
	lists   []Claim
}

// add adds a claim about the subject that words name.
func (r *reader) add(subject string, words []string, v Value, text string) {
	if len(words) == 0 || v.Kind == Nothing && len(words) > maxName+3 || len(r.Claims) >= maxClaims || r.task.work(words) {
		return
	}
	r.units++
	c := Claim{
		Subject: strings.TrimSpace(subject), Text: strings.TrimSpace(text), Value: v, Field: r.field, key: strings.Join(words, " "), words: words,
		scope: r.scope(), main: isMain(words), later: r.later, unit: r.units, prose: v.Kind == Prose,
	}
	c.wide = c.main || slices.Equal(words, []string{"answer"})
	r.Claims = append(r.Claims, c)
}

// addList adds a list without a subject.
func (r *reader) addList(subject, text string, v Value) {
	r.units++
	v.Text = text
	r.lists = append(r.lists, Claim{Subject: subject, Text: text, Value: v, unit: r.units})
}

func isMain(words []string) bool {
	return len(words) <= 2 && slices.ContainsFunc(words, stemIn("mains"))
}

// scope returns the words of the current headings that say where something holds.
func (r *reader) scope() []string {
	list := slices.DeleteFunc(slices.Concat(r.section.words, r.lead.words), func(word string) bool { return !stemIn("scopes")(word) })
	slices.Sort(list)
	return slices.Compact(list)
}

// all reads all lines.
func (r *reader) all() {
	for r.at < len(r.lines) {
		line := strings.TrimSpace(r.lines[r.at])
		switch {
		case line == "":
			r.flush()
			r.at++
		case strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~"):
			r.paragraph()
			r.fence(line)
		case heading(line) != "":
			r.flush()
			r.section, r.lead, r.prefix = titled(heading(line)), title{}, ""
			r.at++
		case r.diff(), r.json(), r.table():
		default:
			r.line(r.lines[r.at])
			r.at++
		}
	}
	r.flush()
}

// flush ends a paragraph and a list.
func (r *reader) flush() {
	r.paragraph()
	r.list()
}

var headingForm = core.Pattern(`^#{1,6} (.*)$|^\*\*([^*:.]+):?\*\*$`)

// heading returns the text of a heading; empty if the line is not a heading.
func heading(line string) string {
	if m := headingForm().FindStringSubmatch(line); m != nil {
		return m[1] + m[2]
	}
	return ""
}
