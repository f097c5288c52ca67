package changes

import (
	"strconv"
	"strings"

	"flame/core"
)

// header begins what a patch of git's says of one file.
const header = "diff --git "

// Split returns what a patch of git's, as Keep writes it, does to each file. Of one that
// is not text it has no lines. Where the patch was cut, the last file's may lack some.
func Split(patch string, cut bool) (all []core.FileChange) {
	var now *core.FileChange
	var text strings.Builder
	inside := false
	end := func() {
		if now != nil {
			now.Patch = text.String()
			all = append(all, *now)
		}
		now, inside = nil, false
		text.Reset()
	}
	for line := range strings.Lines(patch) {
		whole := strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, header):
			end()
			if path := pathIn(strings.TrimPrefix(whole, header)); path != "" {
				now = &core.FileChange{Path: path, Kind: core.FileModified}
			}
		case now == nil:
		case strings.HasPrefix(line, "@@ "):
			inside = true
			text.WriteString(whole + "\n")
		case inside:
			count(now, line)
			text.WriteString(whole + "\n")
		case strings.HasPrefix(line, "new file mode "):
			now.Kind = core.FileAdded
		case strings.HasPrefix(line, "deleted file mode "):
			now.Kind = core.FileDeleted
		}
	}
	if end(); cut && len(all) > 0 {
		all[len(all)-1].Cut = true
	}
	return all
}

// count counts a line of a hunk.
func count(change *core.FileChange, line string) {
	switch line[0] {
	case '+':
		change.Added++
	case '-':
		change.Removed++
	}
}

// pathIn returns the path in a header, which has it twice, with a letter before each;
// empty if it has not. Where it has to, git quotes it as Go does.
func pathIn(names string) string {
	half := len(names) / 2
	if len(names)%2 == 0 || names[half] != ' ' {
		return ""
	}
	name := names[:half]
	if strings.HasPrefix(name, `"`) {
		plain, err := strconv.Unquote(name)
		if err != nil {
			return ""
		}
		name = plain
	}
	path, found := strings.CutPrefix(name, "a/")
	if !found {
		return ""
	}
	return strings.ToValidUTF8(path, "\uFFFD")
}
