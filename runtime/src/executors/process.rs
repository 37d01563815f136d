//! One executor process as the service sees it: sends it runs, and hands what it says to those who wait for it. A process that names
//! what it was not given is ended.

use super::given::{Given, GivenTo, LoadFailure, malformed};
use super::start::{Setting, start};
use crate::sealed::SealedProgram;
use heddle_processes::{LinkReceiver, LinkSender, LinkWaiter, Process, WorkerError};
use heddle_sandbox::RunInput;
use heddle_sandbox::clock::{monotonic, since};
use heddle_sandbox::protocol::{Addressee, FromExecutor, GivenRun, ToExecutor};
use metrics::counter;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, OwnedSemaphorePermit, mpsc, oneshot};

/// Bytes that one run's frames may take before whoever has the run reads them: the requests of its effects, and its report.
const RUN_BYTES_MAX: usize = 160 << 20;
/// Bytes that the frames of all runs of an executor may take before they are read.
const ALL_BYTES_MAX: usize = 512 << 20;
/// What a frame is counted as besides its bytes.
const FRAME_BYTES: usize = 64;
/// Runs that an executor which answers at once gets before another one has to be woken.
const RUNS_TOGETHER: usize = 16;
/// One that was heard within this time is awake, and not busy with a long run. What it has to say it keeps for up to 300 µs.
const AWAKE: Duration = Duration::from_micros(500);
/// Frames of a run that was cancelled, before it hears of that.
const STRAY_MAX: u32 = 20_000;

/// An executor process.
pub struct Executor {
    link: LinkSender,
    /// Of its keeper, and of whoever looks whether it has answered.
    receiver: Mutex<LinkReceiver>,
    waiter: LinkWaiter,
    /// What it must not have said, if somebody else than its keeper has heard it.
    violation: Mutex<Option<WorkerError>>,
    process_id: Option<u32>,
    given: Mutex<Given>,
    /// It is given nothing any more.
    is_gone: AtomicBool,
    /// Number of the run that it gets next.
    next_run: AtomicU32,
    /// Runs that it has.
    runs: AtomicUsize,
    started: Instant,
    /// When it was heard last, in microseconds since it was started.
    heard_us: AtomicU64,
    /// Bytes that wait to be read by whoever has the runs.
    queued: Arc<AtomicUsize>,
    killed: Notify,
}

/// A run in an executor. Dropping it before its end cancels it.
pub struct RemoteRun {
    pub executor: Arc<Executor>,
    pub run: u32,
    inbox: mpsc::UnboundedReceiver<Vec<u8>>,
    /// Was taken out, and is still to be heard.
    put_back: Option<Vec<u8>>,
    queued: Arc<AtomicUsize>,
    /// Its last frame was taken out.
    has_ended: bool,
}

/// It has ended, or was ended.
#[derive(Debug)]
pub struct Gone;

impl Executor {
    /// Starts one, and waits until it can execute.
    pub async fn start(setting: &Setting) -> Result<(Arc<Self>, Process), WorkerError> {
        let (process, link, receiver) = start(setting).await?;
        let executor = Arc::new(Executor {
            link,
            waiter: receiver.waiter(),
            receiver: Mutex::new(receiver),
            violation: Mutex::default(),
            process_id: process.id(),
            given: Mutex::default(),
            is_gone: AtomicBool::new(false),
            next_run: AtomicU32::new(0),
            runs: AtomicUsize::new(0),
            started: monotonic(),
            heard_us: AtomicU64::new(0),
            queued: Arc::default(),
            killed: Notify::new(),
        });
        Ok((executor, process))
    }

