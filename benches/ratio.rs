//! Speed as a ratio: how many times as long something takes as a floor that is measured beside it, turn by
//! turn. Such a number means the same on every machine, so it can be compared with one of last year. Shared
//! by the crates' benchmarks.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::measurement::{Measurement, ValueFormatter};
use criterion::{Criterion, Throughput};

/// A duration divided by another; what Criterion samples instead of a time.
pub(crate) struct Ratio;

impl Measurement for Ratio {
    type Intermediate = ();
    type Value = f64;

    /// Does nothing: [`compare`] measures both sides itself.
    fn start(&self) {}

    fn end(&self, (): ()) -> f64 {
        f64::NAN
    }

    fn add(&self, one: &f64, other: &f64) -> f64 {
        one + other
    }

    fn zero(&self) -> f64 {
        0.0
    }

    fn to_f64(&self, value: &f64) -> f64 {
        *value
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Self
    }
}

impl ValueFormatter for Ratio {
    fn scale_values(&self, _: f64, _: &mut [f64]) -> &'static str {
        "×"
    }

    fn scale_throughputs(&self, _: f64, _: &Throughput, _: &mut [f64]) -> &'static str {
        "×"
    }

    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str {
        "ratio"
    }
}

/// Returns some seconds for each number: enough to tell a tenth.
pub(crate) fn criterion() -> Criterion<Ratio> {
    let criterion = Criterion::default().with_measurement(Ratio).sample_size(20);
    let criterion = criterion.warm_up_time(Duration::from_millis(300));
    criterion.measurement_time(Duration::from_millis(1500)).configure_from_args()
}

/// Measures `subject` against `floor`. Each takes some microseconds at least, or the clock is what is
/// measured.
pub(crate) fn compare<S, F>(
    criterion: &mut Criterion<Ratio>,
    name: &str,
    mut subject: impl FnMut() -> S,
    mut floor: impl FnMut() -> F,
) {
    criterion.bench_function(name, |bencher| {
        bencher.iter_custom(|turns| {
            let (mut of_subject, mut of_floor) = (Duration::ZERO, Duration::ZERO);
            for _ in 0..turns {
                of_floor += time(&mut floor);
                of_subject += time(&mut subject);
            }
            // Criterion divides by the turns.
            of_subject.as_secs_f64() / of_floor.as_secs_f64()
                * f64::from(u32::try_from(turns).unwrap_or(u32::MAX))
        });
    });
}

fn time<T>(work: &mut impl FnMut() -> T) -> Duration {
    let start = Instant::now();
    let result = black_box(work());
    let taken = start.elapsed();
    drop(result);
    taken
}
