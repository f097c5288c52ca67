package children_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/core"
	"flame/project"
	"flame/project/briefing"
	"flame/project/children"
	"flame/tests/projecttest"
)

// TestAnEndEndsWhatItsOwnProcessHolds has sessions in several windows: processes of the host.
func TestAnEndEndsWhatItsOwnProcessHolds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		steps string // a, b: a prompt in that window; A, B: a start there; x, y: the end of it; w: that of all; s: of its server; k, l: the 2nd, the 1st is killed
		over  bool
	}{
		"one window":                        {"ax", true},
		"the first of two":                  {"abx", false},
		"the second of two":                 {"aby", false},
		"the one that spoke last":           {"abay", false},
		"both":                              {"abxy", true},
		"a late end, after it was resumed":  {"aBx", false},
		"an end after the other was killed": {"abkx", true},
		"resumed, and at work":              {"axBb", false},
		"an end of nobody knows what":       {"az", true},
		"an end everywhere":                 {"abw", true},
		"a server that was restarted":       {"as", false},
		"a server, and then the window":     {"asx", true},
		"a server of a killed window":       {"als", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := projecttest.New(t)
			s, gone := projecttest.Host("s"), map[int]bool{}
			f.Project.ProcessGone = func(p project.Process) bool { return gone[p.PID] }
			in := func(pid int) *project.Project {
				p := *f.Project
				p.HostProcess = func() project.Process { return project.Process{PID: pid, Started: "then"} }
				return &p
			}
			for i, step := range tt.steps {
				switch step {
				case 'a', 'b':
					g := *f
					g.Project = in(int(step-'a') + 1)
					g.Prompt(s, string(rune('0'+i)), "work")
				case 'A', 'B':
					_, err := briefing.Resume(f.Ctx, in(int(step-'A')+1), s, 1000)
					require.NoError(t, err)
				case 'x', 'y':
					require.NoError(t, children.EndSession(f.Ctx, in(int(step-'x')+1), s))
					gone[int(step-'x')+1] = true
				case 'z':
					gone[1] = true
					require.NoError(t, children.EndSession(f.Ctx, f.Project, s))
				case 'w':
					require.NoError(t, children.EndEverywhere(f.Ctx, in(1), s))
				case 's': // no hook vouches for the end of a connection
					require.NoError(t, children.EndServed(f.Ctx, in(1), project.Caller{Session: s.Session, Host: s.Host}))
				case 'k', 'l':
					gone[2-int(step-'k')] = true
				}
			}
			session, err := project.Read(f.Ctx, f.Project, func(tx project.Tx) (core.Session, error) { return tx.Session("s") })
			require.NoError(t, err)
			assert.Equal(t, tt.over, session.State == core.SessionEnded)
			assert.Equal(t, tt.over, f.Get(session.Root).Status.Ended())
		})
	}
}
