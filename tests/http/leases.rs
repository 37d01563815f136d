//! Servers that accept, execute, stand still, die, stop and come back, in many orders that follow from a seed, on the
//! service's own statements with a clock of the test's own: every accepted run ends once, nobody takes a run from a
//! server that may count on its lease, and no recorded effect is done again.

use heddle_execution::lease::valid_until;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, RunId, UserId};
use heddle_model::server_role::ServerRole;
use heddle_model::status::{RunStatus, TriggeredBy};
use heddle_model::tenant::Tenant;
use heddle_store::runs::journal::{self, EntryRow};
use heddle_store::runs::upkeep::{self, Claim};
use heddle_store::runs::{self, AcceptedRow, ResultRow, suspects};
use heddle_store::{Db, Load, Store, StoreError, servers, sql};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

const LEASE: Duration = Duration::from_secs(15);
const SERVERS: usize = 3;
const ACTIONS: usize = 250;
/// Effects of a run.
const EFFECTS: usize = 2;

/// Seeds: some by default, as many as one likes with HEDDLE_TEST_SEEDS.
fn seeds() -> u64 {
    std::env::var("HEDDLE_TEST_SEEDS").map_or(40, |seeds| seeds.parse().unwrap())
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((bits ^ (bits >> 31)) % end as u64).unwrap()
    }
}

/// What a server does next for a run; between two of these it may stand still for any time.
enum Next {
    /// Store it: the lease was valid a moment ago.
    Accept,
    /// Do the next effect.
    Perform,
    /// Keep the effect that was done.
    Keep,
    /// Record the end.
    Record,
}

struct Job {
    run: RunId,
    owner: Arc<str>,
    effects: usize,
    next: Next,
}

struct Server {
    owner: Arc<str>,
    is_registered: bool,
    valid_until: Option<Instant>,
    is_frozen: bool,
    /// Its clock's seconds for a hundred of the database's.
    rate: u32,
    jobs: Vec<Job>,
    /// When a renewal was sent whose answer has not come yet, and what it says.
    renewal: Option<(Instant, bool)>,
}

struct World {
    store: Store,
    random: Random,
    began: Instant,
    /// By the database's clock.
    now: Duration,
    names: usize,
    deployment: DeploymentId,
    servers: Vec<Server>,
    /// Stored runs, with who has them.
    owners: HashMap<RunId, Arc<str>>,
    kept: HashSet<(RunId, usize)>,
    ended: HashMap<RunId, usize>,
}

async fn write<T: Send + 'static>(
    store: &Store,
    work: impl for<'c> FnOnce(&'c mut Db<'_>) -> futures_util::future::BoxFuture<'c, Result<T, StoreError>>
    + Send
    + 'static,
) -> T {
    store.write(work).await.unwrap()
}

impl World {
    async fn new(store: &Store, seed: u64) -> World {
        let deployment = DeploymentId::new();
        write(store, move |db| {
            Box::pin(async move {
                for table in ["delete from runs", "delete from servers", "delete from journal_entries"] {
                    db.execute(sql(table)).await?;
                }
                db.execute(
                    sql("insert into deployments (id, pattern_id, pattern_name, user_id, status, version_number, artifact,
                         triggers, confirmed_at, created_at, updated_at)
                         values (?, ?, 'Tested', 'ann', 'active', 1, '', '[]', 0, 0, 0)")
                    .bind(deployment)
                    .bind(deployment),
                )
                .await
            })
        })
        .await;
        let mut world = World {
            store: store.clone(),
            random: Random(seed),
            began: Instant::now(),
            now: Duration::from_secs(1_000),
            names: 0,
            deployment,
            servers: Vec::new(),
            owners: HashMap::new(),
            kept: HashSet::new(),
            ended: HashMap::new(),
        };
        for _ in 0..SERVERS {
            let server = world.server();
            world.servers.push(server);
        }
        world
    }

