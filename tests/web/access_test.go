package web

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A person may have lost the token, or kept an older one.
func TestThePageAsksForItsToken(t *testing.T) {
	_, _, s := servedHarvest(t)
	for _, address := range []string{s.base + "/", s.base + "/#t=wrong"} {
		tb := newTab(t)
		tb.theme("dark")
		tb.expect("401")
		tb.do(navigate(address))
		tb.until(`document.querySelector("#state:not([hidden]) input")`)
		tb.until(`document.querySelectorAll("[role=treeitem]").length === 0`)
		tb.focus("#state input")
		tb.press("wrong as well", enter)
		tb.until(`document.querySelector("#state:not([hidden]) input") && !document.querySelector("#state input").value`)
		tb.focus("#state input")
		tb.press(s.address, enter)
		tb.drawn()
		tb.until(`document.querySelector("[role=treeitem]")?.innerText.includes("The harvest")`)
		assert.NotContains(t, eval[string](tb, "location.href"), s.token, "the token does not stay in the address")
		assert.Empty(t, eval[string](tb, "document.cookie"))
	}
}
