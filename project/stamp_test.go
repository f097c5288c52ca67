package project_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flame/project"
	"flame/tests/projecttest"
)

func TestAProofBelongsToOneStampOfOneProject(t *testing.T) {
	t.Parallel()
	at := func(host project.Process, key project.StampKey, err error) *project.Project {
		f := projecttest.New(t)
		f.HostProcess = func() project.Process { return host }
		f.StampKey = func(context.Context, bool) (project.StampKey, error) { return key, err }
		return f.Project
	}
	here, own := at(project.Process{PID: 7, Started: "x"}, projecttest.Key, nil), project.Caller{Session: "own", Host: "h", Agent: "agent-1"}
	made := project.Stamp{Session: "s", Agent: "a", Tool: "t", Call: "c"}
	proof, err := here.ProveStamp(t.Context(), made)
	require.NoError(t, err)
	by, ok := here.CallerOf(t.Context(), own, made, proof)
	assert.True(t, ok)
	assert.Equal(t, project.Caller{Session: "a", Parent: "s", Host: "h", Agent: "agent-1", Trust: project.TrustHook}, by)

	again, err := here.ProveStamp(t.Context(), made)
	require.NoError(t, err)
	assert.NotEqual(t, proof, again, "a server believes each proof once, and some models repeat the ids of their calls")
	_, ok = here.CallerOf(t.Context(), own, made, again)
	assert.True(t, ok)

	http := at(project.Process{}, projecttest.Key, nil)
	http.HostProcess = nil
	tests := map[string]struct {
		p     *project.Project
		s     project.Stamp
		proof string
	}{
		"another session":            {here, project.Stamp{Session: "z", Agent: "a", Tool: "t", Call: "c"}, proof},
		"no session":                 {here, project.Stamp{Agent: "a", Tool: "t", Call: "c"}, proof},
		"another agent":              {here, project.Stamp{Session: "s", Agent: "z", Tool: "t", Call: "c"}, proof},
		"no agent":                   {here, project.Stamp{Session: "s", Tool: "t", Call: "c"}, proof},
		"names that shift":           {here, project.Stamp{Session: "sa", Tool: "t", Call: "c"}, proof},
		"another tool":               {here, project.Stamp{Session: "s", Agent: "a", Tool: "z", Call: "c"}, proof},
		"another call":               {here, project.Stamp{Session: "s", Agent: "a", Tool: "t", Call: "z"}, proof},
		"no proof":                   {here, made, ""},
		"half a proof":               {here, made, proof[:len(proof)-1]},
		"more than a proof":          {here, made, proof + "A"},
		"another project":            {at(project.Process{}, make(project.StampKey, 32), nil), made, proof},
		"a key that is unreadable":   {at(project.Process{}, nil, errors.New("damaged")), made, proof},
		"a server that no host runs": {http, made, proof},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			by, ok := tt.p.CallerOf(t.Context(), own, tt.s, tt.proof)
			assert.False(t, ok)
			assert.Equal(t, own, by)
		})
	}
	_, err = at(project.Process{}, nil, errors.New("damaged")).ProveStamp(t.Context(), made)
	require.Error(t, err)
}

func TestTheKeyOfAHostsProcessHoldsForThatProcessAlone(t *testing.T) {
	t.Parallel()
	f := projecttest.New(t)
	f.HostProcess = func() project.Process { return project.Process{PID: 7, Started: "x"} }
	one, err := f.HostKey(t.Context())
	require.NoError(t, err)
	assert.NotEqual(t, projecttest.Key, one)
	f.HostProcess = func() project.Process { return project.Process{PID: 7, Started: "later"} }
	two, err := f.HostKey(t.Context())
	require.NoError(t, err)
	assert.NotEqual(t, one, two)
	f.HostProcess = func() project.Process { return project.Process{} }
	_, err = f.HostKey(t.Context())
	require.Error(t, err, "the process is not known")
}
