//! The user that a client of Slurm's paths names. It must be the user of the request, by whatever
//! way the request came: with slurmrestd, root could act as another user by this header.

use crate::host_names::user_name;
use axum::http::{HeaderMap, StatusCode};
use net::Refusal;

/// The header with the name (man slurmrestd).
const HEADER: &str = "x-slurm-user-name";

/// The name in the header, if it is there.
///
/// # Errors
/// The refusal of a header that does not name the user.
pub async fn check(headers: &HeaderMap, uid: u32) -> Result<Option<String>, Refusal> {
    let mut named = None;
    for value in headers.get_all(HEADER) {
        let name = value.to_str().unwrap_or_default().trim().to_owned();
        // The user database may be slow: it is asked once, and not for a number.
        if named.as_ref() != Some(&name) && !is_own(&name, uid).await {
            return Err(mismatch(&name));
        }
        named = Some(name);
    }
    Ok(named)
}

async fn is_own(name: &str, uid: u32) -> bool {
    // It fails only while the controller stops.
    name == uid.to_string()
        || tokio::task::spawn_blocking(move || user_name(uid)).await.is_ok_and(|own| own == name)
}

fn mismatch(name: &str) -> Refusal {
    let name = common::text::escape_hidden(name);
    let message = format!("{HEADER} names {name}, and the request is another user's");
    let hint = "leave the header out, or send a token of that user";
    Refusal::new(StatusCode::UNAUTHORIZED, "user_mismatch", message).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[tokio::test]
    async fn each_header_names_the_user_by_name_or_number() {
        let read = async |names: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for name in names {
                headers.append(HEADER, HeaderValue::from_static(name));
            }
            check(&headers, 0).await.map_err(|refusal| refusal.error.code)
        };
        assert_eq!(read(&[]).await, Ok(None));
        assert_eq!(read(&["root"]).await, Ok(Some("root".to_owned())));
        assert_eq!(read(&["0", "root"]).await, Ok(Some("root".to_owned())));
        for names in [&["daemon"][..], &["root", "daemon"], &[""]] {
            assert_eq!(read(names).await, Err("user_mismatch".to_owned()), "{names:?}");
        }
    }
}
