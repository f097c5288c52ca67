-- Frames of other machines (see docs/machines.md); empty: this one's.
ALTER TABLE frames ADD COLUMN machine TEXT NOT NULL DEFAULT '';
