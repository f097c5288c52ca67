package tests

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"flame/tests/model"
)

func TestDoctorProvesEachLink(t *testing.T) {
	t.Parallel()
	for _, client := range []string{claudeCode, openCode} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, client)
			u.must(u.flame, "setup", client)
			before := u.must(u.flame, "doctor")
			assert.Contains(t, before, client+": no hook has reached this project yet")
			assert.Contains(t, before, "serve offers")

			u.model.Play(model.Script{{Name: "main", Kind: model.Work, Turns: []model.Turn{{Text: "Hello."}}}})
			u.ask(client, "Say hello")
			after := u.must(u.flame, "doctor")
			t.Log(after)
			assert.Contains(t, after, client+": its last hook here was ")
			assert.NotContains(t, after, "this flame has plugin", "what is loaded is what is installed")
		})
	}
}
