//! The files that pages refer to, as part of the program: no page loads anything from elsewhere.

/// A file with its media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asset {
    pub path: &'static str,
    pub media_type: &'static str,
    pub text: &'static str,
}

pub const STYLE: &str = "/assets/style.css";
pub const SCRIPT: &str = "/assets/refresh.js";
pub const ICON: &str = "/assets/icon.svg";

/// All files.
pub const ASSETS: [Asset; 3] = [
    Asset {
        path: STYLE,
        media_type: "text/css; charset=utf-8",
        text: include_str!("assets/style.css"),
    },
    Asset {
        path: SCRIPT,
        media_type: "text/javascript; charset=utf-8",
        text: include_str!("assets/refresh.js"),
    },
    Asset { path: ICON, media_type: "image/svg+xml", text: include_str!("assets/icon.svg") },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_refers_to_another_host() {
        for asset in ASSETS {
            let text = asset.text.replace("http://www.w3.org/2000/svg", "");
            assert!(!text.contains("http://") && !text.contains("https://"), "{}", asset.path);
            assert!(!text.contains("@import") && !text.contains("eval("), "{}", asset.path);
        }
    }
}
