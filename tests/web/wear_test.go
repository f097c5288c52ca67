package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/stretchr/testify/assert"
)

// The times of a page are the server's, whatever the clock beside it does. They are relative, and exact
// with their zone; when the computer slept, both clocks have gone on.
func TestAClockThatJumps(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.id("push", "The harvest")
	id := u.id("push", "Pick the apples")
	u.flame("pop", "blocked", "no ladder")
	s := u.serve()
	tb := newTab(t)
	tb.expect("/log?")
	tb.before(`{
  const [now, parse] = [Date.now, JSON.parse];
  window.ahead = window.later = 0;
  Date.now = () => now() + ahead + later;
  JSON.parse = (...given) => {
    const told = parse(...given);
    if (told?.now) told.now += later;
    return told;
  };
}`)
	tb.fresh(s)
	for _, ahead := range []int{86_400_000, -3 * 86_400_000, 0} {
		eval[bool](tb, fmt.Sprintf(`(window.ahead = %d, true)`, ahead))
		u.id("plan", fmt.Sprint("After ", ahead)) // the next line tells the server's time
		tb.until(fmt.Sprintf(`document.querySelector("#tree").innerText.includes("After %d")`, ahead))
		tb.until(`/^(just now|\d+ [sm] ago)$/.test(document.querySelector("#overview .needs time").innerText)`)
		assert.NotZero(t, eval[int](tb, `[...document.querySelectorAll(".bar")].filter((el) => el.getBoundingClientRect().width > 100).length`), ahead)
		assert.Empty(t, strings.Join(eval[[]string](tb, ugly), "\n"), ahead)
	}
	tb.choose(id)
	const when = `document.querySelector(".meta time")`
	tb.until(when + `.innerText.match(/just now|\d+ [sm] ago/)`)
	assert.Regexp(t, `20\d\d.*(UTC|GMT)`, eval[string](tb, when+`.title`), "with the time zone")
	eval[bool](tb, `(window.later = 2 * 3600000 + 5000, true)`)
	tb.until(`/^2 h( \d m)? ago$/.test(` + when + `.innerText)`)
}

// A computer that sleeps stops its pages; afterwards they show what happened meanwhile.
func TestAPageThatSlept(t *testing.T) {
	u, _, s, tb := harvest(t)
	tb.expect("ERR_")
	tb.fresh(s)
	call(tb, page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: "frozen"})
	s.kill() // the connection is gone when it wakes
	id := u.id("push", "Meanwhile")
	u.flame("pop", "blocked", "asleep")
	u.serve()
	call(tb, page.SetWebLifecycleState, page.SetWebLifecycleStateParams{State: "active"})
	tb.until(fmt.Sprintf(`document.querySelector(".live.is-live") && document.querySelector("#line-%s .st-blocked")`, id))
	tb.until(`document.querySelector("#overview .needs").innerText.includes("Meanwhile") && document.title.startsWith("(1)")`)
	tb.until(`document.querySelector("#state").hidden`)
}

// A page of another version loads itself anew, once, and keeps what it shows.
func TestAServerOfAnotherVersion(t *testing.T) {
	_, root, s, tb := harvest(t)
	tb.expect("/log?")
	tb.before(`
const real = fetch;
sessionStorage.setItem("loads", Number(sessionStorage.getItem("loads") || 0) + 1);
window.fetch = (path, ...more) => (String(path) === "start.json" && sessionStorage.getItem("loads") === "2"
  ? real(path, ...more).then((answer) => answer.json()).then((told) => new Response(JSON.stringify({ ...told, version: "of long ago" })))
  : real(path, ...more));`)
	tb.do(navigate(s.base + "/#q=harvest&sel=" + root + "&t=" + s.token))
	loads := eval[string](tb, `sessionStorage.getItem("loads")`)
	eval[bool](tb, `(sessionStorage.setItem("loads", "1"), location.reload(), true)`) // the next load is the second
	tb.until(`sessionStorage.getItem("loads") === "3" && document.querySelector(".live.is-live")`)
	tb.settled()
	assert.Equal(t, "3", eval[string](tb, `sessionStorage.getItem("loads")`), "no more than once (%s before)", loads)
	assert.Equal(t, "harvest", eval[string](tb, `document.querySelector("#search").value`))
	tb.until(fmt.Sprintf(`document.querySelector("#details").dataset.frame === %q`, root))
}
