//! The vault: what is encrypted opens only where it was put, and the master key can be exchanged while it is used.

use crate::harness::{Service, each_database};
use heddle_model::clock::Clock;
use heddle_model::ids::WorkspaceId;
use heddle_store::vault::{Sealed, Vault, VaultError};
use heddle_store::{StoreError, sql};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const FIRST: [u8; 32] = [7; 32];
const SECOND: [u8; 32] = [8; 32];
const THIRD: [u8; 32] = [9; 32];

fn vault(service: &Service, key: &[u8; 32]) -> Arc<Vault> {
    Arc::new(Vault::new(key, service.app.clock.clone()))
}

async fn seal(
    service: &Service,
    vault: &Arc<Vault>,
    workspace: Option<WorkspaceId>,
    aad: &str,
    text: &str,
) -> Result<Sealed, VaultError> {
    let (vault, aad, text) = (vault.clone(), aad.to_owned(), text.to_owned());
    service
        .app
        .store
        .write(move |db| Box::pin(async move { vault.seal(db, workspace, &aad, text.as_bytes()).await }))
        .await
}

async fn open(
    service: &Service,
    vault: &Vault,
    workspace: Option<WorkspaceId>,
    aad: &str,
    sealed: &Sealed,
) -> Result<String, VaultError> {
    let mut reader = service.app.store.reader().await?;
    let opened = vault.open(&mut reader.db(), workspace, aad, sealed).await?;
    Ok(String::from_utf8(opened.to_vec()).unwrap())
}

async fn execute(service: &Service, statement: &'static str) -> u64 {
    let done: Result<u64, StoreError> = service
        .app
        .store
        .write(move |db| Box::pin(async move { db.execute(sql(statement)).await }))
        .await;
    done.unwrap()
}

fn unopenable(result: Result<String, VaultError>) {
    assert!(matches!(result, Err(VaultError::Unopenable)), "{result:?}");
}

fn wrong_key<T: std::fmt::Debug>(result: Result<T, VaultError>) {
    assert!(
        matches!(result, Err(VaultError::WrongMasterKey { .. })),
        "{result:?}"
    );
}

