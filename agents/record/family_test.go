package record

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAFamilyHasEachAgentOnceWhateverRecordsSay(t *testing.T) {
	t.Parallel()
	all := []Run{
		{ID: "top"}, {ID: "a", ParentAgent: "top"}, {ID: "b", ParentAgent: "top"}, {ID: "c", ParentAgent: "a"},
		{ID: "self", ParentAgent: "self"}, {ID: "x", ParentAgent: "y"}, {ID: "y", ParentAgent: "x"}, {ID: "other"},
	}
	assert.Equal(t, []string{"top", "a", "b", "c"}, family(all, "top"))
	assert.Equal(t, []string{"self"}, family(all, "self"))
	assert.Equal(t, []string{"x", "y"}, family(all, "x"))
	assert.Equal(t, []string{"nobody"}, family(all, "nobody"))
}

func TestTheFamilyOfAHundredThousandAgentsIsFoundAtOnce(t *testing.T) {
	t.Parallel()
	const n = 100_000
	chain := make([]Run, n)
	for i := range chain {
		chain[i] = Run{ID: fmt.Sprint(i + 1), ParentAgent: fmt.Sprint(i)}
	}
	began := time.Now()
	assert.Len(t, family(chain, "0"), n+1)
	assert.Less(t, time.Since(began), 10*time.Second)
}
