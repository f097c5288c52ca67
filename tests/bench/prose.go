package main

import "strings"

// words are the words of frames' texts.
var words = strings.Fields(`
	parser token login session cache index schema migration retry timeout queue worker
	request header cookie import export query cursor page lock writer reader event
	test golden failure cause fixed removed renamed moved split merged kept dropped
	before after because without within between every only again first last wrong right`)

// prose makes a text of about so many characters.
func (p *planter) prose(chars int) string {
	var text strings.Builder
	for text.Len() < chars {
		text.WriteString(words[p.random.IntN(len(words))])
		text.WriteByte(' ')
	}
	return strings.TrimSpace(text.String())
}