    fn name(&mut self) -> Arc<str> {
        self.names += 1;
        format!("server {}", self.names).into()
    }

    fn server(&mut self) -> Server {
        Server {
            owner: self.name(),
            is_registered: false,
            valid_until: None,
            is_frozen: false,
            rate: 95 + u32::try_from(self.random.below(11)).unwrap(),
            jobs: Vec::new(),
            renewal: None,
        }
    }

    /// The time by a server's own clock.
    fn local(&self, server: &Server) -> Instant {
        self.began + self.now * server.rate / 100
    }

    fn database_now(&self) -> Timestamp {
        Timestamp::from_millis(i64::try_from(self.now.as_millis()).unwrap())
    }

    fn is_valid(&self, server: &Server) -> bool {
        server.valid_until.is_some_and(|until| self.local(server) < until)
    }

    /// Sends a renewal, or takes the answer to the one that was sent.
    async fn renew(&mut self, index: usize) {
        if let Some((sent_at, is_there)) = self.servers[index].renewal.take() {
            let name = self.name();
            let server = &mut self.servers[index];
            if is_there {
                server.is_registered = true;
                server.valid_until = Some(valid_until(sent_at, LEASE));
            } else {
                (server.owner, server.is_registered, server.valid_until) = (name, false, None);
                server.jobs.clear();
            }
            return;
        }
        let server = &self.servers[index];
        let sent_at = self.local(server);
        let (owner, is_registered) = (server.owner.clone(), server.is_registered);
        let now = self.database_now();
        let is_there = write(&self.store, move |db| {
            Box::pin(async move {
                let expires_at = now.plus(LEASE);
                match is_registered {
                    true => servers::renew(db, &owner, expires_at).await,
                    false => servers::register(db, &owner, ServerRole::All, now, expires_at)
                        .await
                        .map(|()| true),
                }
            })
        });
        let is_there = is_there.await;
        self.servers[index].renewal = Some((sent_at, is_there));
    }

    async fn remove_expired(&mut self, index: usize) {
        if self.is_valid(&self.servers[index]) {
            let now = self.database_now();
            write(&self.store, move |db| Box::pin(servers::remove_expired(db, now))).await;
        }
    }

    async fn take_up(&mut self, index: usize) {
        if !self.is_valid(&self.servers[index]) {
            return;
        }
        let (owner, taker) = (
            self.servers[index].owner.clone(),
            self.servers[index].owner.clone(),
        );
        let claims = self.random.below(2) == 0;
        let taken = write(&self.store, move |db| {
            Box::pin(async move {
                if !claims {
                    let mut taken = upkeep::take_up(db, &taker, 3).await?;
                    taken.extend(suspects::take_guilty(db, &taker, 1).await?);
                    taken.extend(suspects::take(db, &taker, i64::MAX).await?);
                    return Ok(taken);
                }
                let claim = Claim {
                    owner: taker,
                    runs_max: 3,
                    tenant_runs_max: 2,
                    full: Vec::new(),
                    full_owners: Vec::new(),
                };
                upkeep::claim(db, claim).await
            })
        });
        for row in taken.await {
            let before = self.owners.insert(row.id, owner.clone()).unwrap();
            let robbed = self.servers.iter().find(|server| server.owner == before);
            assert!(
                !robbed.is_some_and(|server| self.is_valid(server)),
                "{owner} has taken {} from {before}, which may count on its lease",
                row.id
            );
            let mut reader = self.store.reader().await.unwrap();
            let effects = journal::entries(&mut reader.db(), row.id).await.unwrap().len();
            self.servers[index].jobs.push(Job {
                run: row.id,
                owner: owner.clone(),
                effects,
                next: if effects < EFFECTS {
                    Next::Perform
                } else {
                    Next::Record
                },
            });
        }
    }

    fn begin(&mut self, index: usize) {
        if self.is_valid(&self.servers[index]) {
            let owner = self.servers[index].owner.clone();
            self.servers[index].jobs.push(Job {
                run: RunId::new(),
                owner,
                effects: 0,
                next: Next::Accept,
            });
        }
    }