each_database! {
    async fn a_ciphertext_opens_only_in_its_row_and_workspace(service: Service) {
        let vault = vault(&service, &FIRST);
        let (here, there) = (Some(WorkspaceId::new()), Some(WorkspaceId::new()));
        let sealed = seal(&service, &vault, here, "secrets/1", "hush").await.unwrap();
        let other = seal(&service, &vault, there, "secrets/1", "other").await.unwrap();
        let nobodys = seal(&service, &vault, None, "secrets/1", "nobody's").await.unwrap();
        assert_eq!(open(&service, &vault, here, "secrets/1", &sealed).await.unwrap(), "hush");
        assert_eq!(open(&service, &vault, None, "secrets/1", &nobodys).await.unwrap(), "nobody's");

        unopenable(open(&service, &vault, here, "secrets/2", &sealed).await);
        unopenable(open(&service, &vault, there, "secrets/1", &sealed).await);
        unopenable(open(&service, &vault, None, "secrets/1", &sealed).await);
        let moved = Sealed { data_key: other.data_key, bytes: sealed.bytes.clone() };
        unopenable(open(&service, &vault, here, "secrets/1", &moved).await);
        unopenable(open(&service, &vault, there, "secrets/1", &moved).await);
        let mut changed = sealed.clone();
        *changed.bytes.last_mut().unwrap() ^= 1;
        unopenable(open(&service, &vault, here, "secrets/1", &changed).await);
        let short = Sealed { bytes: vec![0; 3], ..sealed };
        unopenable(open(&service, &vault, here, "secrets/1", &short).await);
    }

    async fn a_data_key_moved_to_another_workspace_does_not_open(service: Service) {
        let (here, there) = (WorkspaceId::new(), WorkspaceId::new());
        let sealed = seal(&service, &vault(&service, &FIRST), Some(here), "x", "hush").await.unwrap();
        let moved = service.app.store.write(move |db| Box::pin(async move {
            db.execute(sql("update data_keys set owner = ? where owner = ?").bind(there).bind(here)).await
        }));
        assert_eq!(moved.await.map_err(|error: StoreError| error).unwrap(), 1);
        unopenable(open(&service, &vault(&service, &FIRST), Some(there), "x", &sealed).await);
        unopenable(open(&service, &vault(&service, &FIRST), Some(here), "x", &sealed).await);
    }

    async fn equal_values_have_different_ciphertexts_under_one_key(service: Service) {
        let vault = vault(&service, &FIRST);
        let first = seal(&service, &vault, None, "a", "hush").await.unwrap();
        let second = seal(&service, &vault, None, "a", "hush").await.unwrap();
        assert_eq!(first.data_key, second.data_key);
        assert_ne!(first.bytes, second.bytes);
    }

    async fn a_key_that_is_made_in_an_undone_transaction_is_not_used(service: Service) {
        let vault = vault(&service, &FIRST);
        let workspace = Some(WorkspaceId::new());
        let inner = vault.clone();
        let undone: Result<(), VaultError> = service.app.store.write(move |db| Box::pin(async move {
            inner.seal(db, workspace, "a", b"x").await?;
            inner.seal(db, workspace, "b", b"x").await?;
            Err(VaultError::Store(StoreError::Missing))
        })).await;
        assert!(undone.is_err());
        let sealed = seal(&service, &vault, workspace, "a", "kept").await.unwrap();
        let fresh = self::vault(&service, &FIRST);
        assert_eq!(open(&service, &fresh, workspace, "a", &sealed).await.unwrap(), "kept");
    }

    async fn a_start_with_a_foreign_key_is_refused_with_advice(service: Service) {
        let store = &service.app.store;
        // Nothing is encrypted yet: any key will do.
        vault(&service, &SECOND).start(store, None).await.unwrap();
        vault(&service, &FIRST).start(store, None).await.unwrap();
        seal(&service, &vault(&service, &FIRST), None, "a", "hush").await.unwrap();
        let refused = vault(&service, &SECOND).start(store, None).await;
        let message = refused.as_ref().unwrap_err().to_string();
        assert!(message.contains("heddle keys rotate") && message.contains("Start with the key"), "{message}");
        wrong_key(refused);
        wrong_key(vault(&service, &SECOND).start(store, Some(&THIRD)).await);
        wrong_key(seal(&service, &vault(&service, &SECOND), None, "a", "x").await);
        wrong_key(Vault::rotate(store, &SECOND, &THIRD, &service.app.clock).await);
        vault(&service, &FIRST).start(store, None).await.unwrap();
    }

    async fn a_start_with_the_previous_key_too_rewraps(service: Service) {
        let store = &service.app.store;
        let sealed = seal(&service, &vault(&service, &FIRST), None, "a", "hush").await.unwrap();
        vault(&service, &SECOND).start(store, Some(&FIRST)).await.unwrap();
        service.app.clock.advance(Duration::from_secs(25 * 60 * 60));
        vault(&service, &SECOND).start(store, None).await.unwrap();
        assert_eq!(open(&service, &vault(&service, &SECOND), None, "a", &sealed).await.unwrap(), "hush");
        wrong_key(open(&service, &vault(&service, &FIRST), None, "a", &sealed).await);
        wrong_key(vault(&service, &FIRST).start(store, None).await);
    }

    async fn servers_with_an_older_key_go_on_for_a_day_after_rotations(service: Service) {
        let store = &service.app.store;
        let old = vault(&service, &FIRST);
        let sealed = seal(&service, &old, None, "a", "hush").await.unwrap();
        assert_eq!(Vault::rotate(store, &FIRST, &SECOND, &service.app.clock).await.unwrap(), 1);
        assert_eq!(Vault::rotate(store, &SECOND, &THIRD, &service.app.clock).await.unwrap(), 1);
        // It makes new data keys, for the newest master key.
        let workspace = Some(WorkspaceId::new());
        let newer = seal(&service, &old, workspace, "b", "later").await.unwrap();
        let current = vault(&service, &THIRD);
        assert_eq!(open(&service, &current, workspace, "b", &newer).await.unwrap(), "later");
        let restarted = vault(&service, &FIRST);
        restarted.start(store, None).await.unwrap();
        assert_eq!(open(&service, &restarted, None, "a", &sealed).await.unwrap(), "hush");

        service.app.clock.advance(Duration::from_secs(24 * 60 * 60));
        current.start(store, None).await.unwrap();
        wrong_key(vault(&service, &FIRST).start(store, None).await);
        // Back to the first key, whose former handover must not lead anybody astray.
        Vault::rotate(store, &THIRD, &FIRST, &service.app.clock).await.unwrap();
        vault(&service, &FIRST).start(store, None).await.unwrap();
        assert_eq!(open(&service, &vault(&service, &FIRST), None, "a", &sealed).await.unwrap(), "hush");
        assert!(matches!(
            Vault::rotate(store, &FIRST, &FIRST, &Clock::System).await,
            Err(VaultError::SameMasterKey)
        ));
    }

    async fn the_new_master_key_is_not_in_the_database_in_clear(service: Service) {
        seal(&service, &vault(&service, &FIRST), None, "a", "hush").await.unwrap();
        Vault::rotate(&service.app.store, &FIRST, &SECOND, &service.app.clock).await.unwrap();
        let mut reader = service.app.store.reader().await.unwrap();
        let handed: Vec<(Vec<u8>,)> = reader.db().all(sql("select wrapped from master_key_handovers")).await.unwrap();
        assert_eq!(handed.len(), 1);
        assert!(!handed[0].0.windows(8).any(|window| window == &SECOND[..8]));
    }

    async fn rotations_under_load_lose_nothing(service: Service) {
        let service = Arc::new(service);
        let (stop, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let writers: Vec<_> = (0..4).map(|number| {
            let (service, stop, written) = (service.clone(), stop.clone(), written.clone());
            // Each is a server of its own that was started before the rotations.
            let vault = vault(&service, &FIRST);
            tokio::spawn(async move {
                let mut kept = Vec::new();
                while !stop.load(Ordering::SeqCst) {
                    let workspace = Some(WorkspaceId::new());
                    let text = format!("{number}/{}", kept.len());
                    let sealed = seal(&service, &vault, workspace, &text, &text).await.unwrap();
                    assert_eq!(open(&service, &vault, workspace, &text, &sealed).await.unwrap(), text);
                    kept.push((workspace, text, sealed));
                    written.fetch_add(1, Ordering::SeqCst);
                }
                kept
            })
        }).collect();
        let mut keys = [FIRST, SECOND, THIRD, [10; 32], [11; 32]].into_iter();
        let mut present = keys.next().unwrap();
        for next in keys {
            let before = written.load(Ordering::SeqCst);
            while written.load(Ordering::SeqCst) < before + 8 {
                tokio::task::yield_now().await;
            }
            Vault::rotate(&service.app.store, &present, &next, &service.app.clock).await.unwrap();
            present = next;
        }
        stop.store(true, Ordering::SeqCst);
        let mut kept = Vec::new();
        for writer in writers {
            kept.extend(writer.await.unwrap());
        }
        assert_eq!(execute(&service, "delete from master_key_handovers").await, 4);
        let fresh = vault(&service, &present);
        fresh.start(&service.app.store, None).await.unwrap();
        for (workspace, text, sealed) in kept {
            assert_eq!(open(&service, &fresh, workspace, &text, &sealed).await.unwrap(), text);
        }
    }
}
