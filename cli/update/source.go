package update

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"flame/core"
	"flame/local/confine"
)

// A source holds the files of a release.
type source interface {
	// read returns a file of at most max bytes.
	read(ctx context.Context, name string, max int64) ([]byte, error)
	// at returns where a file is, for messages.
	at(name string) string
}

// sourceOf returns the folder or the server that a person named.
func sourceOf(place string) (source, error) {
	if !strings.Contains(place, "://") {
		path, err := filepath.Abs(place)
		return folder(path), err
	}
	base, err := url.Parse(place)
	if err != nil || base.Host == "" || !secure(base) {
		return nil, core.Invalidf("flame reads releases only from a folder or by https, not from %s", place).
			WithHint("name a folder, or a URL that begins with https://")
	}
	return server{*base}, nil
}

// secure reports whether the connection keeps others from changing what the server says.
func secure(at *url.URL) bool {
	ip := net.ParseIP(at.Hostname())
	return at.Scheme == "https" || at.Scheme == "http" && ip != nil && ip.IsLoopback()
}

// A folder is a source on this machine.
type folder string

func (f folder) at(name string) string { return filepath.Join(string(f), name) }

func (f folder) read(_ context.Context, name string, max int64) ([]byte, error) {
	content, err := confine.ReadFile(f.at(name), max)
	if err != nil {
		return nil, core.NotFoundf("%s cannot be read: %v", f.at(name), cause(err)).
			WithHint("name a folder with the archives of a release and their %s", Sums)
	}
	return content, nil
}

// A server is a source behind a URL.
type server struct{ base url.URL }

// The patience with a server, and how often it may send flame elsewhere.
const (
	downloadTime = 10 * time.Minute
	maxRedirects = 5
)

func (s server) at(name string) string { return s.base.JoinPath(name).Redacted() }

func (s server) read(ctx context.Context, name string, max int64) ([]byte, error) {
	client := http.Client{Timeout: downloadTime, CheckRedirect: func(next *http.Request, past []*http.Request) error {
		if len(past) > maxRedirects || !secure(next.URL) {
			return errors.New("it sends flame elsewhere too often, or to an address without https")
		}
		return nil
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base.JoinPath(name).String(), nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, s.unreached(name, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, core.NotFoundf("%s: the server answers %q", s.at(name), answer.Status).WithHint("check the address; nothing was changed")
	}
	content, err := io.ReadAll(io.LimitReader(answer.Body, max+1))
	switch {
	case err != nil:
		return nil, s.unreached(name, err)
	case int64(len(content)) > max:
		return nil, core.Invalidf("%s is larger than %d MB, so it is no file of flame's", s.at(name), max>>20)
	}
	return content, nil
}

func (s server) unreached(name string, err error) error {
	return core.Unavailablef(err, "%s cannot be read: %v", s.at(name), cause(err)).WithHint("nothing was changed; try again later")
}

// cause returns an error without the path or address, which the message has already.
func cause(err error) error {
	var web *url.Error
	var file *os.PathError
	switch {
	case errors.As(err, &web):
		return web.Err
	case errors.As(err, &file):
		return file.Err
	}
	return err
}

// unpack returns one file of an archive, by its name in it. It writes nothing, so other entries of
// a hostile archive have no effect.
func unpack(packed []byte, name string) ([]byte, error) {
	pressed, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	files := tar.NewReader(io.LimitReader(pressed, maxProgram+maxArchive))
	for {
		entry, err := files.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("it has no file %s", name)
		case err != nil:
			return nil, fmt.Errorf("it is damaged or too large: %w", err)
		case entry.Name != name:
			continue
		case entry.Typeflag != tar.TypeReg || entry.Size > maxProgram:
			return nil, fmt.Errorf("its %s is no program", name)
		}
		return io.ReadAll(files)
	}
}
