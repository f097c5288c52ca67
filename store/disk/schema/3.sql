-- Cascades of invalidations that are under way: whatever is planned below such a
-- frame reads as invalidated, until all of it is stored so and the row goes.
CREATE TABLE cascades (
  frame    INTEGER PRIMARY KEY,
  seq      INTEGER NOT NULL, -- the first begun has the lowest
  at       INTEGER NOT NULL,
  reason   TEXT    NOT NULL, -- of the frames below
  session  INTEGER,
  subagent INTEGER,
  due      INTEGER NOT NULL,
  settled  INTEGER NOT NULL, -- number of frames
  reached  INTEGER NOT NULL  -- nothing is left to settle among the children of frames with keys up to this
);

-- Leads from any frame to what is planned directly below it, and to all that have such.
CREATE INDEX frames_planned ON frames (parent, archived_at) WHERE status = 'planned';
