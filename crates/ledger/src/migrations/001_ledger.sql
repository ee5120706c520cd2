-- Version 1. What is known about calls and their effects. Facts are only ever added: `attempts`, `receipts`,
-- `intents` and `answered` refuse every change. What is open right now is the one list that shrinks.

CREATE TABLE runtimes (
    runtime_id      TEXT PRIMARY KEY,
    name            TEXT NOT NULL,
    started_unix_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- An opening of a task by an attempt, and what it was granted; the first one says what the task pins.
CREATE TABLE attempts (
    sequence          INTEGER PRIMARY KEY,
    task_id           TEXT NOT NULL,
    attempt_id        TEXT NOT NULL,
    registry_revision TEXT NOT NULL,
    opened_unix_ms    INTEGER NOT NULL,
    record_json       TEXT NOT NULL
) STRICT;

CREATE INDEX attempts_by_task ON attempts (task_id);

-- `sequence` is the order of storing and has no gaps, so a removed row shows.
CREATE TABLE receipts (
    sequence          INTEGER PRIMARY KEY,
    receipt_id        TEXT NOT NULL UNIQUE,
    task_id           TEXT NOT NULL,
    call_id           TEXT NOT NULL,
    attempt_id        TEXT NOT NULL,
    logical_effect_id TEXT NOT NULL,
    idempotency_key   TEXT,
    tool              TEXT NOT NULL,
    tool_version      TEXT,
    status            TEXT NOT NULL,
    error_code        TEXT,
    effect            TEXT,
    arguments_digest  TEXT NOT NULL,
    action_digest     TEXT,
    received_unix_ms  INTEGER NOT NULL,
    finished_unix_ms  INTEGER NOT NULL,
    planner_bytes     INTEGER NOT NULL,
    planner_tokens    INTEGER NOT NULL,
    owns_call_id      INTEGER NOT NULL CHECK (owns_call_id IN (0, 1)),
    owns_key          INTEGER NOT NULL CHECK (owns_key IN (0, 1)),
    reconciles        TEXT REFERENCES receipts (receipt_id),
    arguments_json    TEXT,
    receipt_json      TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX receipts_one_per_call ON receipts (task_id, call_id) WHERE owns_call_id = 1;
CREATE UNIQUE INDEX receipts_one_per_key ON receipts (task_id, idempotency_key) WHERE owns_key = 1;
CREATE UNIQUE INDEX receipts_one_reconciliation ON receipts (reconciles) WHERE reconciles IS NOT NULL;
CREATE INDEX receipts_by_effect ON receipts (task_id, logical_effect_id);
CREATE INDEX receipts_unsuccessful ON receipts (task_id, tool, arguments_digest)
    WHERE status IN ('failed', 'denied', 'rejected');
CREATE INDEX receipts_successful ON receipts (task_id)
    WHERE status IN ('succeeded', 'partial') AND effect <> 'read';
CREATE INDEX receipts_refused_repeats ON receipts (task_id) WHERE error_code = 'repeated_call';
CREATE INDEX receipts_ambiguous ON receipts (task_id, action_digest) WHERE status = 'ambiguous';

CREATE TABLE intents (
    sequence          INTEGER PRIMARY KEY,
    task_id           TEXT NOT NULL,
    logical_effect_id TEXT NOT NULL,
    call_id           TEXT NOT NULL,
    idempotency_key   TEXT,
    tool              TEXT NOT NULL,
    arguments_digest  TEXT NOT NULL,
    action_digest     TEXT NOT NULL,
    started_unix_ms   INTEGER NOT NULL,
    intent_json       TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX intents_one_per_effect ON intents (task_id, logical_effect_id);
CREATE UNIQUE INDEX intents_one_per_call ON intents (task_id, call_id);
CREATE UNIQUE INDEX intents_one_per_key ON intents (task_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;

-- An intent is open while it stands here, and belongs to the runtime that answers for it.
CREATE TABLE open_intents (
    intent        INTEGER PRIMARY KEY REFERENCES intents (sequence),
    task_id       TEXT NOT NULL,
    action_digest TEXT NOT NULL,
    runtime_id    TEXT NOT NULL REFERENCES runtimes (runtime_id)
) STRICT;

CREATE INDEX open_intents_by_action ON open_intents (task_id, action_digest);
CREATE INDEX open_intents_by_runtime ON open_intents (runtime_id);

-- A call that was answered with the receipt of another.
CREATE TABLE answered (
    task_id    TEXT NOT NULL,
    call_id    TEXT NOT NULL,
    receipt_id TEXT NOT NULL REFERENCES receipts (receipt_id),
    PRIMARY KEY (task_id, call_id)
) STRICT, WITHOUT ROWID;

-- The state of a file that the task was last shown; no digest means it was shown to be gone. `since` is the receipt
-- that showed this state first.
CREATE TABLE observed (
    task_id TEXT NOT NULL,
    path    TEXT NOT NULL,
    digest  TEXT,
    since   INTEGER NOT NULL REFERENCES receipts (sequence),
    PRIMARY KEY (task_id, path)
) STRICT, WITHOUT ROWID;

CREATE INDEX observed_by_news ON observed (task_id, since);

-- A person looked at the task when this was the last receipt.
CREATE TABLE looks (
    look           INTEGER PRIMARY KEY,
    task_id        TEXT NOT NULL,
    after_sequence INTEGER NOT NULL,
    at_unix_ms     INTEGER NOT NULL
) STRICT;

CREATE INDEX looks_by_task ON looks (task_id, after_sequence);

-- Which receipts name a stored content.
CREATE TABLE artifacts (
    digest     TEXT NOT NULL,
    receipt    INTEGER NOT NULL REFERENCES receipts (sequence),
    name       TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    media_type TEXT NOT NULL,
    PRIMARY KEY (digest, receipt, name)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER receipts_are_not_changed BEFORE UPDATE ON receipts
BEGIN SELECT RAISE(ABORT, 'a receipt is never changed'); END;

CREATE TRIGGER receipts_are_not_removed BEFORE DELETE ON receipts
BEGIN SELECT RAISE(ABORT, 'a receipt is never removed'); END;

-- INSERT OR REPLACE removes without asking the trigger above.
CREATE TRIGGER receipts_are_not_replaced BEFORE INSERT ON receipts
WHEN EXISTS (SELECT 1 FROM receipts WHERE sequence = NEW.sequence)
    OR EXISTS (SELECT 1 FROM receipts WHERE receipt_id = NEW.receipt_id)
    OR (NEW.owns_call_id = 1 AND EXISTS (
        SELECT 1 FROM receipts
        WHERE task_id = NEW.task_id AND call_id = NEW.call_id AND owns_call_id = 1))
    OR (NEW.owns_key = 1 AND EXISTS (
        SELECT 1 FROM receipts
        WHERE task_id = NEW.task_id AND idempotency_key = NEW.idempotency_key AND owns_key = 1))
    OR (NEW.reconciles IS NOT NULL AND EXISTS (
        SELECT 1 FROM receipts WHERE reconciles = NEW.reconciles AND reconciles IS NOT NULL))
BEGIN SELECT RAISE(ABORT, 'a receipt is never replaced'); END;

CREATE TRIGGER attempts_are_not_changed BEFORE UPDATE ON attempts
BEGIN SELECT RAISE(ABORT, 'an attempt is never changed'); END;

CREATE TRIGGER attempts_are_not_removed BEFORE DELETE ON attempts
BEGIN SELECT RAISE(ABORT, 'an attempt is never removed'); END;

CREATE TRIGGER intents_are_not_changed BEFORE UPDATE ON intents
BEGIN SELECT RAISE(ABORT, 'an intent is never changed'); END;

CREATE TRIGGER intents_are_not_removed BEFORE DELETE ON intents
BEGIN SELECT RAISE(ABORT, 'an intent is never removed'); END;

CREATE TRIGGER answered_is_not_changed BEFORE UPDATE ON answered
BEGIN SELECT RAISE(ABORT, 'an answer is never changed'); END;

CREATE TRIGGER answered_is_not_removed BEFORE DELETE ON answered
BEGIN SELECT RAISE(ABORT, 'an answer is never removed'); END;
