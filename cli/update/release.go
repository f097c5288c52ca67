// Package update replaces flame's program by that of another release. It trusts what the list of
// SHA-256 sums says, and nothing else of what a folder or server offers.
package update

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"flame/config/env"
	"flame/core"
)

// Sums is the name of the list of SHA-256 sums in a release, as sha256sum writes it.
const Sums = "SHA256SUMS"

// The greatest sizes that a release may have, in bytes; its files have about a fifth of that.
const (
	maxSums    = 64 << 10
	maxArchive = 64 << 20
	maxProgram = 128 << 20
)

// Archive returns the name of the archive of a version for a system.
func Archive(version, os, arch string) string {
	return fmt.Sprintf("flame_%s_%s_%s.tar.gz", version, os, arch)
}

// A Release is what a folder or a server offers for one system.
type Release struct {
	Version string
	archive string // its name
	sum     string // SHA-256, in hexadecimal
	from    source
}

// Find reads the list of a release for a system. From is a folder or an https URL; the empty string
// stands for the place where flame is published.
func Find(ctx context.Context, from, os, arch string) (Release, error) {
	if from == "" {
		from = env.Releases
	}
	if from == "" {
		return Release{}, core.NotFoundf("flame has no public address yet, so there is nowhere to look for a release").
			WithHint("name a folder or an https URL with the files of a release: `flame update --from PLACE`")
	}
	files, err := sourceOf(from)
	if err != nil {
		return Release{}, err
	}
	list, err := files.read(ctx, Sums, maxSums)
	if err != nil {
		return Release{}, err
	}
	name := strings.ReplaceAll(regexp.QuoteMeta(Archive("VERSION", os, arch)), "VERSION", `([0-9][0-9A-Za-z.+-]{0,99})`)
	line := regexp.MustCompile(`(?m)^([0-9a-f]{64}) [ *](` + name + `)$`)
	found := line.FindAllStringSubmatch(string(list), 2)
	switch len(found) {
	case 0:
		return Release{}, core.NotFoundf("%s lists no release for %s %s", files.at(Sums), os, arch).
			WithHint("`flame version` prints the system of this program; name another place, or build flame from its source")
	case 1:
		return Release{Version: found[0][3], archive: found[0][2], sum: found[0][1], from: files}, nil
	}
	return Release{}, core.Invalidf("%s lists several releases", files.at(Sums)).WithHint("name a place with the files of one release")
}

// Program returns the program in the release's archive. An archive that is not the listed one is
// ErrInvalid, and none of it is unpacked.
func (r Release) Program(ctx context.Context) ([]byte, error) {
	packed, err := r.from.read(ctx, r.archive, maxArchive)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(packed); hex.EncodeToString(sum[:]) != r.sum {
		return nil, core.Invalidf("%s is damaged or was changed: its SHA-256 is %x, and %s says %s", r.from.at(r.archive), sum, Sums, r.sum).
			WithHint("nothing was changed; try again, and do not use that file")
	}
	program, err := unpack(packed, strings.TrimSuffix(r.archive, ".tar.gz")+"/flame")
	if err != nil {
		return nil, core.Invalidf("%s: %v", r.from.at(r.archive), err).WithHint("nothing was changed; name another release")
	}
	return program, nil
}
