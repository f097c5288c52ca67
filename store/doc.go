// Package store keeps a project in one SQLite file: its frames, sessions,
// events, deadlines and records. Several processes use that file at once; what
// Update acknowledged is on disk. The rules stay in core and project: SQL never
// knows them.
package store
