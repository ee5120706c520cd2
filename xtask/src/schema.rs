//! `docs/schema`: the published JSON Schemas, generated from the types of `wire` and never edited.

use std::fs;
use std::path::Path;

use crate::{Error, Finding, Report};

const FOLDER: &str = "docs/schema";

/// Writes every document.
///
/// # Errors
/// [`Error`] when the folder cannot be written.
pub fn write(root: &Path) -> Result<Report, Error> {
    let folder = root.join(FOLDER);
    fs::create_dir_all(&folder).map_err(|error| Error::new(FOLDER, error))?;
    let documents = wire::schema::documents();
    for (name, _) in &documents {
        let text = text(name);
        fs::write(folder.join(name), text).map_err(|error| Error::new(*name, error))?;
    }
    Ok(Report { summary: format!("{} documents written", documents.len()), findings: Vec::new() })
}

/// Holds the documents against the types.
///
/// # Errors
/// None; a document that cannot be read is a finding.
pub fn check(root: &Path) -> Result<Report, Error> {
    let documents = wire::schema::documents();
    let stale = documents.iter().filter(|(name, _)| {
        fs::read_to_string(root.join(FOLDER).join(name)).ok().as_deref() != Some(&text(name))
    });
    let findings = stale
        .map(|(name, _)| {
            let path = format!("{FOLDER}/{name}");
            Finding::new(&path, 1, "is not what the types say; run `cargo xtask schema`")
        })
        .collect();
    Ok(Report { summary: format!("{} documents", documents.len()), findings })
}

fn text(name: &str) -> String {
    let documents = wire::schema::documents();
    let document = documents.iter().find(|(known, _)| *known == name);
    document.map_or_else(String::new, |(_, value)| format!("{value:#}\n"))
}
