-- The tables of the index of a batch.
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (
    path BLOB PRIMARY KEY, size INTEGER, modified INTEGER, place TEXT, head BLOB
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS jobs (
    files BLOB PRIMARY KEY, rules TEXT, counts BLOB, seconds REAL, final INTEGER, tables BLOB
);
CREATE TABLE IF NOT EXISTS states (
    path BLOB PRIMARY KEY, rules TEXT, kept BLOB
);
