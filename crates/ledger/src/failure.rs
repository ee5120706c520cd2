//! Why one request to the storage failed. Callers outside see it as the text of a `JournalError`.

use engine::ports::JournalError;

/// What went wrong inside one request.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// SQLite refused or could not.
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    /// A stored text is not what was written.
    #[error("a stored record cannot be read, run `chancery receipts verify`: {0}")]
    Record(#[from] serde_json::Error),
    /// A stored digest is not one.
    #[error("a stored digest cannot be read, run `chancery receipts verify`: {0}")]
    Digest(#[from] wire::digest::InvalidDigest),
    /// A value has no canonical form.
    #[error("{0}")]
    NotCanonical(#[from] wire::digest::NotCanonical),
    /// A file of the state directory could not be used.
    #[error("{0}")]
    Files(#[from] std::io::Error),
    /// The request's code panicked; nothing of it was stored.
    #[error("the request has a defect and was not stored")]
    Panicked,
}

impl Failure {
    /// The same failure as the port speaks of it.
    pub(crate) fn while_doing(self, doing: &'static str) -> JournalError {
        JournalError { doing, reason: self.to_string() }
    }
}
