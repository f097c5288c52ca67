package project

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"flame/core"
)

// A Stamp says who makes one call of one of flame's tools. Its proof says that a hook of flame's
// made it for this call: only a hook and flame's servers know the project's StampKey.
type Stamp struct {
	Session string
	Agent   string // id of the subagent in Session; empty for the session itself
	Tool    string // name of the tool, without the host's prefix
	Call    string // the host's id of the call, which the host also sends to the server; empty: it sends none
}

// of returns a code that only holders of the key can make of these texts.
func (k StampKey) of(texts ...string) []byte {
	code := hmac.New(sha256.New, k)
	for _, text := range texts { // with its length, so that no two lists look the same
		code.Write([]byte(strconv.Itoa(len(text)) + ":" + text))
	}
	return code.Sum(nil)
}

// Within returns the key for the stamps of one process of a host.
func (k StampKey) Within(host Process) StampKey { return k.of("flame host 1", host.id()) }

// prove returns a stamp's proof, which begins with the text that makes it unique. flame.js makes
// the same.
func (k StampKey) prove(s Stamp, unique string) string {
	code := k.of("flame stamp 1", s.Session, s.Agent, s.Tool, unique)
	return unique + "." + base64.RawURLEncoding.EncodeToString(code)
}

// How the text begins that makes a proof unique: the process that started the hook, in front of a
// random text, as models repeat ids of calls, and the host's id of the call; or, in front of a random
// text, that the key is that of the host's process.
const (
	hostKeyed = "host"
	uniqueSep = "-"
)

// caller returns the caller that the stamp names. A subagent is a session of its own, whose parent
// is the session it runs in.
func (s Stamp) caller(by Caller) Caller {
	by.Session, by.Parent, by.Trust = cmp.Or(s.Agent, s.Session), "", TrustHook
	if s.Agent != "" {
		by.Parent = s.Session
	}
	return by
}

// CallerOf returns the caller that a stamp names, if proof belongs to it; ok is false otherwise. Only
// a server that a host runs believes stamps: other clients could repeat one, with the id of its
// call. If the host sends no id, the hook must have run below the same process of the host as this
// server. A proof may be used once, which is up to the server.
func (p *Project) CallerOf(ctx context.Context, by Caller, s Stamp, proof string) (named Caller, ok bool) {
	end := strings.LastIndexByte(proof, '.')
	if s.Session == "" || end < 0 || p.StampKey == nil || p.HostProcess == nil {
		return by, false
	}
	key, err := p.StampKey(ctx, false)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) { // no hook ran
			p.Log.Error("flame believes no hook about who calls", "error", err)
		}
		return by, false
	}
	from, text, _ := strings.Cut(proof[:end], uniqueSep)
	_, call, _ := strings.Cut(text, uniqueSep)
	switch {
	case from == hostKeyed:
		host := p.HostProcess()
		if host == (Process{}) {
			return by, false
		}
		key = key.Within(host)
	case s.Call != "" && call != s.Call, s.Call == "" && from != strconv.Itoa(os.Getppid()):
		return by, false
	}
	if !hmac.Equal([]byte(key.prove(s, proof[:end])), []byte(proof)) {
		return by, false
	}
	return s.caller(by), true
}

// ProveStamp returns the proof of a stamp.
func (p *Project) ProveStamp(ctx context.Context, s Stamp) (string, error) {
	key, err := p.stampKey(ctx)
	if err != nil {
		return "", err
	}
	return key.prove(s, strings.Join([]string{strconv.Itoa(os.Getppid()), rand.Text(), s.Call}, uniqueSep)), nil
}

// HostKey returns the key for the stamps of the process of the host that runs this one.
func (p *Project) HostKey(ctx context.Context) (StampKey, error) {
	host := p.announcer()
	if host == (Process{}) {
		return nil, errNoStampKey
	}
	key, err := p.stampKey(ctx)
	if err != nil {
		return nil, err
	}
	return key.Within(host), nil
}

// stampKey returns the project's key, which it makes if there is none.
func (p *Project) stampKey(ctx context.Context) (StampKey, error) {
	if p.StampKey == nil {
		return nil, errNoStampKey
	}
	return p.StampKey(ctx, true)
}

var errNoStampKey = core.Unavailablef(nil, "this process cannot name the caller of a call")