    /// Goes on with one of a server's runs.
    async fn go_on(&mut self, index: usize) {
        let count = self.servers[index].jobs.len();
        if count == 0 {
            return;
        }
        let mut job = {
            let chosen = self.random.below(count);
            self.servers[index].jobs.swap_remove(chosen)
        };
        let is_mine = match job.next {
            Next::Accept => self.accept(&mut job).await,
            Next::Perform => {
                // An effect begins while the lease is valid, and is waited for else.
                if self.is_valid(&self.servers[index]) {
                    assert!(
                        !self.kept.contains(&(job.run, job.effects)),
                        "effect {} of {} is done again",
                        job.effects,
                        job.run
                    );
                    job.next = Next::Keep;
                }
                true
            }
            Next::Keep => self.keep(&mut job).await,
            Next::Record => {
                self.record(&job).await;
                false
            }
        };
        if is_mine {
            self.servers[index].jobs.push(job);
        }
    }

    async fn accept(&mut self, job: &mut Job) -> bool {
        let row = AcceptedRow {
            id: job.run,
            deployment_id: self.deployment,
            tenant: Tenant::User(UserId::new()),
            triggered_by: TriggeredBy::Webhook,
            node_id: None,
            event: None,
            artifact: "".into(),
            version_number: 1,
            accepted_at: self.database_now(),
            parent: None,
            depth: 0,
            key: None,
            awaited: self.random.below(2) == 0,
            end: None,
        };
        // A third is for whoever claims it.
        let is_own = self.random.below(3) > 0;
        let server = job.owner.clone();
        let is_stored = write(&self.store, move |db| {
            Box::pin(async move {
                let owner = if is_own { &server } else { runs::NOBODY };
                let stored = runs::accept(db, &server, owner, (Load::LITTLE, vec![row])).await?;
                Ok(stored.is_some())
            })
        });
        job.next = Next::Perform;
        let is_stored = is_stored.await;
        if is_stored {
            let owner = if is_own {
                job.owner.clone()
            } else {
                runs::NOBODY.into()
            };
            self.owners.insert(job.run, owner);
        }
        is_stored && is_own
    }

    async fn keep(&mut self, job: &mut Job) -> bool {
        let row = EntryRow::new(
            job.run,
            job.owner.clone(),
            job.effects.to_string(),
            i64::try_from(job.effects).ok(),
            "{}".to_owned(),
        );
        let kept = write(&self.store, move |db| {
            Box::pin(async move { journal::keep(db, &[row]).await })
        });
        if !kept.await.contains(&job.run) {
            return false;
        }
        assert!(
            self.kept.insert((job.run, job.effects)),
            "an effect is kept twice"
        );
        job.effects += 1;
        job.next = if job.effects < EFFECTS {
            Next::Perform
        } else {
            Next::Record
        };
        true
    }

    async fn record(&mut self, job: &Job) {
        let mut row = ResultRow::running(job.run, job.owner.clone(), 1);
        row.status = RunStatus::Success;
        let now = self.database_now();
        let recorded = write(&self.store, move |db| {
            Box::pin(async move { runs::record(db, (Load::LITTLE, [&row].as_slice()), now).await })
        });
        for run in recorded.await {
            assert_eq!(self.owners[&run], job.owner, "a stale end was recorded");
            *self.ended.entry(run).or_default() += 1;
        }
    }

    async fn stop(&mut self, index: usize) {
        let owner = self.servers[index].owner.clone();
        write(&self.store, move |db| {
            Box::pin(async move {
                upkeep::hand_back_all(db, &owner).await?;
                servers::remove(db, &owner).await
            })
        })
        .await;
        self.servers[index] = self.server();
    }

