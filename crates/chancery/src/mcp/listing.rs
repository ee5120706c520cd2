//! A tool's contract as MCP lists it.
//!
//! Annotations follow from the contract's effect class alone, never from its text (R2).

use std::sync::Arc;

use rmcp::model::{MetaObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};
use wire::ToolContract;
use wire::contract::{EffectClass, Reversibility};

/// The tool of a contract.
pub(super) fn tool(contract: &ToolContract) -> Tool {
    let mut meta = Map::new();
    meta.insert("chancery/effect".to_owned(), json!(contract.effect));
    meta.insert("chancery/version".to_owned(), json!(contract.version));
    if let Ok(digest) = contract.digest() {
        meta.insert("chancery/contract".to_owned(), json!(digest));
    }
    Tool::new(
        contract.name.clone(),
        contract.description.clone(),
        schema(&contract.arguments_schema),
    )
    .with_title(contract.title.clone())
    .with_raw_output_schema(schema(&contract.result_schema))
    .with_annotations(annotations(contract))
    .with_meta(MetaObject(meta))
}

/// All four hints, said outright: a client takes what is left unsaid for the worst.
fn annotations(contract: &ToolContract) -> ToolAnnotations {
    let read_only = contract.effect == EffectClass::Read;
    let destructive = match contract.effect {
        EffectClass::Read => false,
        EffectClass::WriteFiles => contract.reversibility == Reversibility::Irreversible,
        EffectClass::Execute => true,
    };
    ToolAnnotations::with_title(contract.title.clone())
        .read_only(read_only)
        .destructive(destructive)
        .idempotent(read_only)
        .open_world(false)
}

fn schema(schema: &Value) -> Arc<Map<String, Value>> {
    Arc::new(schema.as_object().cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::tests::fixture::contract;

    fn hints(effect: EffectClass, reversibility: Reversibility) -> Vec<bool> {
        let contract = ToolContract { effect, reversibility, ..contract("t") };
        let listed = tool(&contract);
        let listed = serde_json::to_value(listed).unwrap();
        ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]
            .map(|hint| listed["annotations"][hint].as_bool().unwrap())
            .to_vec()
    }

    #[test]
    fn r2_hints_follow_from_the_effect_class() {
        let read = hints(EffectClass::Read, Reversibility::NoEffect);
        assert_eq!(read, [true, false, true, false]);
        let undoable = hints(EffectClass::WriteFiles, Reversibility::Reversible);
        assert_eq!(undoable, [false, false, false, false]);
        let lasting = hints(EffectClass::WriteFiles, Reversibility::Irreversible);
        assert_eq!(lasting, [false, true, false, false]);
        let execute = hints(EffectClass::Execute, Reversibility::Irreversible);
        assert_eq!(execute, [false, true, false, false]);
    }

    #[test]
    fn r1_a_listed_tool_names_version_effect_and_contract() {
        let contract = contract("t");
        let listed = serde_json::to_value(tool(&contract)).unwrap();
        assert_eq!(listed["_meta"]["chancery/version"], contract.version);
        assert_eq!(listed["_meta"]["chancery/effect"], "read");
        assert_eq!(listed["_meta"]["chancery/contract"], contract.digest().unwrap().as_str());
        assert_eq!(listed["outputSchema"], contract.result_schema);
        assert_eq!(listed["inputSchema"], contract.arguments_schema);
    }
}
