-- Tokens of a frame's usage whose price is not known: cost_usd lacks them.
ALTER TABLE frames ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
