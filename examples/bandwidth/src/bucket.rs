//! The token bucket that keeps to a limit, with Go's numbers, so that either plugin's CHECK is content with what the other
//! has made. Where Go's overflow, these stop at the largest.

use cni_skel::{Error, Result, ResultExt};
use plugin_support::bounded;
use plugin_support::netlink::TokenBucket;

/// Where the kernel tells how long its ticks are.
const CLOCK: &str = "/proc/net/psched";
/// It is one line.
const LARGEST_CLOCK: u64 = 4096;
/// How many microseconds bytes may wait for the bucket to fill.
const LATENCY: f64 = 25_000.0;
const MICROSECONDS: f64 = 1e6;

/// A rate, and how much may come at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Bytes a second.
    pub rate: u64,
    /// Bytes.
    pub burst: u32,
}

/// How long the kernel's ticks are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    ticks_per_microsecond: f64,
}

impl Limit {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "as Go computes it; `as` stops at the largest number"
    )]
    pub(crate) fn bucket(self, clock: Clock) -> TokenBucket {
        let (rate, burst) = (self.rate as f64, f64::from(self.burst));
        // Whole microseconds first, as Go does.
        let time = (burst * MICROSECONDS / rate) as u32;
        TokenBucket {
            rate: self.rate,
            limit: ((rate * LATENCY / MICROSECONDS) as u32).saturating_add(self.burst),
            buffer: (f64::from(time) * clock.ticks_per_microsecond) as u32,
        }
    }
}

impl Clock {
    /// The clock of this machine's kernel.
    pub(crate) fn read() -> Result<Self> {
        let bytes = bounded::read(CLOCK, LARGEST_CLOCK)
            .with_context(|| format!("failed to read the clock of the packet scheduler, {CLOCK:?}"))?;
        let text = String::from_utf8_lossy(&bytes);
        Self::parse(&text).ok_or_else(|| {
            let expected = "expected four hexadecimal numbers";
            Error::message(format!("failed to understand {CLOCK:?}: {expected}, found {text:?}"))
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let numbers = text.split_whitespace().map(|number| u32::from_str_radix(number, 16).map(f64::from));
        let numbers: Vec<_> = numbers.collect::<std::result::Result<_, _>>().ok()?;
        let [ticks, per_ticks, resolution, ..] = *numbers.as_slice() else { return None };
        // A resolution of nanoseconds comes from old kernels, which say it in place of the ratio.
        let ticks = if resolution == 1e9 { per_ticks } else { ticks };
        let ticks_per_microsecond = ticks / per_ticks * (resolution / MICROSECONDS);
        ticks_per_microsecond.is_finite().then_some(Self { ticks_per_microsecond })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual() -> Clock {
        Clock::parse("000003e8 00000040 000f4240 3b9aca00\n").unwrap()
    }

    #[test]
    fn buckets_have_gos_numbers() {
        // A megabit a second and 80 kilobits: 10 kB take 80 ms, and 3125 bytes may wait 25 ms.
        let bucket = Limit { rate: 125_000, burst: 10_000 }.bucket(usual());
        assert_eq!(bucket, TokenBucket { rate: 125_000, limit: 13_125, buffer: 1_250_000 });
        // What Kubernetes gives for want of a burst.
        let bucket = Limit { rate: 1_250_000, burst: 268_435_455 }.bucket(usual());
        assert_eq!(bucket.buffer, (214_748_364_f64 * 15.625) as u32);
    }

    #[test]
    fn c79_what_overflows_with_go_is_the_largest_here() {
        let slow = Limit { rate: 1, burst: u32::MAX - 1 }.bucket(usual());
        assert_eq!((slow.buffer, slow.limit), (u32::MAX, u32::MAX - 1));
        let fast = Limit { rate: u64::MAX, burst: u32::MAX - 1 }.bucket(usual());
        assert_eq!((fast.buffer, fast.limit), (0, u32::MAX));
    }

    #[test]
    fn clocks_are_read_or_refused() {
        assert!((usual().ticks_per_microsecond - 15.625).abs() < f64::EPSILON);
        let old = Clock::parse("000f4240 000f4240 3b9aca00 0000000a").unwrap();
        assert!((old.ticks_per_microsecond - 1000.0).abs() < f64::EPSILON);
        for bad in ["", "1 2", "x y z", "1 0 f4240"] {
            assert!(Clock::parse(bad).is_none(), "{bad}");
        }
        Clock::read().unwrap();
    }
}
