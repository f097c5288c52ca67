package briefing

import (
	"slices"
	"strings"

	"github.com/samber/lo"

	"flame/core"
	"flame/core/fold"
	"flame/core/op"
	"flame/project"
)

// UserWords are what a user said: a prompt, or words in a dialog.
type UserWords struct {
	Key  string `json:"key"`            // the host's id of the prompt, or the name of the message; empty: none
	Text string `json:"text,omitempty"` // empty: flame kept the key alone
}

// recordUserWords, by session, holds what its user said, oldest first, for the contexts after compactions.
const recordUserWords project.RecordKind[[]UserWords] = "words"

// Limits of a user's words in the store, in bytes and in number.
const (
	maxUserText  = 2_000  // of one text
	maxUserTexts = 16_000 // of all; the middle ones go first
	maxUserWords = 1_000
)

// NoteWords keeps what the user said in a session, each once.
func NoteWords(s *project.Op, words ...UserWords) error {
	if len(words) == 0 || s.Session.Parent != "" {
		return nil
	}
	return recordUserWords.Change(s.Tx, s.Session.ID, func(all *[]UserWords) {
		for _, w := range unheard(*all, words) {
			*all = append(*all, UserWords{w.Key, core.Head(strings.TrimSpace(w.Text), maxUserText)})
		}
		*all = (*all)[max(0, len(*all)-maxUserWords):]
		for lo.SumBy(*all, func(w UserWords) int { return len(w.Text) }) > maxUserTexts {
			texts := lo.FilterMap(*all, func(w UserWords, i int) (int, bool) { return i, w.Text != "" })
			(*all)[texts[len(texts)/3]].Text = ""
		}
	})
}

// unheard returns the words that are not among all. A text said in a dialog is often reported as a prompt too.
func unheard(all, words []UserWords) []UserWords {
	return lo.Reject(words, func(w UserWords, _ int) bool {
		return strings.TrimSpace(w.Text) == "" || slices.ContainsFunc(all, func(known UserWords) bool {
			return w.Key != "" && known.Key == w.Key || known.Text != "" && known.Text == core.Head(strings.TrimSpace(w.Text), maxUserText)
		})
	})
}

// Dialogs returns the user's words in a conversation that no prompt reported, without those that flame keeps already.
func Dialogs(s *project.Op, history []fold.Message) ([]UserWords, error) {
	var said []UserWords
	for _, m := range history {
		if m.UserWords != "" {
			said = append(said, UserWords{m.Name, m.UserWords})
		}
	}
	if len(said) == 0 || s.NewSession || s.Session.Parent != "" {
		return nil, nil
	}
	known, err := recordUserWords.Find(s.Tx, s.Session.ID)
	return unheard(known, said), err
}

// userWords returns a text with what the user said in the session; empty if that is nothing.
func userWords(s *project.Op, maxChars int) (string, error) {
	all, err := recordUserWords.Find(s.Tx, s.Session.ID)
	texts := lo.FilterMap(all, func(w UserWords, _ int) (string, bool) { return w.Text, w.Text != "" })
	return core.BuildUserWords(texts, string(op.Search), maxChars), err
}