    async fn act(&mut self) {
        let index = self.random.below(SERVERS);
        let action = self.random.below(100);
        if self.servers[index].is_frozen {
            // Longer than a lease, mostly.
            self.servers[index].is_frozen = action >= 5;
            self.now += LEASE / 40;
            return;
        }
        match action {
            0..10 => self.now += LEASE / 15,
            10..30 => self.renew(index).await,
            30..36 => self.remove_expired(index).await,
            36..44 => self.take_up(index).await,
            44..54 => self.begin(index),
            54..95 => self.go_on(index).await,
            95..97 => self.servers[index].is_frozen = true,
            97..99 => self.servers[index] = self.server(),
            _ => self.stop(index).await,
        }
    }

    /// Everybody is awake and does what is left to do.
    async fn settle(&mut self) {
        for _ in 0..200 {
            for index in 0..SERVERS {
                self.servers[index].is_frozen = false;
                while !self.is_valid(&self.servers[index]) || self.servers[index].renewal.is_some() {
                    self.renew(index).await;
                }
                self.remove_expired(index).await;
                self.take_up(index).await;
                for _ in 0..10 {
                    self.go_on(index).await;
                }
            }
            self.now += LEASE / 5;
            if self.ended.len() == self.owners.len() {
                return;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_accepted_run_ends_once_whatever_becomes_of_servers() {
    let files = tempfile::tempdir().unwrap();
    let store = Store::open_sqlite(&files.path().join("heddle.db")).await.unwrap();
    let (mut accepted, mut taken) = (0, 0);
    for seed in 0..seeds() {
        let mut world = World::new(&store, seed).await;
        for _ in 0..ACTIONS {
            world.act().await;
        }
        world.settle().await;
        let lost: Vec<&RunId> = world
            .owners
            .keys()
            .filter(|run| !world.ended.contains_key(run))
            .collect();
        assert_eq!(lost, Vec::<&RunId>::new(), "seed {seed}");
        assert!(world.ended.values().all(|times| *times == 1), "seed {seed}");
        accepted += world.owners.len();
        let mut reader = store.reader().await.unwrap();
        let (sum,): (i64,) = reader
            .db()
            .one(sql("select count(*) from runs where takeovers > 0"))
            .await
            .unwrap();
        taken += sum;
    }
    // That the orders are such that something happens.
    assert!(accepted > 0 && taken > 0, "{accepted} accepted, {taken} taken up");
}

/// A run that the first server has, its owner, and the time.
async fn begun(world: &mut World) -> (RunId, Arc<str>, Timestamp) {
    // Sends the registration, and takes the answer.
    world.renew(0).await;
    world.renew(0).await;
    let owner = world.servers[0].owner.clone();
    let mut job = Job {
        run: RunId::new(),
        owner: world.servers[0].owner.clone(),
        effects: 0,
        next: Next::Accept,
    };
    while !world.accept(&mut job).await {
        job.run = RunId::new();
    }
    (job.run, owner, world.database_now())
}

/// Stores what became of a run that its owner has.
async fn recorded(store: &Store, row: &ResultRow, now: Timestamp) {
    let (run, row) = (row.id, row.clone());
    let recorded = write(store, move |db| {
        Box::pin(async move { runs::record(db, (Load::LITTLE, [&row].as_slice()), now).await })
    });
    assert_eq!(recorded.await, [run]);
}

/// A server stores that a run parks, hears no answer, and wakes the run before it tries again.
#[tokio::test]
async fn a_parking_that_is_stored_is_known_although_the_run_was_woken() {
    let files = tempfile::tempdir().unwrap();
    let store = Store::open_sqlite(&files.path().join("heddle.db")).await.unwrap();
    let mut world = World::new(&store, 0).await;
    let (run, owner, now) = begun(&mut world).await;
    let mut parks = ResultRow::running(run, owner.clone(), 1);
    (parks.fuel_used, parks.wake_at) = (7, Some(Timestamp::from_millis(i64::MAX)));
    let known = async |fuel: i64| {
        let row = parks.clone();
        write(&store, move |db| {
            Box::pin(async move { runs::parked_before(db, &row, Some(fuel)).await })
        })
        .await
    };
    assert_eq!(known(7).await, None);
    recorded(&store, &parks, now).await;
    assert_eq!(known(7).await, Some(run), "it is parked");
    let waker = owner.clone();
    let left = write(&store, move |db| {
        Box::pin(async move {
            journal::signal(db, run, "answer", &journal::Payload::new("{}".to_owned())).await?;
            let full = ["ann".to_owned()];
            upkeep::wake_up(db, (&*waker, full.as_slice()), now, 1).await
        })
    });
    assert!(left.await.is_empty(), "its tenant has as many as may wait");
    let woken = write(&store, move |db| {
        Box::pin(async move { upkeep::wake_up(db, (&*owner, [].as_slice()), now, 1).await })
    });
    let used: Vec<_> = woken.await.iter().map(|row| (row.id, row.total_fuel)).collect();
    assert_eq!(used, [(run, Some(7))]);
    assert_eq!(known(7).await, Some(run), "nobody would wake it again");
    assert_eq!(known(7 + 5).await, None, "its next parking is not stored");
}

/// A server stores that a run has another attempt, hears no answer, and tries again: what the first one has used counts once.
#[tokio::test]
async fn another_attempt_that_is_stored_is_known() {
    let files = tempfile::tempdir().unwrap();
    let store = Store::open_sqlite(&files.path().join("heddle.db")).await.unwrap();
    let mut world = World::new(&store, 0).await;
    let (run, owner, now) = begun(&mut world).await;
    let retried = |attempt: u32| {
        let mut row = ResultRow::running(run, owner.clone(), attempt);
        (row.fuel_used, row.resumes_at) = (7, Some(now));
        row
    };
    let known = async |row: ResultRow| {
        write(&store, move |db| {
            Box::pin(async move { runs::retried_before(db, &row).await })
        })
        .await
    };
    assert_eq!(known(retried(2)).await, None);
    recorded(&store, &retried(2), now).await;
    assert_eq!(known(retried(2)).await, Some(run));
    let of_another = ResultRow {
        owner: "another".into(),
        ..retried(2)
    };
    assert_eq!(known(of_another).await, None, "it would not be stored either");
    assert_eq!(
        known(retried(3)).await,
        None,
        "the attempt after it is not stored"
    );
    recorded(&store, &retried(3), now).await;
    let mut reader = store.reader().await.unwrap();
    let total = sql("select total_fuel from runs where id = ?").bind(run);
    let (total,): (i64,) = reader.db().one(total).await.unwrap();
    assert_eq!(total, 7 + 7);
}

/// A server stores that a run has ended, and hears no answer: it must not take that for the end by somebody else, of which those who wait
/// for the run would hear from them.
#[tokio::test]
async fn an_end_that_is_stored_is_known_and_is_not_that_of_somebody_else() {
    let files = tempfile::tempdir().unwrap();
    let store = Store::open_sqlite(&files.path().join("heddle.db")).await.unwrap();
    let mut world = World::new(&store, 0).await;
    let (run, owner, now) = begun(&mut world).await;
    let mut ends = ResultRow::running(run, owner, 1);
    (ends.status, ends.fuel_used, ends.completed_at) = (RunStatus::Success, 7, Some(now));
    let known = async |row: &ResultRow| {
        let row = row.clone();
        write(&store, move |db| {
            Box::pin(async move { runs::ended_before(db, &row).await })
        })
        .await
    };
    assert_eq!(known(&ends).await, None);
    recorded(&store, &ends, now).await;
    assert_eq!(known(&ends).await, Some(run));
    let mut other = ends.clone();
    (other.status, other.fuel_used) = (RunStatus::Failure, 0);
    assert_eq!(known(&other).await, None, "cancelled at the same time");
    other = ends;
    other.owner = "another".into();
    assert_eq!(known(&other).await, None, "another server has it");
}