    /// When it gets the next run, compared with others: the least is first. One that is awake goes before one that has to be
    /// woken, since waking is most of what a run in an executor costs; one that is silent, because it computes or its runs
    /// wait, shares what comes with the others.
    pub fn turn(&self, now: Instant) -> impl Ord + use<> {
        let runs = self.runs.load(Ordering::Relaxed);
        let heard = Duration::from_micros(self.heard_us.load(Ordering::Relaxed));
        let silence = now.saturating_duration_since(self.started).saturating_sub(heard);
        match RUNS_TOGETHER.checked_sub(runs) {
            Some(room @ 1..) if silence < AWAKE => (false, room),
            _ => (true, runs),
        }
    }

    /// Its process's id.
    pub fn process_id(&self) -> Option<u32> {
        self.process_id
    }

    /// As [`Given::idle_since`].
    pub fn idle_since(&self) -> Option<u64> {
        self.given().idle_since()
    }

    /// As [`Given::keeps_cancelled`].
    pub fn keeps_cancelled(&self, now: Instant) -> bool {
        self.given().keeps_cancelled(now)
    }

    /// As [`Given::keeps_overdue`].
    pub fn keeps_overdue(&self, now: Instant) -> bool {
        self.given().keeps_overdue(now)
    }

    fn given(&self) -> MutexGuard<'_, Given> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it has ended, or is about to.
    pub fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }

    /// Hears what it says until it ends, or has to be ended; gives the reason.
    pub async fn listen(&self, mut process: Process) -> WorkerError {
        let gone = GoneGuard(self);
        let violation = self.receive_until_it_ends().await;
        // Before its runs are told: whoever sees how one of them ended finds the death counted.
        counter!("heddle_executor_deaths_total").increment(1);
        drop(gone);
        match violation {
            Some(violation) => {
                process.kill();
                violation
            }
            None => process.death().await,
        }
    }

    /// The reason to end it, if it has not ended by itself.
    async fn receive_until_it_ends(&self) -> Option<WorkerError> {
        loop {
            if let Err(violation) = self.receive_all(&mut self.receiver()) {
                return Some(violation);
            }
            let ready = tokio::select! {
                biased;
                () = self.killed.notified() => return Some(self.violation()),
                ready = self.waiter.readable() => ready,
            };
            let filled = ready.and_then(|()| self.receiver().fill_ready());
            if !matches!(filled, Ok(None | Some(true))) {
                return None;
            }
        }
    }

    fn receiver(&self) -> MutexGuard<'_, LinkReceiver> {
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why it is killed.
    fn violation(&self) -> WorkerError {
        let mut violation = self.violation.lock().unwrap_or_else(PoisonError::into_inner);
        let heard = violation.take();
        heard.unwrap_or_else(|| malformed(&"it exceeds its limits"))
    }

    /// Handles what has come by now, unless somebody else does so. That the process has ended is for its keeper to notice.
    fn receive_now(&self) {
        let Ok(mut receiver) = self.receiver.try_lock() else {
            return;
        };
        if !matches!(receiver.fill_now(), Ok(Some(true))) {
            return;
        }
        if let Err(violation) = self.receive_all(&mut receiver) {
            *self.violation.lock().unwrap_or_else(PoisonError::into_inner) = Some(violation);
            self.give_up();
        }
    }

    fn receive_all(&self, receiver: &mut LinkReceiver) -> Result<(), WorkerError> {
        while let Some(frame) = receiver.take_frame().map_err(|error| malformed(&error))? {
            self.handle(frame)?;
        }
        let heard = u64::try_from(since(self.started).as_micros()).unwrap_or(u64::MAX);
        self.heard_us.store(heard, Ordering::Relaxed);
        Ok(())
    }

    fn handle(&self, frame: &[u8]) -> Result<(), WorkerError> {
        let addressee = FromExecutor::addressee(frame).map_err(|error| malformed(&error))?;
        let mut given = self.given();
        let Addressee::Run { run, is_last } = addressee else {
            return given.loaded(frame);
        };
        let unknown = || malformed(&"it names a run that it was not given");
        if !is_last {
            let to = given.runs.get_mut(&run).ok_or_else(unknown)?;
            return self.hand_over(to, frame);
        }
        let mut to = given.runs.remove(&run).ok_or_else(unknown)?;
        // Whoever is woken by what follows asks for nothing of it.
        drop(given);
        self.runs.fetch_sub(1, Ordering::Relaxed);
        self.hand_over(&mut to, frame)
    }

    /// Puts a frame where whoever has its run reads it.
    fn hand_over(&self, to: &mut GivenTo, frame: &[u8]) -> Result<(), WorkerError> {
        let Some(inbox) = &to.inbox else {
            to.strays = to.strays.saturating_add(1);
            return match to.strays > STRAY_MAX {
                true => Err(malformed(&"it continues a run that was cancelled")),
                false => Ok(()),
            };
        };
        let bytes = frame.len().saturating_add(FRAME_BYTES);
        // Among all first: who takes back what is counted of the run takes as much from that.
        let of_all = self.queued.fetch_add(bytes, Ordering::Relaxed);
        let of_run = to.queued.fetch_add(bytes, Ordering::Release);
        let is_too_much =
            of_run.saturating_add(bytes) > RUN_BYTES_MAX || of_all.saturating_add(bytes) > ALL_BYTES_MAX;
        if is_too_much {
            return Err(malformed(&"it sends more than can be read"));
        }
        if inbox.send(frame.to_vec()).is_err() {
            self.take_back(&to.queued);
        }
        Ok(())
    }

    /// What is counted of a run will not be read. Whoever has the run and whoever hears the executor may both say so.
    fn take_back(&self, queued: &AtomicUsize) {
        let left = queued.swap(0, Ordering::Acquire);
        self.queued.fetch_sub(left, Ordering::Relaxed);
    }

    /// Gives it a run.
    pub fn begin(
        self: &Arc<Self>,
        program: &SealedProgram,
        input: &RunInput,
        slot: &mut Option<OwnedSemaphorePermit>,
        code_bytes_max: usize,
    ) -> Result<RemoteRun, Gone> {
        let (sender, inbox) = mpsc::unbounded_channel();
        let queued = Arc::<AtomicUsize>::default();
        let run = self.next_run.fetch_add(1, Ordering::Relaxed);
        let frame = ToExecutor::Run {
            run,
            program: program.number,
            given: GivenRun::of(input),
        }
        .frame();
        {
            // Together, so that the program is not unloaded between.
            let mut given = self.given();
            if self.is_gone() {
                return Err(Gone);
            }
            self.give(&mut given, program, code_bytes_max)?;
            let sent = self.link.queue(frame, Vec::new());
            sent.map_err(|_| self.lose())?;
            let deadline = monotonic().checked_add(input.limits.deadline);
            let to = GivenTo::new(sender, queued.clone(), slot.take(), deadline);
            given.runs.insert(run, to);
            self.runs.fetch_add(1, Ordering::Relaxed);
        }
        let remote = RemoteRun {
            executor: self.clone(),
            run,
            inbox,
            put_back: None,
            queued,
            has_ended: false,
        };
        self.flush()?;
        Ok(remote)
    }

    /// Has it load a program, and waits to hear whether it can.
    pub async fn load(
        &self,
        program: &SealedProgram,
        code_bytes_max: usize,
    ) -> Result<Result<(), LoadFailure>, Gone> {
        let loaded = {
            let mut given = self.given();
            if self.is_gone() {
                return Err(Gone);
            }
            if given.has(program.number) {
                return Ok(Ok(()));
            }
            let (sender, loaded) = oneshot::channel();
            given.loading.insert(program.number, sender);
            self.give(&mut given, program, code_bytes_max)?;
            loaded
        };
        self.flush()?;
        loaded.await.map_err(|_| Gone)
    }

    /// Gives it a program, unless it has it; takes those back that it has no room for. That is sent by [`Executor::flush`].
    fn give(&self, given: &mut Given, program: &SealedProgram, code_bytes_max: usize) -> Result<(), Gone> {
        if given.touch(program.number) {
            return Ok(());
        }
        if let Some(engine) = program.javascript.as_ref().filter(|_| !given.has_javascript) {
            let frame = ToExecutor::JavaScript.frame();
            let sent = self.link.queue(frame, vec![engine.clone()]);
            sent.map_err(|_| self.lose())?;
            given.has_javascript = true;
        }
        let frame = ToExecutor::Load {
            program: program.number,
            manifest: &program.manifest,
            imports: program.imports.iter().map(String::as_str).collect(),
            components: program.components.iter().map(|(given, _)| *given).collect(),
        };
        let of_components = program.components.iter().map(|(_, code)| code.clone());
        let code = std::iter::once(program.module.clone()).chain(of_components);
        let sent = self.link.queue(frame.frame(), code.collect());
        sent.map_err(|_| self.lose())?;
        given.add(program.number, program.code_bytes);
        while let Some(program) = given.forget_surplus(code_bytes_max) {
            let frame = ToExecutor::Unload { program }.frame();
            let sent = self.link.queue(frame, Vec::new());
            sent.map_err(|_| self.lose())?;
        }
        Ok(())
    }

    /// Sends what was put into the link's queue. Not while others wait for what it has been given: it takes a call of the system,
    /// which the executor interrupts if it is woken on the same processor.
    fn flush(&self) -> Result<(), Gone> {
        self.link.flush().map_err(|_| self.lose())
    }

    /// If it can't be sent, the process is ended.
    pub fn send(&self, word: &ToExecutor<'_>) {
        if self.link.send(word.frame()).is_err() {
            self.kill();
        }
    }

    /// Gives it nothing any more, and ends it.
    fn lose(&self) -> Gone {
        self.is_gone.store(true, Ordering::Relaxed);
        self.kill()
    }

    /// Ends it; no other run is given to it from now on.
    pub fn give_up(&self) {
        self.lose();
    }

    /// Ends it.
    fn kill(&self) -> Gone {
        self.killed.notify_one();
        Gone
    }
}

