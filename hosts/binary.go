package hosts

import (
	"fmt"
	"os"
	"path/filepath"
)

// Binary returns where flame is installed for its hosts, so that they find it
// whatever their PATH is.
func (m Machine) Binary() string {
	return filepath.Join(m.Home, ".local", "bin", "flame")
}

// InstallBinary plans to copy the program at source (a path, as from
// os.Executable) to Binary.
func (m Machine) InstallBinary(source string) ([]Step, error) {
	if Same(source, m.Binary()) {
		return nil, nil
	}
	program, err := os.ReadFile(source)
	if err != nil {
		return nil, fmt.Errorf("read this program: %w", err)
	}
	return m.Files(User).Write(m.Binary(), program, 0o755)
}

// RemoveBinary plans to delete it, for when no host that starts it is left.
func (m Machine) RemoveBinary() []Step {
	return m.Files(User).Remove(m.Binary(), filepath.Dir(m.Binary()))
}
