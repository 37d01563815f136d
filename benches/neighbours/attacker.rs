//! The attacker is a process of its own, with the lowest priority: on one machine its own work would otherwise slow Ann down,
//! which on another machine it doesn't.
//!
//! It reads lines and answers each with one: the server's address, then `begin NAME` and `end`.

use crate::attack::{Answers, Attack};
use crate::fixture::Fixture;
use crate::process::Process;
use crate::{ATTACKER, echo};
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use tokio::task::JoinSet;

/// What `nice` is given.
const NICENESS: i32 = 19;

/// The process, from outside.
pub struct Attacker {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Attacker {
    /// Starts it, with the address of the service that its patterns call.
    pub fn start() -> (Attacker, String) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg(ATTACKER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let from = BufReader::new(from);
        let mut attacker = Attacker { child, to, from };
        let echo = attacker.answer();
        (attacker, echo)
    }

    /// Has it make all that its attacks need, at this server.
    pub fn on(mut self, server: SocketAddr) -> Attacker {
        self.say(&server.to_string());
        self
    }

    pub fn begin(&mut self, attack: Attack) {
        self.say(&format!("begin {}", attack.name()));
    }

    /// Ends the attack, and with it all that is left of it; what it was answered.
    pub fn end(&mut self) -> String {
        self.say("end")
    }

    fn say(&mut self, line: &str) -> String {
        writeln!(self.to, "{line}").unwrap();
        self.answer()
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        let read = self.from.read_line(&mut line).unwrap();
        assert!(read > 0, "the attacker has ended");
        line.trim().to_owned()
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The process, from inside.
pub async fn serve() {
    rustix::process::nice(NICENESS).unwrap();
    let echo = echo::start().await;
    println!("{echo}");
    let mut lines = std::io::stdin().lines();
    let mut next = move || tokio::task::block_in_place(|| lines.next());
    let server = next().unwrap().unwrap().parse().unwrap();
    let process = Process::elsewhere(server);
    let fixture = Fixture::new(&process, &echo).await;
    println!("ready");
    let (mut tasks, mut answers) = (JoinSet::new(), Arc::new(Answers::default()));
    while let Some(Ok(line)) = next() {
        match line.strip_prefix("begin ") {
            Some(name) => {
                let attack = Attack::named(name).unwrap();
                answers = Arc::default();
                if attack == Attack::AtQuotas {
                    fixture.use_up_quotas().await;
                }
                attack.begin(&fixture, &answers, &mut tasks);
                println!("begun");
            }
            None => {
                tasks.shutdown().await;
                fixture.await_rest().await;
                println!("{answers}");
            }
        }
    }
}
