-- Those who look at the tree all the time ask for what was written since they last did.
ALTER TABLE frames ADD COLUMN revision INTEGER NOT NULL DEFAULT 0; -- of meta, when the row was last written
CREATE INDEX frames_revision ON frames (revision);

-- Of the revision only; older binaries raise it without writing it into rows, and leave
-- these as they are.
-- stamped:   the value that was last raised by one who writes it into rows.
-- unstamped: the last value before that which was raised by one who does not.
ALTER TABLE meta ADD COLUMN stamped   INTEGER NOT NULL DEFAULT 0;
ALTER TABLE meta ADD COLUMN unstamped INTEGER NOT NULL DEFAULT 0;
UPDATE meta SET stamped = value, unstamped = value WHERE name = 'revision';
