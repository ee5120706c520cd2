//! Finding a request's id in text that cannot be read as a whole.
//!
//! A wrong id would pair an answer with another request, so a doubt is no id.

use std::fmt;

use rmcp::model::RequestId;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

/// The id that a JSON value is: a string or an integer (MCP, base protocol).
pub(super) fn of_value(value: &Value) -> Option<RequestId> {
    match value {
        Value::String(text) => Some(RequestId::String(text.as_str().into())),
        Value::Number(number) => number.as_i64().map(RequestId::Number),
        _ => None,
    }
}

/// The `id` member of the object that begins here, as far as the object can be read; none if it stands twice.
pub(super) fn at_the_start(text: &[u8]) -> Option<RequestId> {
    let mut ids = Vec::new();
    // The error is expected: the text is refused already, and often cut.
    drop(serde_json::Deserializer::from_slice(text).deserialize_map(Members(&mut ids)));
    match ids.as_slice() {
        [id] => of_value(id),
        _ => None,
    }
}

/// The id of the object that ends here, when it is the object's last member, as many clients write it.
///
/// A quote right after a comma or an opening brace can only open a string: as the end of one, it could not be
/// followed by a letter. So in valid JSON this is a member of the outermost object.
pub(super) fn at_the_end(text: &[u8]) -> Option<RequestId> {
    const NAME: &[u8] = b"\"id\"";
    let inside = text.trim_ascii_end().strip_suffix(b"}")?;
    let at = inside.windows(NAME.len()).rposition(|window| window == NAME)?;
    let (before, after) = inside.split_at_checked(at)?;
    let opened = matches!(before.trim_ascii_end().last(), Some(b',' | b'{'));
    let id = after.strip_prefix(NAME)?.trim_ascii_start().strip_prefix(b":")?;
    if opened { of_value(&serde_json::from_slice(id).ok()?) } else { None }
}

struct Members<'a>(&'a mut Vec<Value>);

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            if name == "id" {
                self.0.push(members.next_value()?);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e10_an_id_is_found_at_the_start_and_only_when_it_is_one() {
        let found = |text: &str| at_the_start(text.as_bytes()).map(|id| id.to_string());
        assert_eq!(found(r#"{"jsonrpc":"2.0","id":7,"params":{"a":1,"a"#), Some("7".to_owned()));
        assert_eq!(found(r#"{"id":"x","params":{"id":9}"#), Some("x".to_owned()));
        assert_eq!(found(r#"{"params":{"id":9},"x":"#), None);
        assert_eq!(found(r#"{"id":1,"id":2}"#), None);
        assert_eq!(found(r#"{"id":null}"#), None);
        assert_eq!(found(r#"{"id":1.5}"#), None);
        assert_eq!(found("[1]"), None);
        assert_eq!(found(r#"{"a":"\ud800","id":3}"#), Some("3".to_owned()));
    }

    #[test]
    fn e10_an_id_is_found_at_the_end_and_not_inside_a_string() {
        let found = |text: &str| at_the_end(text.as_bytes()).map(|id| id.to_string());
        assert_eq!(found(r#"xxx"},"jsonrpc":"2.0","id":7}"#), Some("7".to_owned()));
        assert_eq!(found("xxx\"}, \"id\": \"a b\" }\r"), Some("a b".to_owned()));
        assert_eq!(found(r#"xxx","id":7}}"#), None);
        assert_eq!(found(r#"xxx\"id":7}"#), None);
        assert_eq!(found(r#"xxx,\"id\":7"}"#), None);
        assert_eq!(found(r#"x"id":7}"#), None);
    }
}
