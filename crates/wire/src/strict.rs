//! JSON as the runtime accepts it: bounded, without duplicate members, without numbers that lose digits.
//!
//! Every refusal names where, as a JSON Pointer (RFC 6901). It never repairs its input.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::error::{Code, Error};

/// The greatest integer that every JSON implementation keeps exactly, 2^53 − 1 (RFC 8259, section 6).
pub const MAX_EXACT_INTEGER: u64 = (1 << 53) - 1;

/// The bounds that a message must stay inside.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Greatest size of the whole text.
    pub bytes: usize,
    /// Greatest nesting of arrays and objects.
    pub depth: usize,
}

/// Reads one JSON text.
///
/// # Errors
/// `message_too_large`, `invalid_unicode`, `malformed_json`, `message_too_deep`, `duplicate_field` or
/// `number_out_of_range`, with the pointer of the place where that is known.
pub fn parse(bytes: &[u8], bounds: Bounds) -> Result<Value, Error> {
    if bytes.len() > bounds.bytes {
        let message =
            format!("the message has {} bytes; {} are accepted", bytes.len(), bounds.bytes);
        return Err(Error::new(Code::MessageTooLarge, message));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let message = format!("the message is not UTF-8 at byte {}", error.valid_up_to());
        Error::new(Code::InvalidUnicode, message)
    })?;
    if has_lone_surrogate(text) {
        let message = "a string holds half of a surrogate pair (`\\uD800`–`\\uDFFF`)";
        return Err(Error::new(Code::InvalidUnicode, message));
    }
    let reader =
        Reader { depth: bounds.depth, pointer: RefCell::default(), refused: RefCell::default() };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let parsed = Seed { reader: &reader, depth: 0 }
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    parsed.map_err(|error| {
        reader.refused.into_inner().unwrap_or_else(|| {
            let at = format!("line {}, column {}", error.line(), error.column());
            let message = if error.is_eof() {
                format!("the JSON text ends too early, at {at}")
            } else {
                format!("the message is not JSON at {at}")
            };
            Error::new(Code::MalformedJson, message)
        })
    })
}

struct Reader {
    depth: usize,
    pointer: RefCell<Vec<String>>,
    refused: RefCell<Option<Error>>,
}

impl Reader {
    fn refuse<E: serde::de::Error>(&self, code: Code, message: String) -> E {
        let error = Error::new(code, message).at(&pointer(&self.pointer.borrow()));
        self.refused.replace(Some(error));
        E::custom("refused")
    }
}

fn pointer(segments: &[String]) -> String {
    segments.iter().fold(String::new(), |mut whole, segment| {
        whole.push('/');
        whole.push_str(&segment.replace('~', "~0").replace('/', "~1"));
        whole
    })
}

#[derive(Clone, Copy)]
struct Seed<'a> {
    reader: &'a Reader,
    depth: usize,
}

