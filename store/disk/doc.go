// Package disk is the database as it lies on the disk: who may open the data
// folder and what stands in the file's header, the lock that orders the writers of
// all processes, connections to SQLite and their transactions, the write-ahead log,
// and the log of what flame did. It knows no table: what is kept belongs to store.
package disk
