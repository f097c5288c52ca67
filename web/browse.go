package web

import (
	"errors"
	"fmt"
	"html"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// openFile, in a project's data folder, leads a browser to the page. So the address with its
// token never appears on a command line, which other users of the machine can read.
const openFile = "open.html"

// leads is that file, around the address.
const leads = `<!doctype html><meta charset="utf-8"><title>flame</title>
<meta http-equiv="refresh" content="0;url=%[1]s"><a href="%[1]s">flame</a>
`

// Address returns the address of the page at base, with the token.
func Address(base, token string) string { return base + "/#t=" + url.QueryEscape(token) }

// Browse opens the page at base in the person's browser.
func Browse(dir, base, token string) error {
	program, err := opener()
	if err != nil {
		return err
	}
	address := html.EscapeString(Address(base, token))
	file := filepath.Join(dir, openFile)
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	page := fmt.Sprintf(leads, address)
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		return err
	}
	cmd := exec.Command(program, file)
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait() // a failure does not matter: flame has printed the address
	return nil
}

// opener returns the program with which the person's desktop opens files.
func opener() (string, error) {
	if runtime.GOOS == "darwin" {
		return exec.LookPath("open")
	}
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return "", errors.New("there is no desktop")
	}
	return exec.LookPath("xdg-open")
}
