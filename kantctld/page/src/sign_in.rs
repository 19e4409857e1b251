//! The page where a user pastes a token.

use crate::frame::document;
use crate::words::escape_invisible;
use maud::html;

/// The form; `trouble` says why the last token was refused.
#[must_use]
pub fn sign_in(cluster: &str, trouble: Option<&str>) -> String {
    let body = html! {
        main.sign-in {
            h1 { "kant" span.dim { " " (escape_invisible(cluster)) } }
            @if let Some(trouble) = trouble {
                p.trouble role="alert" { (escape_invisible(trouble)) }
            }
            form method="post" action="/sign-in" {
                label for="token" { "Token" }
                input #token type="password" name="token" autocomplete="current-password" required
                    autofocus spellcheck="false";
                button type="submit" { "Sign in" }
            }
            p { "Create a token on a host where kantctl works, and paste it here:" }
            pre { code {
                "kantctl token create --lifespan 12h \\\n  "
                "--scope jobs:read,jobs:manage,cluster:read,services:read"
            } }
            p.dim { "It stays in a cookie of this browser until you sign out or it expires." }
        }
    };
    document(&format!("Sign in - {}", escape_invisible(cluster)), &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_refusal_is_shown_as_text() {
        let page = sign_in("demo", Some("<b>no</b>"));
        assert!(page.contains("&lt;b&gt;no&lt;/b&gt;") && !page.contains("<b>no"), "{page}");
        assert!(!sign_in("demo", None).contains("role=\"alert\""));
    }
}
