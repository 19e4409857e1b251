//! Values of requests: a client may write a number plainly, with its state, or as text.

use serde_json::{Map, Value};

/// Whether the value is null, or an empty text, list or object.
#[must_use]
pub fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether the value says nothing: it is empty, or a number that is not set.
///
/// # Errors
/// The forms of `set` and `infinite`.
pub fn is_unset(value: &Value) -> Result<bool, String> {
    match value {
        Value::Object(object) if object.contains_key("set") => {
            Ok(!flag_member(object, "set")? && !flag_member(object, "infinite")?)
        }
        _ => Ok(is_empty(value)),
    }
}

/// A flag of an object; false if it is not there.
fn flag_member(object: &Map<String, Value>, name: &str) -> Result<bool, String> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(value) => flag(value).map_err(|why| format!("`{name}`: {why}")),
    }
}

/// A number, or none where it is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    Of(i64),
    Infinite,
}

/// Reads `4`, `"4"`, or `{"set": true, "infinite": false, "number": 4}`.
///
/// # Errors
/// The forms that can be written.
pub fn amount(value: &Value) -> Result<Amount, String> {
    let forms = || "write a whole number, or {\"set\": true, \"number\": N}".to_owned();
    match value {
        Value::Number(number) => number.as_i64().map(Amount::Of).ok_or_else(forms),
        Value::String(text) => text.trim().parse().map(Amount::Of).map_err(|_| forms()),
        Value::Object(object) => {
            if flag_member(object, "infinite")? {
                return Ok(Amount::Infinite);
            }
            let number = object.get("number").filter(|number| !number.is_object());
            amount(number.ok_or_else(forms)?)
        }
        _ => Err(forms()),
    }
}

/// As [`amount`], but not infinite.
///
/// # Errors
/// The forms that can be written.
pub fn number(value: &Value) -> Result<i64, String> {
    match amount(value)? {
        Amount::Of(number) => Ok(number),
        Amount::Infinite => Err("write a number: it cannot be infinite".to_owned()),
    }
}

/// Reads a text, or a number as one.
///
/// # Errors
/// The forms that can be written.
pub fn text(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err("write a text".to_owned()),
    }
}

/// Reads a list of texts, or one text with commas.
///
/// # Errors
/// The forms that can be written.
pub fn list(value: &Value) -> Result<Vec<String>, String> {
    match value {
        Value::Array(list) => list.iter().map(text).collect(),
        Value::String(text) => Ok(text.split(',').map(|word| word.trim().to_owned()).collect()),
        _ => Err("write a list of texts".to_owned()),
    }
}

/// Reads true or false, also as text.
///
/// # Errors
/// The forms that can be written.
pub fn flag(value: &Value) -> Result<bool, String> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Ok(false),
        _ => Err("write true or false".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_number_is_read_in_each_form() {
        for value in [json!(4), json!("4"), json!({ "set": true, "infinite": false, "number": 4 })]
        {
            assert_eq!(number(&value), Ok(4), "{value}");
            assert_eq!(is_unset(&value), Ok(false), "{value}");
        }
        let infinite = json!({ "set": false, "infinite": true });
        assert_eq!((amount(&infinite), is_unset(&infinite)), (Ok(Amount::Infinite), Ok(false)));
        assert!(number(&infinite).unwrap_err().contains("infinite"));
        for value in [json!("x"), json!([4]), json!({ "set": true }), json!(1.5)] {
            assert!(number(&value).is_err(), "{value}");
        }
        for value in [json!(null), json!(""), json!([]), json!({ "set": false, "number": 9 })] {
            assert_eq!(is_unset(&value), Ok(true), "{value}");
        }
    }

    #[test]
    fn a_state_of_a_number_is_a_flag() {
        for set in [json!(true), json!("true")] {
            let value = json!({ "set": set, "number": "60" });
            assert_eq!((is_unset(&value), number(&value)), (Ok(false), Ok(60)), "{value}");
        }
        let refused = is_unset(&json!({ "set": 1, "number": 60 })).unwrap_err();
        assert_eq!(refused, "`set`: write true or false");
        assert!(number(&json!({ "infinite": 2, "number": 60 })).is_err());
    }

    #[test]
    fn lists_and_flags_are_read_from_texts_too() {
        assert_eq!(list(&json!("a, b")), list(&json!(["a", "b"])));
        assert_eq!((flag(&json!("TRUE")), flag(&json!(false))), (Ok(true), Ok(false)));
        assert!(flag(&json!(1)).is_err() && list(&json!(1)).is_err() && text(&json!([])).is_err());
    }
}
