//! The kinds of connections: consistent, and all of their fields are documented.

use heddle_catalogue::{CONSENT_PROVIDERS, ConnectionKind, Revocation, connection_forms};
use std::collections::BTreeSet;

const DOCUMENTED: &str = include_str!("../../../docs/connections.md");

#[test]
fn all_fields_are_documented() {
    for form in connection_forms() {
        for field in form.fields {
            let written = format!("`{}", field.name);
            assert!(
                DOCUMENTED.contains(&written),
                "docs/connections.md: {} of {}",
                field.name,
                form.id
            );
        }
    }
}

#[test]
fn forms_are_consistent() {
    let ids: BTreeSet<&str> = connection_forms().map(|form| form.id).collect();
    assert_eq!(ids.len(), connection_forms().count());
    for kind in [
        ConnectionKind::Http,
        ConnectionKind::Sql,
        ConnectionKind::Smtp,
        ConnectionKind::Mailbox,
        ConnectionKind::Chat,
    ] {
        assert!(
            connection_forms().any(|form| form.leads_to == kind),
            "{}",
            kind.name()
        );
    }
    for form in connection_forms() {
        let names: BTreeSet<&str> = form.fields.iter().map(|field| field.name).collect();
        assert_eq!(names.len(), form.fields.len(), "{}", form.id);
        assert!(form.fields.iter().any(|field| field.is_required), "{}", form.id);
        let secret = |name: &str| {
            form.fields
                .iter()
                .any(|field| field.name == name && !field.is_secret)
        };
        assert!(
            !["apiKey", "password", "clientSecret"].into_iter().any(secret),
            "{}",
            form.id
        );
    }
}

#[test]
fn providers_are_reached_by_https_and_their_tokens_go_to_named_hosts() {
    for provider in CONSENT_PROVIDERS {
        let id = provider.id;
        let revoked = match provider.revocation {
            Revocation::None => provider.token_url,
            Revocation::Standard(url)
            | Revocation::Bearer(url)
            | Revocation::Path(url)
            | Revocation::Json(url) => url,
        };
        for url in [provider.authorize_url, provider.token_url, revoked] {
            assert!(url.starts_with("https://"), "{id}: {url}");
        }
        assert!(!provider.hosts.is_empty(), "{id}");
        let host = provider
            .base_url
            .strip_prefix("https://")
            .map(|rest| rest.split('/').next().unwrap_or_default());
        assert!(
            host.is_none_or(|host| provider.hosts.contains(&host)),
            "{id}: {host:?}"
        );
        assert!(
            DOCUMENTED.contains(&format!("`{id}`")),
            "docs/connections.md: {id}"
        );
    }
}
