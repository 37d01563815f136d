//! The kinds of connections: consistent, and all of their fields are documented.

use heddle_catalogue::{CONNECTION_FORMS, ConnectionKind};
use std::collections::BTreeSet;

const DOCUMENTED: &str = include_str!("../../../docs/connections.md");

#[test]
fn all_fields_are_documented() {
    for form in CONNECTION_FORMS {
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
    let ids: BTreeSet<&str> = CONNECTION_FORMS.iter().map(|form| form.id).collect();
    assert_eq!(ids.len(), CONNECTION_FORMS.len());
    for kind in [
        ConnectionKind::Http,
        ConnectionKind::Sql,
        ConnectionKind::Smtp,
        ConnectionKind::Chat,
    ] {
        assert!(
            CONNECTION_FORMS.iter().any(|form| form.leads_to == kind),
            "{}",
            kind.name()
        );
    }
    for form in CONNECTION_FORMS {
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
