package web

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for something that should take a moment: machines may be busy.
const patience = 2 * time.Minute

// A tab is one page of the browser, as one person has it open.
type tab struct {
	t     testing.TB
	ctx   context.Context
	close func() // checks the console; a test whose server is newer than its tab has it called before the server ends

	mu       sync.Mutex
	messages []string // of the console: errors, and what the policy forbade
	expected []string // parts of messages that a test expects
}

// watch records in each page violations of its policy, how long it is busy at a time, how many
// requests wait for their answers, and when the first tree was there, in ms since the request of
// the page.
const watch = `
window.asking = 0;
{
  const counted = (call) => function (...given) {
    asking++;
    return call.apply(this, given).finally(() => { asking--; });
  };
  window.fetch = counted(window.fetch);
  for (const form of ["text", "json"]) Response.prototype[form] = counted(Response.prototype[form]);
}
window.drawn = 0;
new MutationObserver(() => { drawn = drawn || (document.querySelector(".bar, .crowd") ? performance.now() : 0); })
  .observe(document, { subtree: true, childList: true });
window.forbidden = [];
document.addEventListener("securitypolicyviolation", (e) => {
  forbidden.push([e.violatedDirective, e.blockedURI, e.sourceFile, e.lineNumber].join(" "));
});
window.longest = 0;
new PerformanceObserver((list) => { for (const e of list.getEntries()) longest = Math.max(longest, e.duration); })
  .observe({ type: "longtask", buffered: true });
`

// newTab opens an empty tab that shares nothing with others. At the end of the test its console
// must be empty, and the page must not have violated its policy.
func newTab(t testing.TB) *tab {
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	tb := &tab{t: t, ctx: ctx}
	require.NoError(t, chromedp.Listen(ctx, tb.hear))
	tb.close = sync.OnceFunc(func() {
		if t.Failed() {
			tb.keep(strings.ReplaceAll(t.Name(), "/", "_"))
		}
		assert.Empty(t, tb.complaints(), "the console")
		cancel()
	})
	t.Cleanup(tb.close)
	tb.before(watch)
	call(tb, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	tb.size(1400, 900)
	return tb
}

// before runs a script in each page before its own.
func (tb *tab) before(script string) {
	call(tb, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
}

// hear records the console's messages.
func (tb *tab) hear(ev any) {
	said := ""
	switch e := ev.(type) {
	case *runtime.EventExceptionThrown:
		said = e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			said += " " + e.ExceptionDetails.Exception.Description
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			said = e.Entry.Text + " " + e.Entry.URL
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			said = fmt.Sprint("console: ", e.Args)
		}
	}
	if said != "" {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		tb.messages = append(tb.messages, said)
	}
}

// expect makes messages with this part no complaint.
func (tb *tab) expect(part string) { tb.expected = append(tb.expected, part) }

// complaints are the messages that no test expects.
func (tb *tab) complaints() (all []string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for _, m := range tb.messages {
		wanted := false
		for _, part := range tb.expected {
			wanted = wanted || strings.Contains(m, part)
		}
		if !wanted {
			all = append(all, m)
		}
	}
	return all
}

// call runs a command of the browser's protocol.
func call[P, R any](tb *tab, command cdp.Command[P, R], params P) R {
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	result, err := chromedp.Call(ctx, command, params)
	require.NoError(tb.t, err, command.Method)
	return result
}

// do runs actions that must succeed.
func (tb *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	require.NoError(tb.t, chromedp.Do(ctx, steps...))
}

// eval returns the value of an expression in the page; it awaits a promise.
func eval[T any](tb *tab, expression string) T {
	value, err := try[T](tb, expression)
	require.NoError(tb.t, err, expression)
	return value
}

func try[T any](tb *tab, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// until waits until an expression is true in the page.
func (tb *tab) until(expression string) {
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		is, err := try[bool](tb, "Boolean("+expression+")")
		if is {
			return
		}
		if time.Now().After(deadline) {
			shown, _ := try[string](tb, "document.body.innerText")
			require.FailNow(tb.t, "it never came to be", "%s\n%v\n%v\n%s", expression, err, tb.complaints(), shown)
		}
	}
}

// open opens an address, and waits until the page has drawn the first data.
func (tb *tab) open(address string) {
	tb.do(chromedp.Navigate(address))
	tb.drawn()
}

func (tb *tab) drawn() {
	tb.until(`document.querySelector(".live.is-live") && document.documentElement.hasAttribute("data-drawn")`)
}

// fresh shows a view of the page as it is when it is opened.
func (tb *tab) fresh(s *server, view ...string) {
	tb.do(chromedp.Navigate("about:blank"))
	tb.open(s.base + "/#" + strings.Join(append(view, "t="+s.token), "&"))
	tb.settled()
}

// settled waits until no request of the page is open, and every answer is drawn.
func (tb *tab) settled() {
	eval[bool](tb, `new Promise((done) => {
  let last = "";
  let calm = 0;
  const look = () => {
    const now = document.body.innerHTML.length + " " + performance.getEntriesByType("resource").length;
    calm = now === last && !asking ? calm + 1 : 0;
    last = now;
    calm > 5 ? done(true) : requestAnimationFrame(look);
  };
  look();
})`)
}

// press presses keys, one after the other.
func (tb *tab) press(keys ...string) {
	for _, key := range keys {
		tb.do(chromedp.KeyEvent(key))
	}
}

// click presses the mouse at the current place of the first element of a selector: the page may
// draw it anew at any time.
func (tb *tab) click(selector string) {
	tb.until("document.querySelector(" + quoted(selector) + ")")
	at := eval[[]float64](tb, fmt.Sprintf(`new Promise((done) => {
  let last = "";
  let still = 0;
  const look = () => { // what has just come to the page may move the element
    const el = document.querySelector(%s);
    el?.scrollIntoView({ block: "nearest" });
    const box = el?.getBoundingClientRect();
    const at = box && [box.left + box.width / 2, box.top + box.height / 2];
    still = at && String(at) === last ? still + 1 : 0;
    last = String(at);
    still > 3 ? done(at) : requestAnimationFrame(look);
  };
  look();
})`, quoted(selector)))
	tb.do(chromedp.MouseClickXY(at[0], at[1]))
}

// focus puts the focus on the first element of a selector.
func (tb *tab) focus(selector string) {
	tb.until(fmt.Sprintf(`(document.querySelector(%[1]s)?.focus(), document.activeElement === document.querySelector(%[1]s))`, quoted(selector)))
}

// size makes the window as large as this, in pixels.
func (tb *tab) size(width, height int64) {
	tb.do(chromedp.EmulateViewport(width, height))
}

// theme shows the page in a person's preferred theme, "light" or "dark".
func (tb *tab) theme(name string) {
	call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// text returns the visible text of an element.
func (tb *tab) text(selector string) string {
	return eval[string](tb, fmt.Sprintf("document.querySelector(%s).innerText", quoted(selector)))
}

// keep writes a picture of the whole page into the folder of FLAME_TEST_PICTURES, if there is one.
func (tb *tab) keep(name string) {
	dir := os.Getenv("FLAME_TEST_PICTURES")
	if dir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if assert.NoError(tb.t, err) {
		assert.NoError(tb.t, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644))
	}
}

// quoted returns a text as a JavaScript literal.
func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // a text always has a form in JSON
	}
	return string(raw)
}
