//! What all pages have in common: head, navigation, and the user who is signed in.

use crate::assets::{ICON, SCRIPT, STYLE};
use crate::words::{escape_invisible, stamp};
use common::id::Uid;
use common::right::Roles;
use common::time::Time;
use maud::{DOCTYPE, Markup, html};

/// The entries of the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Cluster,
    Queue,
    Shares,
    Services,
    Nodes,
}

impl Section {
    const ALL: [Self; 5] = [Self::Cluster, Self::Queue, Self::Shares, Self::Services, Self::Nodes];

    const fn path(self) -> &'static str {
        match self {
            Self::Cluster => "/",
            Self::Queue => "/jobs",
            Self::Shares => "/shares",
            Self::Services => "/services",
            Self::Nodes => "/nodes",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Cluster => "Cluster",
            Self::Queue => "Queue",
            Self::Shares => "Shares",
            Self::Services => "Services",
            Self::Nodes => "Nodes",
        }
    }
}

/// What the user may do on pages. The API decides; pages only leave out what it would refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    pub uid: Uid,
    /// The token has the scope `jobs:manage`.
    pub manages_jobs: bool,
    /// The user is an operator, and the token has the scope `admin`.
    pub operates: bool,
}

/// The surroundings of a page.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// The name of the cluster.
    pub cluster: &'a str,
    /// The name of the user.
    pub user: &'a str,
    pub rights: Rights,
    /// The roles of the user that count for the token; of queues, those below them are listed too.
    pub roles: &'a Roles,
    /// Proves that a form came from a page of this session.
    pub csrf: &'a str,
}

impl Frame<'_> {
    /// A page. `live` is replaced when the page refreshes itself.
    pub(crate) fn page(
        &self,
        section: Option<Section>,
        title: &str,
        as_of: Option<Time>,
        live: &Markup,
    ) -> String {
        let body = html! {
            header.bar {
                a.brand href="/" { "kant" span.dim { " " (escape_invisible(self.cluster)) } }
                nav aria-label="Pages" {
                    @for one in Section::ALL {
                        @let current = (Some(one) == section).then_some("page");
                        a href=(one.path()) aria-current=[current] { (one.title()) }
                    }
                }
                form.user method="post" action="/sign-out" {
                    input type="hidden" name="csrf" value=(self.csrf);
                    span title="The user of your token" { (escape_invisible(self.user)) }
                    button.quiet type="submit" { "Sign out" }
                }
            }
            p #stale .stale role="status" hidden { "The controller does not answer." }
            main #live {
                h1 { (title) }
                (live)
                @if let Some(at) = as_of {
                    p.dim.as-of { "As of " (stamp(at)) " UTC" }
                }
            }
        };
        document(&format!("{title} - {}", escape_invisible(self.cluster)), &body)
    }

    /// The hidden field of a form that changes something.
    pub(crate) fn csrf_field(&self) -> Markup {
        html! { input type="hidden" name="csrf" value=(self.csrf); }
    }
}

/// A whole document.
pub(crate) fn document(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                link rel="stylesheet" href=(STYLE);
                link rel="icon" type="image/svg+xml" href=(ICON);
                script src=(SCRIPT) defer {}
            }
            body { (body) }
        }
    };
    page.into_string()
}

/// A figure with its name, for the top of a page.
pub(crate) fn figure(value: &str, name: &str) -> Markup {
    html! { div.figure { strong { (value) } span { (name) } } }
}

/// Part of a whole as a bar.
pub(crate) fn meter(part: u64, whole: u64, label: &str) -> Markup {
    html! {
        meter min="0" max=(whole.max(1)) value=(part.min(whole.max(1))) title=(label) { (label) }
    }
}
