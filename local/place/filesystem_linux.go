package place

import "syscall"

// The magic numbers of statfs(2).
var filesystems = map[uint32]string{
	0x6969:     "NFS",
	0x517B:     "SMB",
	0xFE534D42: "SMB",
	0xFF534D42: "SMB",
	0x01021997: "9p",
	0x65735546: "FUSE",
	0x01021994: "memory", // tmpfs
	0x858458F6: "memory", // ramfs
}

// filesystemOf returns the name of dir's file system; empty unless filesystems has it.
func filesystemOf(dir string) (string, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return "", err
	}
	return filesystems[uint32(st.Type)], nil
}
