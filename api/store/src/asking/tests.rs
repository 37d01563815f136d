//! Users wait for their own requests only.

use super::*;
use crate::StoreError;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

const PER_USER: usize = 2;

fn shares() -> Shares {
    Shares::new(PER_USER, Duration::from_secs(60))
}

/// A request of a user that has taken a share.
async fn taken(shares: &Shares, user: UserId) -> Share {
    of_request(async {
        asked_by(user);
        shares.take().await.unwrap().unwrap()
    })
    .await
}

/// Whether a request of this user would have to wait.
fn would_wait(shares: &Shares, user: UserId) -> bool {
    let request = of_request(async {
        asked_by(user);
        shares.take().await.map(drop)
    });
    matches!(
        pin!(request).poll(&mut Context::from_waker(Waker::noop())),
        Poll::Pending
    )
}

#[tokio::test]
async fn a_user_waits_for_its_own_requests_only() {
    let (shares, ann, bob) = (shares(), UserId::new(), UserId::new());
    let first = taken(&shares, ann).await;
    let _second = taken(&shares, ann).await;
    assert!(would_wait(&shares, ann));
    assert!(!would_wait(&shares, bob));
    drop(first);
    assert!(!would_wait(&shares, ann));
}

#[tokio::test]
async fn a_request_that_reads_already_does_not_wait_for_others() {
    let (shares, ann) = (shares(), UserId::new());
    let _other = taken(&shares, ann).await;
    of_request(async {
        asked_by(ann);
        let first = shares.take().await.unwrap();
        let second = shares.take().await.unwrap();
        assert!(first.is_some() && second.is_some());
        drop(second);
        assert!(would_wait(&shares, ann));
        drop(first);
        assert!(!would_wait(&shares, ann));
    })
    .await;
}

#[tokio::test]
async fn what_the_service_reads_itself_needs_no_share() {
    let shares = shares();
    asked_by(UserId::new());
    assert!(shares.take().await.unwrap().is_none());
    of_request(async { assert!(shares.take().await.unwrap().is_none()) }).await;
}

#[tokio::test]
async fn what_others_wait_for_needs_no_share() {
    let (shares, ann) = (shares(), UserId::new());
    let _held = (taken(&shares, ann).await, taken(&shares, ann).await);
    of_request(async {
        asked_by(ann);
        assert!(of_service(shares.take()).await.unwrap().is_none());
        let own = pin!(shares.take());
        let polled = own.poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "what is for the user alone");
    })
    .await;
}

#[tokio::test]
async fn who_waits_too_long_is_told() {
    let (shares, ann) = (Shares::new(1, Duration::ZERO), UserId::new());
    let held = taken(&shares, ann).await;
    let refused = of_request(async {
        asked_by(ann);
        shares.take().await.map(drop)
    });
    assert!(matches!(
        refused.await,
        Err(StoreError::Unavailable(Failed::NoShare))
    ));
    drop(held);
    assert!(!would_wait(&shares, ann));
}
