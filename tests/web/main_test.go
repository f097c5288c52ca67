// Package web tests the page of `flame web` in a real browser. It is a module of its own, so that
// flame's module needs nothing of a browser.
package web

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
)

// built is the folder with the programs under test.
var built string

// browser is the context of the one browser that all tests share.
var browser context.Context

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	program, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") == "true" {
			return 1, fmt.Errorf("chromium is required: %w", err)
		}
		fmt.Println("skipped: chromium is not installed")
		return 0, nil
	}
	if built, err = os.MkdirTemp("", "flame-web-"); err != nil {
		return 1, err
	}
	defer os.RemoveAll(built)
	if err := build(); err != nil {
		return 1, err
	}
	stop, err := openBrowser(program)
	if err != nil {
		return 1, err
	}
	defer stop()
	// Tests wait for other processes most of their time; tests that measure are not parallel.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// build builds flame and the program that fills projects from this repository.
func build() error {
	cmd := exec.Command("go", "build", "-o", built, ".", "./tests/showcase")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build flame: %w\n%s", err, out)
	}
	return nil
}

// openBrowser starts the browser, without a window.
func openBrowser(program string) (stop func(), err error) {
	home := filepath.Join(built, "browser")
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(home), chromedp.DisableGPU,
		chromedp.Env("LANG=C.UTF-8", "TZ=UTC"),
		// The memory is measured after collecting garbage.
		chromedp.Flag("js-flags", "--expose-gc"), chromedp.Flag("enable-precise-memory-info", true),
	)
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeBrowser := chromedp.NewContext(allocator)
	browser = ctx
	if err := chromedp.Do(ctx); err != nil {
		end()
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	return func() { closeBrowser(); end() }, nil
}
