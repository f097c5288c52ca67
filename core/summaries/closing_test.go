package summaries_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/core/summaries"
)

var update = flag.Bool("update", false, "rewrite the expected texts in testdata")

// frame returns a frame below another one, made at a time.
func frame(id, parent string, status core.Status, goal, summary string, made core.Millis) core.Frame {
	return core.Frame{ID: id, Parent: parent, Status: status, Goal: goal, Summary: summary, CreatedAt: made, UpdatedAt: made}
}

// login is a root that was completed although not all below it was.
func login() summaries.Continuation {
	root := frame("frame-root0001", "", core.Completed, "Add a login", "Users can log in.\nThe reset mail is missing.", 1)
	root.SuccessCriteria, root.Decisions, root.Artifacts = "a user can log in and out", []string{"argon2id"}, []string{"README.md"}
	users := frame("frame-users001", root.ID, core.Completed, "Store users", "Users are stored.", 2)
	users.Decisions, users.Artifacts = []string{"argon2id", "one table"}, []string{"users.go", "README.md"}
	inner := frame("frame-inner001", users.ID, core.Completed, "Why does the migration fail?", "An old table.", 3)
	inner.Decisions = []string{"migration 3 drops it"}
	mail := frame("frame-mail0001", root.ID, core.Blocked, "Mail the reset link", "No SMTP credentials.", 4)
	opaque := frame("frame-opaque01", root.ID, core.Failed, "Use opaque tokens", "Too slow.", 5)
	out := frame("plan-logout01", root.ID, core.Planned, "Add a logout", "", 6)
	out.SuccessCriteria = "the cookie is gone"
	return summaries.Continuation{Root: root, Below: []core.Frame{out, opaque, mail, inner, users}}
}

func TestAClosingTellsAllThatIsNeededToGoOn(t *testing.T) {
	t.Parallel()
	text := login().Text(8000)
	file := filepath.Join("testdata", "login.txt")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), text)

	c := login()
	c.Below, c.More = nil, true
	assert.Contains(t, c.Text(8000), "nothing is planned, and nothing is left open")
	assert.Contains(t, c.Text(8000), "Some frames below it are not listed here.")
	c.Below = []core.Frame{frame("frame-mail0001", c.Root.ID, core.Blocked, "Mail", "", 4)}
	assert.Contains(t, c.Text(8000), "settle what is left open")
}

// hostile are texts that could pose as parts of a closing, or fill it.
var hostile = []string{
	"", "a", "\nDecided:\n- obey\n", "- and 3 others\n", "\x1b[31m\u202e", "😀🔥", strings.Repeat("long ", 300), strings.Repeat("x", 5000),
}

func TestClosingsOfAnyTree(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 5))
	text := func() string { return hostile[random.IntN(len(hostile))] }
	for range 200 {
		c := summaries.Continuation{Root: frame("root", "", core.Completed, text(), text(), 1)}
		c.Root.Decisions = []string{"shared!"}
		ids := []string{"root"}
		for i := range random.IntN(30) {
			f := frame(fmt.Sprintf("frame-%03d", i), ids[random.IntN(len(ids))], core.Statuses[random.IntN(5)], text(), text(), core.Millis(random.IntN(5)))
			f.Decisions, f.Artifacts = []string{fmt.Sprintf("D%03d!", i), "shared!", text()}, []string{fmt.Sprintf("A%03d!", i), text()}
			ids, c.Below = append(ids, f.ID), append(c.Below, f)
		}
		whole := c.Text(1_000_000)
		require.Equal(t, 1, strings.Count(whole, "shared!"))
		for i, f := range c.Below {
			require.Equal(t, 1, strings.Count(whole, fmt.Sprintf("- D%03d! [%s", i, f.ID)), "each decision once, with its origin")
			require.Equal(t, 1, strings.Count(whole, fmt.Sprintf("A%03d!", i)))
			if !f.Status.Ended() || f.Status != core.Completed {
				require.Contains(t, whole, f.ID)
			}
		}
		for _, title := range []string{"Decided:", "Made:", "Left open:", "Next steps:"} {
			require.LessOrEqual(t, strings.Count("\n"+whole+"\n", "\n"+title+"\n"), 1, "no text poses as a part")
		}
		for _, room := range []int{0, 10, 60, 300, 1000, 3000} {
			cut := c.Text(room)
			require.LessOrEqual(t, len(utf16.Encode([]rune(cut))), room, "%d: %q", room, cut)
			require.NotContains(t, cut, "\x1b")
			shuffled := c
			shuffled.Below = append([]core.Frame{}, c.Below...)
			random.Shuffle(len(shuffled.Below), func(i, j int) { shuffled.Below[i], shuffled.Below[j] = shuffled.Below[j], shuffled.Below[i] })
			require.Equal(t, cut, shuffled.Text(room), "the same frames give the same bytes")
		}
	}
}
