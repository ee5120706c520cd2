//! Schemas of arguments and results: made from the types, checked before use, enforced on every call.

use std::collections::BTreeMap;

use jsonschema::error::ValidationErrorKind;
use serde_json::{Value, json};
use wire::contract::Route;
use wire::{Code, Error, ToolContract};

use crate::bounds;

/// The JSON Schema of a type, without titles and with references resolved in place where it is small.
pub(super) fn of<T: schemars::JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    let mut schema = schema.to_value();
    tighten(&mut schema);
    schema
}

/// Removes what a planner pays for and does not need: titles, formats of integers, nulls of optional members.
fn tighten(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            let integer = members.get("type").is_some_and(|t| t == "integer" || is_optional(t));
            if integer {
                members.remove("format");
            }
            let says_nothing = |default: &Value| match default {
                Value::Null => true,
                Value::Object(members) => members.values().all(Value::is_null),
                Value::Array(items) => items.is_empty(),
                _ => default == &Value::Bool(false),
            };
            if members.get("default").is_some_and(says_nothing) {
                members.remove("default");
            }
            if let Some(Value::Array(values)) = members.get_mut("enum") {
                values.retain(|value| !value.is_null());
            }
            if let Some(Value::Array(types)) = members.get("type")
                && let [one, Value::String(null)] = types.as_slice()
                && null == "null"
            {
                let one = one.clone();
                members.insert("type".to_owned(), one);
            }
            members.values_mut().for_each(tighten);
        }
        Value::Array(items) => items.iter_mut().for_each(tighten),
        _ => {}
    }
}

fn is_optional(kind: &Value) -> bool {
    kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "integer"))
}

/// The result schema as the planner sees it: routed fields, and the status that every answer carries.
pub(super) fn planner_part(result: &Value, routes: &BTreeMap<String, Route>) -> Value {
    let shown = |name: &String| routes.get(name) == Some(&Route::Planner);
    let mut properties =
        result.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    properties.retain(|name, _| shown(name));
    let mut result = json!({ "type": "object", "properties": properties });
    loosen(&mut result);
    json!({
        "type": "object",
        "properties": {
            "status": { "type": "string" },
            "receipt_id": { "type": "string" },
            "error": { "type": "object" },
            "truncation": { "type": "array" },
            "result": result,
        },
        "required": ["status", "receipt_id"],
    })
}

/// Leaves the shape alone: bounds are for a validator of arguments, and a result explains itself when it is there.
fn loosen(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.retain(|name, value| {
                let bound = matches!(name.as_str(), "minimum" | "maximum") && value.is_number();
                let prose = name == "description" && value.is_string();
                let list = name == "required" && value.is_array();
                let open = name == "additionalProperties" && value == &Value::Bool(true);
                let any = name == "items" && value == &Value::Bool(true);
                !(bound || prose || list || open || any)
            });
            members.values_mut().for_each(loosen);
        }
        Value::Array(items) => items.iter_mut().for_each(loosen),
        _ => {}
    }
}

/// Whether a contract can be enforced as it stands.
pub(super) fn check_contract(contract: &ToolContract, result: &Value) -> Result<(), String> {
    let named = contract.name.len() <= 64
        && contract.name.starts_with(|c: char| c.is_ascii_lowercase())
        && contract.name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    if !named {
        return Err("the name must be `[a-z][a-z0-9_]{0,63}`".to_owned());
    }
    if contract.arguments_schema.get("additionalProperties") != Some(&Value::Bool(false)) {
        return Err("the arguments must refuse unknown members".to_owned());
    }
    if contract.default_timeout_ms == 0 || contract.default_timeout_ms > contract.max_timeout_ms {
        return Err("the default timeout must lie between 1 ms and the greatest timeout".to_owned());
    }
    if contract.max_output_bytes < bounds::MIN_OUTPUT_BYTES {
        let least = bounds::MIN_OUTPUT_BYTES;
        return Err(format!("the greatest output must be at least {least} bytes"));
    }
    let Some(fields) = result.get("properties").and_then(Value::as_object) else {
        return Err("the result must be an object with named fields".to_owned());
    };
    if let Some(field) = fields.keys().find(|field| !contract.routes.contains_key(*field)) {
        return Err(format!("the result's `{field}` has no route"));
    }
    if let Some(field) = contract.routes.keys().find(|field| !fields.contains_key(*field)) {
        return Err(format!("the route of `{field}` has no field in the result"));
    }
    Ok(())
}

/// A schema, compiled once.
pub(super) struct Compiled(jsonschema::Validator);

impl Compiled {
    pub(super) fn new(schema: &Value) -> Result<Compiled, String> {
        jsonschema::draft202012::new(schema).map(Compiled).map_err(|error| error.to_string())
    }

    /// Holds a value against the schema; the first fault is told.
    pub(super) fn check(&self, arguments: &Value) -> Result<(), Error> {
        let Some(fault) = self.0.iter_errors(arguments).next() else {
            return Ok(());
        };
        let at = format!("/arguments{}", fault.instance_path());
        let error = match fault.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                let name = unexpected.first().map_or("", String::as_str);
                let shown: String = name.chars().take(64).collect();
                Error::new(Code::UnknownField, format!("`{shown}` is not an argument of this tool"))
                    .at(&format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")))
                    .with("schema_path", fault.schema_path().to_string())
            }
            ValidationErrorKind::Required { property } => {
                let message = format!("{property} is required");
                Error::new(Code::InvalidArguments, message).at(&at)
            }
            _ => {
                let text: String =
                    fault.masked_with("the value").to_string().chars().take(240).collect();
                Error::new(Code::InvalidArguments, text).at(&at)
            }
        };
        Err(error)
    }
}
