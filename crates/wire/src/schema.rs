//! The published JSON Schemas, generated from the types (E1).

use serde_json::Value;

use crate::call::{Proposal, ToolCall};
use crate::contract::ToolContract;
use crate::error::Code;
use crate::receipt::Receipt;

/// Every published document: file name and content. `docs/schema` holds exactly these.
#[must_use]
pub fn documents() -> Vec<(&'static str, Value)> {
    vec![
        ("proposal.v1.json", schema_of::<Proposal>("proposal.v1")),
        ("receipt.v1.json", schema_of::<Receipt>("receipt.v1")),
        ("tool-call.v1.json", schema_of::<ToolCall>("tool-call.v1")),
        ("tool-contract.v1.json", schema_of::<ToolContract>("tool-contract.v1")),
        ("error-codes.json", error_codes()),
    ]
}

/// The JSON Schema 2020-12 of a type.
#[must_use]
pub fn schema_of<T: schemars::JsonSchema>(title: &str) -> Value {
    let mut schema = schemars::SchemaGenerator::default().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}

fn error_codes() -> Value {
    let row = |code: &Code| {
        serde_json::json!({
            "code": code.as_str(),
            "meaning": code.meaning().trim(),
            "next": code.next(),
        })
    };
    Code::ALL.iter().map(row).collect()
}