impl Seed<'_> {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth >= self.reader.depth {
            let message = format!("the message nests deeper than {} levels", self.reader.depth);
            return Err(self.reader.refuse(Code::MessageTooDeep, message));
        }
        Ok(Seed { depth: self.depth + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        self.exact(value.unsigned_abs(), Value::from(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        self.exact(value, Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        // An integer literal past 64 bits arrives here, already rounded.
        let past = value.abs() >= 9_007_199_254_740_992.0;
        self.exact(if past { u64::MAX } else { 0 }, Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut list = Vec::new();
        loop {
            self.reader.pointer.borrow_mut().push(list.len().to_string());
            let Some(item) = items.next_element_seed(inner)? else {
                break;
            };
            self.reader.pointer.borrow_mut().pop();
            list.push(item);
        }
        self.reader.pointer.borrow_mut().pop();
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            self.reader.pointer.borrow_mut().push(name.clone());
            if map.contains_key(&name) {
                let message = format!("`{name}` stands twice in one object");
                return Err(self.reader.refuse(Code::DuplicateField, message));
            }
            let value = members.next_value_seed(inner)?;
            self.reader.pointer.borrow_mut().pop();
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

impl Seed<'_> {
    fn exact<E: serde::de::Error>(self, magnitude: u64, value: Value) -> Result<Value, E> {
        if magnitude > MAX_EXACT_INTEGER {
            let message = format!("a number lies past ±{MAX_EXACT_INTEGER} and would lose digits");
            return Err(self.reader.refuse(Code::NumberOutOfRange, message));
        }
        Ok(value)
    }
}

/// Whether a `\u` escape names half a surrogate pair without its other half beside it.
fn has_lone_surrogate(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte != b'\\' {
            at += 1;
            continue;
        }
        match escape_at(bytes, at) {
            Some(0xD800..=0xDBFF) => match escape_at(bytes, at + 6) {
                Some(0xDC00..=0xDFFF) => at += 12,
                _ => return true,
            },
            Some(0xDC00..=0xDFFF) => return true,
            Some(_) => at += 6,
            None => at += 2,
        }
    }
    false
}

fn escape_at(bytes: &[u8], at: usize) -> Option<u32> {
    let hex = bytes.get(at..)?.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOUNDS: Bounds = Bounds { bytes: 4096, depth: 4 };

    fn refusal(text: &[u8]) -> (Code, Option<String>) {
        let error = parse(text, BOUNDS).unwrap_err();
        (error.code, error.pointer)
    }

    #[test]
    fn v2_refusals_name_their_code_and_place() {
        let at = |pointer: &str| Some(pointer.to_owned());
        assert_eq!(refusal(br#"{"a":{"b":1,"b":2}}"#), (Code::DuplicateField, at("/a/b")));
        assert_eq!(refusal(br#"{"a":1,"\u0061":2}"#), (Code::DuplicateField, at("/a")));
        assert_eq!(refusal(b"[0,9007199254740992]"), (Code::NumberOutOfRange, at("/1")));
        assert_eq!(refusal(b"[-9007199254740993]"), (Code::NumberOutOfRange, at("/0")));
        assert_eq!(refusal(b"[1e400]").0, Code::MalformedJson);
        assert_eq!(refusal(b"[99999999999999999999999]"), (Code::NumberOutOfRange, at("/0")));
        assert_eq!(refusal(b"[[[[[1]]]]]"), (Code::MessageTooDeep, at("/0/0/0/0")));
        assert_eq!(refusal(br#"{"a~/b":{"c":1,"c":1}}"#), (Code::DuplicateField, at("/a~0~1b/c")));
        assert_eq!(refusal(br#""\ud83d""#), (Code::InvalidUnicode, None));
        assert_eq!(refusal(br#""\ude00\ud83d""#), (Code::InvalidUnicode, None));
        assert_eq!(refusal(b"\"\xff\""), (Code::InvalidUnicode, None));
        assert_eq!(refusal(b"{\"a\":1} x"), (Code::MalformedJson, None));
        assert_eq!(refusal(b"{\"a\":"), (Code::MalformedJson, None));
        assert_eq!(refusal(&[b' '; 4097]), (Code::MessageTooLarge, None));
        assert_eq!(refusal(b"NaN"), (Code::MalformedJson, None));
    }

    #[test]
    fn v2_what_is_at_the_bound_is_accepted() {
        assert!(parse(b"[9007199254740991,-9007199254740991,0.5]", BOUNDS).is_ok());
        assert!(parse(b"[[[[1]]]]", BOUNDS).is_ok(), "a number is not a level");
        assert!(parse(b"[[[[]]]]", BOUNDS).is_ok());
        assert_eq!(parse(br#""\ud83d\ude00 \\ud83d""#, BOUNDS).unwrap(), "😀 \\ud83d");
    }

    proptest! {
        #[test]
        fn v2_any_bytes_get_a_value_or_a_typed_refusal(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let refused = parse(&bytes, BOUNDS).err();
            prop_assert!(refused.is_none_or(|error| !error.message.is_empty()));
        }

        #[test]
        fn v2_any_text_round_trips(text in "\\PC{0,60}") {
            let written = serde_json::to_vec(&text).unwrap();
            prop_assert_eq!(parse(&written, BOUNDS).unwrap(), Value::String(text));
        }
    }
}
