package hosts

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
)

// SetBy returns a file among the settings that came with a machine's project that may set
// an environment variable for the processes of a host; it is empty if none does. Hosts read
// settings in the folders that they were started in, and above these, too.
func (r Registry) SetBy(m Machine, started []string, variable string) string {
	for _, dir := range foldersOf(m.ProjectDir, started) {
		in := m.At(dir)
		if in.Files(Project) == in.Files(User) {
			continue // these are the user's own
		}
		for _, h := range r {
			if h.SetsVariable == nil {
				continue
			}
			if file := h.SetsVariable(in, variable); file != "" {
				return file
			}
		}
	}
	return ""
}

// Foreign returns those of a project's folders whose settings are not the user's own, as
// they are where the user's home is the project.
func (r Registry) Foreign(m Machine, dirs ...string) (foreign []string) {
	for _, dir := range dirs {
		if in := m.At(dir); in.Files(Project) != in.Files(User) {
			foreign = append(foreign, dir)
		}
	}
	return foreign
}

// SetByProject is SetBy for each of these folders of a project, and hosts that were started
// where this process was.
func (r Registry) SetByProject(m Machine, dirs []string, variable string) string {
	started := []string{r.Folder(os.Getenv)}
	if here, err := os.Getwd(); err == nil {
		started = append(started, here)
	}
	for _, dir := range dirs {
		if file := r.SetBy(m.At(dir), started, variable); file != "" {
			return file
		}
	}
	return ""
}

// foldersOf returns a project's folder, those that hosts were started in, and those between.
func foldersOf(project string, started []string) []string {
	folders := []string{project}
	for _, dir := range started {
		if !filepath.IsAbs(dir) {
			continue
		}
		folders = append(folders, dir)
		for rel, err := filepath.Rel(project, dir); err == nil && filepath.IsLocal(rel) && rel != "."; rel = filepath.Dir(rel) {
			folders = append(folders, filepath.Join(project, rel))
		}
	}
	return folders
}

// Naming returns the first of a project's files that has a member of this name anywhere in
// it, as `env` of a server or of all processes. One that cannot be read may have it. plain
// turns a file into JSON.
func (m Machine) Naming(files []string, plain func([]byte) []byte, name string) string {
	for _, file := range files {
		content, err := m.Files(Project).Read(file)
		if IsMissing(err) || err == nil && len(bytes.TrimSpace(content)) == 0 {
			continue
		}
		var document any
		if err != nil || json.Unmarshal(plain(content), &document) != nil || hasMember(document, name) {
			return file
		}
	}
	return ""
}

// hasMember reports whether a document has a member of this name, however deep.
func hasMember(document any, name string) bool {
	switch part := document.(type) {
	case map[string]any:
		for key, value := range part {
			if key == name || hasMember(value, name) {
				return true
			}
		}
	case []any:
		for _, value := range part {
			if hasMember(value, name) {
				return true
			}
		}
	}
	return false
}
