-- The tables of the index of the memory, beside those of a batch.
CREATE TABLE IF NOT EXISTS sessions (
    id INTEGER PRIMARY KEY, key TEXT UNIQUE, session TEXT, path TEXT, project TEXT, branch TEXT,
    title TEXT, format TEXT, started TEXT, ended TEXT, failure TEXT, reason TEXT
);
CREATE INDEX IF NOT EXISTS by_project ON sessions (project);
CREATE TABLE IF NOT EXISTS session_files (
    path BLOB, session INTEGER, job BLOB, PRIMARY KEY (path, session)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blocks (
    id INTEGER PRIMARY KEY, session INTEGER, kind TEXT, speaker TEXT, count INTEGER, data BLOB
);
CREATE INDEX IF NOT EXISTS by_session ON blocks (session);
CREATE TABLE IF NOT EXISTS edits (
    id INTEGER PRIMARY KEY, session INTEGER, path TEXT, count INTEGER, data BLOB
);
CREATE INDEX IF NOT EXISTS edits_by_path ON edits (path);
CREATE INDEX IF NOT EXISTS edits_by_session ON edits (session);
CREATE TABLE IF NOT EXISTS renames (
    session INTEGER, path TEXT, before TEXT, PRIMARY KEY (session, path, before)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS terms USING fts5(
    words, content='', tokenize="unicode61 remove_diacritics 0 tokenchars '._-/$'"
);
