//! What serde leaves out of the serialized form: `skip_serializing_if = "is_default"`.

/// Whether the value is its type's default, which a reader takes for an absent field.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
