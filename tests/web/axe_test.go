package web

import (
	"os"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// findings are all that axe finds: barriers for people who do not see, or do not use a mouse.
const findings = `axe.run(document, { resultTypes: ["violations"] }).then((told) => told.violations
  .map((v) => v.id + " (" + v.impact + "): " + v.nodes.slice(0, 5).map((n) => n.target.join(" ") + ": " + n.failureSummary).join("; ")))`

// fits checks that everybody can use the page as it is now: its layout, and by axe, whose file
// FLAME_TEST_AXE names.
func (tb *tab) fits(name string) {
	tb.settled()
	tb.keep(name)
	assert.Empty(tb.t, strings.Join(eval[[]string](tb, ugly), "\n"), name)
	file := os.Getenv("FLAME_TEST_AXE")
	if file == "" && os.Getenv("CI") != "true" {
		return
	}
	if !eval[bool](tb, `Boolean(window.axe)`) {
		program, err := os.ReadFile(file)
		require.NoError(tb.t, err)
		eval[any](tb, string(program)+"; undefined")
	}
	assert.Empty(tb.t, strings.Join(eval[[]string](tb, findings), "\n"), name)
}
