package place

import "syscall"

// The type names of statfs(2).
var filesystems = map[string]string{
	"nfs":     "NFS",
	"smbfs":   "SMB",
	"afpfs":   "AFP",
	"webdav":  "WebDAV",
	"9p":      "9p",
	"macfuse": "FUSE",
	"osxfuse": "FUSE",
	"fusefs":  "FUSE",
}

// filesystemOf returns the name of dir's file system; empty unless filesystems has it.
func filesystemOf(dir string) (string, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return "", err
	}
	var name []byte
	for _, c := range st.Fstypename {
		if c == 0 {
			break
		}
		name = append(name, byte(c))
	}
	return filesystems[string(name)], nil
}
