//! Two builds of this benchmark by turns, on one machine in the same minutes.

use crate::Row;
use std::process::Command;

/// Prints for each row how the other build does and how this one.
pub fn compare(other: &str, only: Option<&str>, turns: usize) {
    let this = std::env::current_exe().unwrap();
    let (mut before, mut after): (Vec<Row>, Vec<Row>) = (Vec::new(), Vec::new());
    for _ in 0..turns {
        keep_least(&mut before, measure(other.as_ref(), only));
        keep_least(&mut after, measure(&this, only));
    }
    println!(
        "{:<10} {:<12} {:>9} {:>9} {:>6} {:>12} {:>12} {:>6}",
        "job", "way", "before ms", "after ms", "x", "before Minst", "after Minst", "x"
    );
    for (before, after) in before.iter().zip(&after) {
        let (old, new) = (before.fuel() as f64 / 1e6, after.fuel() as f64 / 1e6);
        println!(
            "{:<10} {:<12} {:>9.2} {:>9.2} {:>6.2} {:>12.2} {:>12.2} {:>6.2}",
            after.job,
            after.way,
            before.least_ms,
            after.least_ms,
            before.least_ms / after.least_ms,
            old,
            new,
            old / new
        );
    }
    println!("\ninstructions by step, millions, before and after");
    for (before, after) in before.iter().zip(&after) {
        let steps = before.fuel.iter().zip(&after.fuel);
        let steps: Vec<String> = steps
            .map(|((name, old), (_, new))| {
                format!("{name} {:.2} → {:.2}", *old as f64 / 1e6, *new as f64 / 1e6)
            })
            .collect();
        println!("{:<10} {:<12} {}", after.job, after.way, steps.join(", "));
    }
}

fn measure(program: &std::path::Path, only: Option<&str>) -> Vec<Row> {
    let mut command = Command::new(program);
    command.args(["--json", "--quick"]);
    if let Some(only) = only {
        command.args(["--only", only]);
    }
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn keep_least(rows: &mut Vec<Row>, measured: Vec<Row>) {
    if rows.is_empty() {
        *rows = measured;
        return;
    }
    for (row, new) in rows.iter_mut().zip(measured) {
        row.least_ms = row.least_ms.min(new.least_ms);
        row.p50_ms = row.p50_ms.min(new.p50_ms);
    }
}
