// Package disk is the database on disk: who may open the data folder and what
// is in the file's header, the lock that orders the writers of all processes,
// connections to SQLite and their transactions, the write-ahead log, and
// flame's own log. It knows no table: the content belongs to store.
package disk
