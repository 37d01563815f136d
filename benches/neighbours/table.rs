//! The table: what was seen in quiet and in attacked times, and the ratios.

use crate::observer::Seen;
use std::time::Duration;

/// What Ann saw of one attack: quiet times, and attacked ones between them.
pub struct Row {
    pub name: &'static str,
    pub quiet: Vec<Seen>,
    pub attacked: Vec<Seen>,
    /// What the attacker was answered, in the last turn.
    pub done: String,
}

/// What is taken of a time.
type Figure = fn(&Seen) -> Duration;

const FIGURES: [Figure; 3] = [
    |seen| at(&seen.webhooks, 0.5),
    |seen| at(&seen.webhooks, 0.99),
    |seen| at(&seen.first_runs, 0.5),
];

pub fn head() {
    println!(
        "{:<18} {:>23}   {:>23}   {:>23} {:>8} {:>8}  attacker's answers",
        "ms: quiet, beside", "p50", "p99", "first run", "worst", "refused"
    );
}

impl Row {
    pub fn print(&self) {
        let figures = FIGURES.map(|figure| {
            let (quiet, attacked) = (all(&self.quiet, figure), all(&self.attacked, figure));
            format!("{quiet:>7.2} {attacked:>7.2} {:>6.2}x", self.ratio(figure))
        });
        let worst = self.attacked.iter().flat_map(|seen| seen.first_runs.last()).max();
        println!(
            "{:<18} {}   {}   {} {:>8.1} {:>8}  {}",
            self.name,
            figures[0],
            figures[1],
            figures[2],
            worst.map_or(0.0, |worst| ms(*worst)),
            self.refused(),
            self.done
        );
    }

    /// Of the median turn: its figure to that of the quiet times around it.
    fn ratio(&self, figure: Figure) -> f64 {
        let around = self.quiet.windows(2).zip(&self.attacked);
        median(around.map(|(quiet, attacked)| {
            2.0 * ms(figure(attacked)) / (ms(figure(&quiet[0])) + ms(figure(&quiet[1])))
        }))
    }

    fn refused(&self) -> usize {
        let times = self.quiet.iter().chain(&self.attacked);
        times.map(|seen| seen.refused).sum()
    }
}

/// What the goals are about.
pub fn summary(rows: &[Row]) {
    if rows.is_empty() {
        return;
    }
    for (name, figure) in [("p99 of webhooks", FIGURES[1]), ("first runs", FIGURES[2])] {
        let ratios = || rows.iter().map(|row| row.ratio(figure));
        let worst = ratios().fold(0.0, f64::max);
        println!(
            "{name}: {:.2}x at the median of the rows, {worst:.2}x at worst",
            median(ratios())
        );
    }
    println!("refused: {}", rows.iter().map(Row::refused).sum::<usize>());
}

/// The median of all times, in milliseconds.
fn all(times: &[Seen], figure: Figure) -> f64 {
    median(times.iter().map(|seen| ms(figure(seen))))
}

/// Of sorted durations the one that `share` of them don't exceed.
fn at(sorted: &[Duration], share: f64) -> Duration {
    let last = sorted.len().saturating_sub(1);
    sorted
        .get((last as f64 * share).round() as usize)
        .copied()
        .unwrap_or_default()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