/// Whoever has a run of an executor hears when it is gone, also when nobody listens any more.
struct GoneGuard<'a>(&'a Executor);

impl Drop for GoneGuard<'_> {
    fn drop(&mut self) {
        let mut given = self.0.given();
        // Within the lock: who gives it a run sees this, or is told.
        self.0.is_gone.store(true, Ordering::Relaxed);
        given.runs.clear();
        given.loading.clear();
    }
}

impl RemoteRun {
    /// Whether a frame of it is there, as far as that can be known without waiting.
    pub fn has_answer(&self) -> bool {
        self.executor.receive_now();
        !self.inbox.is_empty()
    }

    /// The next frame of it. `None`: the executor is gone.
    pub async fn receive(&mut self) -> Option<Vec<u8>> {
        if let Some(frame) = self.put_back.take() {
            return Some(frame);
        }
        let frame = self.inbox.recv().await?;
        let addressee = FromExecutor::addressee(&frame);
        self.has_ended = matches!(addressee, Ok(Addressee::Run { is_last: true, .. }));
        let bytes = frame.len().saturating_add(FRAME_BYTES);
        self.queued.fetch_sub(bytes, Ordering::Relaxed);
        self.executor.queued.fetch_sub(bytes, Ordering::Relaxed);
        Some(frame)
    }

    /// Has a frame be heard once more.
    pub fn put_back(&mut self, frame: Vec<u8>) {
        self.put_back = Some(frame);
    }
}

impl Drop for RemoteRun {
    fn drop(&mut self) {
        if self.has_ended {
            // Its executor has no such run any more, and all that it has said of it was read.
            return;
        }
        let mut given = self.executor.given();
        self.inbox.close();
        self.executor.take_back(&self.queued);
        if let Some(to) = given.runs.get_mut(&self.run) {
            to.cancel(monotonic());
            drop(given);
            self.executor.send(&ToExecutor::Cancel { run: self.run });
        }
    }
}
