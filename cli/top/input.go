package top

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A key is what was pressed.
type key struct {
	name string // of keys that write nothing; else the character
	text string // that it writes; empty for none
}

// pasted is the name of what is no key.
const pasted = "pasted"

// A decoder turns what a terminal sends into keys. It asks the terminal nothing: which
// sequences stand for which key is the same in all that are left.
type decoder struct {
	rest    string // the beginning of a sequence
	pasting bool   // what comes is pasted
	paste   strings.Builder
}

// feed takes what was sent, and returns the keys that are complete.
func (d *decoder) feed(sent string) (keys []key) {
	d.rest += sent
	for d.rest != "" {
		if d.pasting {
			if !d.takePaste(&keys) {
				return keys
			}
			continue
		}
		k, size := next(d.rest)
		if size == 0 {
			return keys
		}
		d.rest = d.rest[size:]
		if d.pasting = k.name == "paste"; !d.pasting && k.name != "" {
			keys = append(keys, k)
		}
	}
	return keys
}

// waits reports whether a sequence has begun: its end comes at once, or what came is the
// key Esc.
func (d *decoder) waits() bool { return d.rest != "" && !d.pasting }

// flush returns what came as it is: no more follows.
func (d *decoder) flush() (keys []key) {
	if strings.HasPrefix(d.rest, "\x1b") {
		keys = []key{{name: "esc"}}
	}
	d.rest = ""
	return keys
}

const pasteEnd = "\x1b[201~"

// takePaste takes what is pasted, and reports whether that was all. It is for lines that
// are typed alone: pasted text presses no keys.
func (d *decoder) takePaste(keys *[]key) bool {
	text, rest, whole := strings.Cut(d.rest, pasteEnd)
	if !whole {
		keep := 0
		for n := min(len(pasteEnd)-1, len(text)); n > 0 && keep == 0; n-- {
			if strings.HasSuffix(text, pasteEnd[:n]) {
				keep = n
			}
		}
		text, rest = text[:len(text)-keep], text[len(text)-keep:]
	}
	if d.paste.Len() < maxTyped*utf8.UTFMax {
		d.paste.WriteString(text)
	}
	d.rest = rest
	if whole {
		*keys = append(*keys, key{pasted, d.paste.String()})
		d.paste.Reset()
		d.pasting = false
	}
	return whole
}

// next returns the first key of what was sent and how many bytes it is: 0 if there is more
// to come. A key without a name is none that is known.
func next(sent string) (k key, size int) {
	c := sent[0]
	switch {
	case c == '\x1b':
		return sequence(sent)
	case c == '\r' || c == '\n':
		return key{name: "enter"}, 1
	case c == 0x7f || c == '\b':
		return key{name: "backspace"}, 1
	case c == '\t':
		return key{name: "tab"}, 1
	case c == 0:
		return key{}, 1
	case c < ' ':
		return key{name: "ctrl-" + string(rune(c|0x60))}, 1
	case !utf8.FullRuneInString(sent):
		return key{}, 0
	}
	r, size := utf8.DecodeRuneInString(sent)
	if !unicode.IsPrint(r) || r == utf8.RuneError {
		return key{}, size
	}
	return key{string(r), string(r)}, size
}

// named are the keys by the ends of their sequences.
var named = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end",
		"1~": "home", "7~": "home", "4~": "end", "8~": "end", "5~": "pgup", "6~": "pgdn", "200~": "paste",
	}
})

// sequence returns the key that begins with an escape.
func sequence(sent string) (k key, size int) {
	if len(sent) == 1 {
		return key{}, 0
	}
	switch sent[1] {
	case 'O':
		if len(sent) == 2 {
			return key{}, 0
		}
		return key{name: named()[sent[2:3]]}, 3
	case '[':
	default:
		return key{name: "esc"}, 1 // a slow line sends two keys at once; no key with Alt is for anything
	}
	for i := 2; i < len(sent); i++ {
		switch c := sent[i]; {
		case c >= 0x40 && c <= 0x7e:
			arguments, _, _ := strings.Cut(sent[2:i], ";") // what follows says whether Shift or Ctrl is held
			if c != '~' {
				arguments = ""
			}
			return key{name: named()[arguments+string(rune(c))]}, i + 1
		case c < 0x20 || c > 0x7e:
			return key{}, i // no sequence is like this
		}
	}
	return key{}, 0
}
